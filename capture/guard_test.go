// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestSupervisorAbandonsASourceThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var late []error
		h := keep(t, func(ctx context.Context, sink Sink) error {
			w, err := give(context.WithoutCancel(ctx), sink, 3)
			if err != nil {
				return err
			}
			s, err := w.Acquire()
			if err != nil {
				return err
			}
			<-release
			w.Commit(s, Stamp{})
			_, err = w.Acquire()
			late = append(late, err)
			_, err = sink.Open("color", format(8))
			late = append(late, err)
			w.Drop(5, DropDevice)
			return nil
		})
		pass(time.Second)
		begin := time.Now()
		h.end(t, ErrAbandoned)
		if d := time.Since(begin); d > time.Second {
			t.Errorf("stopping took %v", d)
		}
		before := *h.sink
		if got := h.Health(); got.State != StateStopped || got.Abandoned != 1 {
			t.Errorf("health %+v", got)
		}
		if h.lines("does not stop, abandoned", "abandoned=1") != 1 {
			t.Errorf("log:\n%s", h.log)
		}
		close(release)
		synctest.Wait()
		if len(late) != 2 || late[0] == nil || late[1] == nil {
			t.Errorf("late calls were answered with %v", late)
		}
		if h.sink.calls != before.calls || len(h.sink.frames) != 3 {
			t.Errorf("the sink was called after the end: %d calls, %d before; %d frames", h.sink.calls, before.calls, len(h.sink.frames))
		}
		if h.Health().Abandoned != 0 {
			t.Error("it came back and still counts as abandoned")
		}
	})
}

func TestSupervisorReplacesAnAbandonedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var runs atomic.Int32
		h := keep(t, func(ctx context.Context, sink Sink) error {
			if runs.Add(1) > 1 {
				_, err := give(ctx, sink, 1<<30)
				return err
			}
			w, err := give(ctx, sink, 1)
			if err != nil {
				return err
			}
			s, err := w.Acquire()
			if err != nil {
				return err
			}
			<-release
			w.Commit(s, Stamp{DriverSequence: 1 << 60})
			return nil
		}, func(s *Supervisor) { s.RestartAfter = 3 * time.Second })
		pass(10 * time.Second)
		if got := h.Health(); got.State != StateRunning || got.Abandoned != 1 || got.Restarts != 1 {
			t.Errorf("health %+v", got)
		}
		if h.sink.held != 1 {
			t.Errorf("%d slots held, want the one that the lost run may write to", h.sink.held)
		}
		close(release)
		pass(time.Second)
		if h.sink.held != 0 || h.Health().Abandoned != 0 {
			t.Errorf("%d slots held after it came back, %d abandoned", h.sink.held, h.Health().Abandoned)
		}
		for _, f := range h.sink.frames {
			if f.DriverSequence == 1<<60 {
				t.Error("the late frame was published")
			}
		}
		if h.sink.frames[1].Flags != frame.Discontinuity {
			t.Error("the first frame of the new run is not flagged")
		}
		h.end(t, nil)
	})
}

func TestSupervisorBoundsAbandonedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var runs atomic.Int32
		h := keep(t, func(context.Context, Sink) error { runs.Add(1); <-release; return nil },
			func(s *Supervisor) { s.StartTimeout, s.RestartAfter = time.Second, time.Second })
		pass(time.Hour)
		if runs.Load() != maxAbandoned || h.Health().Abandoned != maxAbandoned {
			t.Errorf("%d runs, %d abandoned; want %d", runs.Load(), h.Health().Abandoned, maxAbandoned)
		}
		h.end(t, ErrAbandoned)
		close(release)
	})
}

func TestGuardKeepsTheRulesOfTheSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := keep(t, func(ctx context.Context, sink Sink) error {
			old, err := give(ctx, sink, 2)
			if err != nil {
				return err
			}
			forgotten, err := old.Acquire()
			if err != nil {
				return err
			}
			w, err := sink.Open("color", format(16)) // other format, a slot is still held
			if err != nil {
				return err
			}
			old.Commit(forgotten, Stamp{})
			if _, err := old.Acquire(); err == nil {
				return errors.New("a replaced writer gave a slot")
			}
			s, err := w.Acquire()
			if err != nil {
				return err
			}
			w.Commit(s, Stamp{})
			w.Commit(s, Stamp{}) // twice
			w.Discard(s)
			if _, err := w.Acquire(); err != nil { // never given back
				return err
			}
			if _, err := sink.Open("color", Format{}); err == nil {
				return errors.New("a format without geometry was taken")
			}
			return ErrEndOfStream
		})
		pass(time.Second)
		h.end(t, ErrEndOfStream)
		if len(h.sink.frames) != 3 || h.sink.held != 0 || h.sink.misuse != 0 {
			t.Errorf("%d frames, %d held, %d calls against the rules", len(h.sink.frames), h.sink.held, h.sink.misuse)
		}
		if h.sink.frames[2].Flags != frame.Discontinuity {
			t.Error("the first frame of the new format is not flagged")
		}
	})
}

// What a source does to the slot itself, not to its memory, is not seen by the
// sink, nor by the next frame in it.
func TestGuardRestoresSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bytes []int
		h := keep(t, func(_ context.Context, sink Sink) error {
			w, err := sink.Open("color", format(8))
			if err != nil {
				return err
			}
			spoil := []func(*Slot){
				func(s *Slot) { s.Data = s.Data[:1] },
				func(s *Slot) { s.Data = nil },
				func(s *Slot) { s.Index = 200 }, // not committed, it is none that was given
				func(s *Slot) { s.Index = -1 },
			}
			for _, f := range spoil {
				s, err := w.Acquire()
				if err != nil {
					return err
				}
				bytes = append(bytes, len(s.Data))
				f(s)
				w.Commit(s, Stamp{})
				w.Discard(s)
			}
			return ErrEndOfStream
		})
		pass(time.Second)
		h.end(t, ErrEndOfStream)
		if len(h.sink.frames) != 2 || h.sink.held != 0 || h.sink.misuse != 0 {
			t.Errorf("%d frames, %d held, %d calls against the rules", len(h.sink.frames), h.sink.held, h.sink.misuse)
		}
		if want := format(8).Geometry.Size(); slices.ContainsFunc(bytes, func(n int) bool { return n != want }) {
			t.Errorf("slots of %v bytes, want %d each", bytes, want)
		}
	})
}
