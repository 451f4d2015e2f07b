// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
)

// runFunc is a source.

type runFunc func(ctx context.Context, sink Sink) error

func (f runFunc) Run(ctx context.Context, sink Sink) error { return f(ctx, sink) }

func (f runFunc) Describe() string { return "fake" }

func format(width int) Format {
	g, err := frame.NewGeometry(frame.Mono8, width, 4)
	if err != nil {
		panic(err)
	}
	return Format{Geometry: g, Clock: frame.ClockMonotonic, Interval: 10 * time.Millisecond}
}

// give opens the stream and publishes n frames, 10 ms apart.

func give(ctx context.Context, sink Sink, n int) (Writer, error) {
	w, err := sink.Open("color", format(8))
	if err != nil {
		return nil, err
	}
	for i := range n {
		s, err := w.Acquire()
		if err != nil {
			return w, err
		}
		w.Commit(s, Stamp{DriverSequence: uint64(i)})
		if err := rest(ctx, 10*time.Millisecond); err != nil {
			return w, err
		}
	}
	return w, nil
}

// rest waits on the bubble's clock.

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// pass lets time go by on the bubble's clock, and everybody do what is due.

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// house is a supervisor in a bubble with everything that a test looks at.

type house struct {
	*Supervisor
	sink   *recorder
	log    *bytes.Buffer
	states []string // with the time since the beginning
	stop   context.CancelFunc
	result chan error
	start  time.Time
}

func keep(t *testing.T, src runFunc, change ...func(*Supervisor)) *house {
	h := &house{sink: &recorder{}, log: &bytes.Buffer{}, result: make(chan error, 1), start: time.Now()}
	h.Supervisor = &Supervisor{
		Name: "front", Source: src, Sink: h.sink,
		Log: slog.New(slog.NewTextHandler(h.log, nil)),
		OnChange: func(hl Health) {
			h.states = append(h.states, fmt.Sprintf("%v@%v", hl.State, time.Since(h.start).Round(time.Millisecond)))
		},
	}
	for _, c := range change {
		c(h.Supervisor)
	}
	ctx, cancel := context.WithCancel(t.Context())
	h.stop = cancel
	go func() { h.result <- h.Run(ctx) }()
	return h
}

func (h *house) end(t *testing.T, want error) {
	t.Helper()
	h.stop()
	if err := <-h.result; !errors.Is(err, want) {
		t.Errorf("Run returned %v, want %v", err, want)
	}
}

func (h *house) wantStates(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(h.states, " "); got != want {
		t.Errorf("states %s\n  want %s", got, want)
	}
}

// lines counts the lines of the log that have all the parts.

func (h *house) lines(parts ...string) int {
	n := 0
next:
	for _, l := range strings.Split(h.log.String(), "\n") {
		for _, p := range parts {
			if !strings.Contains(l, p) {
				continue next
			}
		}
		n++
	}
	return n
}

func TestSupervisorRunsAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := keep(t, func(ctx context.Context, sink Sink) error {
			_, err := give(ctx, sink, 1<<30)
			return err
		})
		pass(time.Second)
		if got := h.Health(); got.State != StateRunning || got.Restarts != 0 || got.Frames < 99 || got.LastFrameNanos == 0 {
			t.Errorf("health %+v", got)
		}
		h.end(t, nil)
		h.wantStates(t, "running@0s stopped@1s")
		if h.lines("camera=front") != 1 || h.lines("camera running", "source=fake") != 1 {
			t.Errorf("log:\n%s", h.log)
		}
		for i, f := range h.sink.frames {
			if f.Flags != 0 {
				t.Fatalf("frame %d flagged %v", i, f.Flags)
			}
		}
	})
}

func TestSupervisorRetriesWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		h := keep(t, func(ctx context.Context, sink Sink) error {
			at = append(at, time.Since(start))
			if len(at) == 9 {
				_, err := give(ctx, sink, 1<<30)
				return err
			}
			return fmt.Errorf("%w: /dev/video7", ErrDeviceNotFound)
		})
		pass(21 * time.Second)
		ms := time.Millisecond
		want := []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 3100 * ms, 6300 * ms, 11300 * ms, 16300 * ms}
		if fmt.Sprint(at) != fmt.Sprint(want) {
			t.Errorf("runs began at %v, want %v", at, want)
		}
		if got := h.Health(); got.State != StateRunning || got.Restarts != 8 || got.Problem != "device not found: /dev/video7" {
			t.Errorf("health %+v", got)
		}
		h.end(t, nil)
		h.wantStates(t, "lost@0s running@16.3s stopped@21s")
		if h.lines("camera lost", "/dev/video7") != 1 || h.lines("running again", "away=16.3s", "attempts=9") != 1 {
			t.Errorf("log:\n%s", h.log)
		}
	})
}

func TestSupervisorBeginsPausesAnewAfterItRanWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends, begins []time.Time
		h := keep(t, func(ctx context.Context, sink Sink) error {
			begins = append(begins, time.Now())
			defer func() { ends = append(ends, time.Now()) }()
			n := 1
			if len(begins) == 4 {
				n = 1100 // 11 s
			}
			_, err := give(ctx, sink, n)
			if err == nil {
				err = ErrDeviceGone
			}
			return err
		})
		pass(12 * time.Second)
		h.end(t, nil)
		var pauses []time.Duration
		for i := range ends[:4] {
			pauses = append(pauses, begins[i+1].Sub(ends[i]))
		}
		if got := fmt.Sprint(pauses); got != "[100ms 200ms 400ms 100ms]" {
			t.Errorf("pauses %s", got)
		}
		if n := h.lines("camera lost"); n != 1 {
			t.Errorf("%d lines about a loss, want 1 and a count later:\n%s", n, h.log)
		}
		var flagged []int
		for i, f := range h.sink.frames {
			if f.Flags&frame.Discontinuity != 0 {
				flagged = append(flagged, i)
			}
		}
		if fmt.Sprint(flagged[:3]) != "[1 2 3]" {
			t.Errorf("discontinuity at frames %v, want the first of each later run: 1 2 3", flagged)
		}
	})
}

func TestSupervisorLogsRepeatsOnceAMinuteWithACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := keep(t, func(context.Context, Sink) error { return ErrDeviceNotFound })
		pass(150 * time.Second)
		h.end(t, nil)
		if h.lines("camera lost") != 3 || h.lines("camera lost", "not_logged=0") != 1 {
			t.Errorf("log of 150 s:\n%s", h.log)
		}
	})
}

func TestSupervisorGivesUp(t *testing.T) {
	for _, c := range []struct {
		err   error
		state State
	}{{ErrFormatRefused, StateFailed}, {ErrConfig, StateFailed}, {ErrUnsupported, StateFailed}, {ErrEndOfStream, StateEnded}} {
		t.Run(c.err.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				h := keep(t, func(context.Context, Sink) error { runs++; return fmt.Errorf("%w: why", c.err) })
				pass(time.Hour)
				if got := h.Health(); got.State != c.state || runs != 1 || got.Problem != c.err.Error()+": why" {
					t.Errorf("%d runs, health %+v", runs, got)
				}
				h.end(t, c.err)
			})
		})
	}
}

func TestSupervisorSeesAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := keep(t, func(ctx context.Context, sink Sink) error {
			for {
				if _, err := give(ctx, sink, 100); err != nil {
					return err
				}
				if err := rest(ctx, 4*time.Second); err != nil {
					return err
				}
			}
		})
		pass(4 * time.Second)
		if got := h.Health(); got.State != StateStalled || got.Problem != "no frame for 2s" {
			t.Errorf("health %+v", got)
		}
		pass(6 * time.Second)
		h.end(t, nil)
		h.wantStates(t, "running@0s stalled@2.99s running@5s stalled@7.99s running@10s stopped@10s")
		if h.lines("camera stalled", "idle=2s") != 1 || h.lines("running again", "away=4.01s") != 1 {
			t.Errorf("log:\n%s", h.log)
		}
		if got := h.Health(); got.Restarts != 0 {
			t.Errorf("restarted %d times", got.Restarts)
		}
	})
}

func TestSupervisorRestartsAStalledSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		h := keep(t, func(ctx context.Context, sink Sink) error {
			if runs++; runs == 1 {
				<-ctx.Done() // not even a first frame
				return ctx.Err()
			}
			_, err := give(ctx, sink, 1<<30)
			return err
		}, func(s *Supervisor) { s.RestartAfter = 15 * time.Second })
		pass(20 * time.Second)
		h.end(t, nil)
		h.wantStates(t, "stalled@10s lost@15s running@15.1s stopped@20s")
		if h.lines("camera lost", "stalled: no frame for 15s") != 1 || h.Health().Restarts != 1 {
			t.Errorf("%d restarts, log:\n%s", h.Health().Restarts, h.log)
		}
	})
}

func TestSupervisorTakesFramesWithoutSlotAsSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := keep(t, func(ctx context.Context, sink Sink) error {
			w, err := give(ctx, sink, 1)
			for err == nil {
				w.Drop(1, DropNoSlot)
				err = rest(ctx, 100*time.Millisecond)
			}
			return err
		})
		pass(time.Minute)
		h.end(t, nil)
		h.wantStates(t, "running@0s stopped@1m0s")
		if h.sink.dropped != 600 {
			t.Errorf("%d drops, want 600", h.sink.dropped)
		}
	})
}
