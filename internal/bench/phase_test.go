// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// measureFake runs a phase in a bubble of its own time, and cancels it at a time
// if that is not 0.
func measureFake(t *testing.T, s *fake, p Phase, stopAfter time.Duration) (r *Result, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if stopAfter > 0 {
			defer time.AfterFunc(stopAfter, cancel).Stop()
		}
		r, err = p.Run(ctx, s.world())
	})
	if s.holding != 0 {
		t.Errorf("%d frames were not released", s.holding)
	}
	if s.taken > 0 && !s.closed {
		t.Error("the subscription was not closed")
	}
	if len(r.Samples) > 0 && len(r.Problems) == 0 && r.Received()+r.Dropped() != r.Published() {
		t.Errorf("received %d + dropped %d is not published %d", r.Received(), r.Dropped(), r.Published())
	}
	return r, err
}

var shmPhase = Phase{Name: "shm", Stream: "test/color", Backend: negotiate.BackendSHM, Samples: 100, Warmup: 10}

func TestPhase(t *testing.T) {
	s := newFake()
	p := shmPhase
	p.Touch, p.Pixel = true, true
	copy(s.data[1*16+2*4:], []byte{1, 2, 3, 4})
	r, err := measureFake(t, s, p, 0)
	if err != nil || !r.Valid() || r.Interrupted {
		t.Fatalf("error %v, problems %v, interrupted %v", err, r.Problems, r.Interrupted)
	}
	if n, first, last := len(r.Samples), r.Samples[0].Sequence, r.Samples[99].Sequence; n != 100 || first != 11 || last != 110 {
		t.Errorf("%d samples from %d to %d, want 100 from 11 (after the warm-up) to 110", n, first, last)
	}
	if got := r.Samples[0].Pixel[:r.Samples[0].PixelLen]; string(got) != "\x01\x02\x03\x04" {
		t.Errorf("centre pixel %v", got)
	}
	if r.Publisher != (Publisher{PID: 4711, Version: "1.2.3", Subscribers: 3}) {
		t.Errorf("publisher %+v", r.Publisher)
	}
	for _, want := range []struct {
		metric        Metric
		count         uint64
		min, max, p50 int64
	}{
		{ReadyToUsable, 100, 40_000, 49_000, 44_031},
		{PublishToUsable, 100, 30_000, 30_000, 30_000},
		{CaptureToUsable, 100, 5_000_000, 5_000_000, 5_000_000},
		{ReadyToRead, 100, 40_000, 49_000, 44_031}, // time stands still while it reads
		{Period, 99, 10_000_000, 10_000_000, 10_000_000},
		{SubscriberCPU, 10, 1000, 1000, 1000},
		{PublisherCPU, 10, 2500, 2500, 2500},
		{SystemCPU, 10, 5000, 5000, 5000},
	} {
		row, ok := find(r.Rows(), want.metric)
		d := row.Dist
		if !ok || d.Min != want.min || d.Max != want.max || d.P50 != want.p50 || (d.Count != want.count && row.Unit == Nanoseconds) || d.Count == 0 {
			t.Errorf("%s: %+v, want %+v", want.metric, d, want)
		}
		if !(d.Min <= d.P50 && d.P50 <= d.P90 && d.P90 <= d.P99 && d.P99 <= d.Max) || d.P999 != 0 {
			t.Errorf("%s: percentiles do not grow, or p99.9 of %d samples: %+v", want.metric, d.Count, d)
		}
	}
}

func TestFramesThatLayThereAreNotMeasured(t *testing.T) {
	s := newFake()
	s.before = func(n int, f *fakeFrame) {
		if n == 0 {
			f.meta.ReadyNanos -= int64(time.Minute)
		}
	}
	p := shmPhase
	p.Warmup = 0
	r, err := measureFake(t, s, p, 0)
	if err != nil || r.Samples[0].Sequence != 2 {
		t.Errorf("error %v, first sample %d, want 2", err, r.Samples[0].Sequence)
	}
}

func TestDroppedFramesAddUp(t *testing.T) {
	s := newFake()
	lost, measured := uint64(0), uint64(0)
	s.before = func(n int, f *fakeFrame) {
		if n%7 == 3 {
			lost += uint64(n % 5)
			if n > 10 { // between measured frames
				measured += uint64(n % 5)
			}
		}
		f.meta.Sequence += lost
	}
	r, err := measureFake(t, s, shmPhase, 0)
	if err != nil || !r.Valid() {
		t.Fatal(err, r.Problems)
	}
	if r.Dropped() != measured || r.Received() != 100 || r.Published() != 100+measured || measured == 0 {
		t.Errorf("received %d, dropped %d, published %d, want 100, %d and their sum", r.Received(), r.Dropped(), r.Published(), measured)
	}
	for _, row := range r.Rows() {
		if row.Dropped != measured {
			t.Errorf("%s says that %d were dropped", row.Metric, row.Dropped)
		}
	}
}

func TestWhatSpoilsAPhase(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*fake)
		want   string
	}{
		{"step of the wall clock", func(s *fake) {
			s.step = func(m int64) int64 {
				if m > 1_700_000_000 {
					return int64(time.Hour)
				}
				return 0
			}
		}, "the wall clock was stepped by 1h0m0s"},
		{"step backwards at the very end", func(s *fake) {
			s.step = func(m int64) int64 {
				if m >= 2_100_000_000 { // when the last frame comes
					return -int64(time.Second)
				}
				return 0
			}
		}, "the wall clock was stepped by -1s"},
		{"another backend in mid-run", func(s *fake) {
			s.before = func(n int, _ *fakeFrame) {
				if n == 60 {
					s.path.Backend = negotiate.BackendCPU
				}
			}
		}, "the backend changed from shm to cpu after 50 frames; 50 by cpu of 100 frames, not by shm"},
		{"another size", func(s *fake) {
			s.before = func(n int, f *fakeFrame) {
				if n > 60 {
					f.geometry.Height = 1
				}
			}
		}, "49 frames of another size or format than 4x2 bgra8"},
		{"sequence that goes back", func(s *fake) {
			s.before = func(n int, f *fakeFrame) {
				if n >= 60 {
					f.meta.Sequence -= 59
				}
			}
		}, "the sequence did not grow 1 times"},
		{"stamps of another clock", func(s *fake) {
			s.before = func(_ int, f *fakeFrame) { f.meta.ReadyNanos += int64(time.Hour) }
		}, "100 frames were usable before they were ready"},
		{"lost connection", func(s *fake) {
			s.before = func(n int, _ *fakeFrame) {
				if n == 60 {
					s.events(client.Event{Kind: client.EventDisconnected, Text: "connection to camd lost"})
				}
			}
		}, "disconnected: connection to camd lost"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFake()
			tc.change(s)
			r, err := measureFake(t, s, shmPhase, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(r.Problems, "; "); r.Valid() || !strings.HasPrefix(got, tc.want) {
				t.Errorf("valid %v, problems %q, want %q", r.Valid(), got, tc.want)
			}
		})
	}
}

func TestEventsOfTheBeginningSpoilNothing(t *testing.T) {
	s := newFake()
	s.before = func(n int, _ *fakeFrame) {
		if n == 3 {
			s.events(client.Event{Kind: client.EventReconfigured})
		}
	}
	if r, err := measureFake(t, s, shmPhase, 0); err != nil || !r.Valid() {
		t.Error(err, r.Problems)
	}
}

func TestFramesByAnotherBackendAreExplained(t *testing.T) {
	s := newFake()
	s.path = client.Path{
		Backend:  negotiate.BackendCPU,
		Rejected: []negotiate.Rejected{{Backend: negotiate.BackendCUDA, Reason: negotiate.ReasonNotOffered}},
	}
	p := shmPhase
	p.Name, p.Backend = "cuda", negotiate.BackendCUDA
	r, err := measureFake(t, s, p, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(r.Problems, ";"), "100 by cpu of 100 frames, not by cuda (cuda: not_offered)"; got != want {
		t.Errorf("problems %q, want %q", got, want)
	}
	for _, row := range r.Rows() {
		if row.Unit == Nanoseconds && row.Dist.Count != 0 {
			t.Errorf("%s counts %d frames of another backend", row.Metric, row.Dist.Count)
		}
	}
}

func TestPhaseEndsEarly(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) {
		r, err := measureFake(t, newFake(), shmPhase, 505*time.Millisecond)
		if err != nil || !r.Interrupted || len(r.Samples) != 40 || !r.Valid() {
			t.Errorf("error %v, interrupted %v, %d samples, problems %v: want 40 kept", err, r.Interrupted, len(r.Samples), r.Problems)
		}
	})
	t.Run("no frame", func(t *testing.T) {
		s := newFake()
		s.frames = 50
		p := shmPhase
		p.Timeout = 3 * time.Second
		r, err := measureFake(t, s, p, 0)
		if !errors.Is(err, ErrTimeout) || len(r.Samples) != 40 {
			t.Errorf("error %v, %d samples, want %v and 40", err, len(r.Samples), ErrTimeout)
		}
	})
	t.Run("camera ended", func(t *testing.T) {
		s := newFake()
		s.before = func(n int, _ *fakeFrame) {
			if n == 49 {
				s.frames = 50
				s.events(client.Event{Kind: client.EventEnded})
			}
		}
		r, err := measureFake(t, s, shmPhase, 0)
		if err != nil || len(r.Samples) < 39 || !r.Interrupted {
			t.Errorf("error %v, %d samples", err, len(r.Samples))
		}
	})
	t.Run("not available", func(t *testing.T) {
		s := newFake()
		s.refused = fmt.Errorf("%w: cpu: not_offered", client.ErrNotAvailable)
		r, err := measureFake(t, s, shmPhase, 0)
		if err != nil || r.Unavailable != s.refused.Error() || r.Valid() || r.Rows() != nil {
			t.Errorf("error %v, result %+v", err, r)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		s := newFake()
		s.refused = client.ErrUnknownStream
		if _, err := measureFake(t, s, shmPhase, 0); !errors.Is(err, client.ErrUnknownStream) {
			t.Error(err)
		}
	})
}

// still is a subscription whose frames are always there, to count allocations.
type still struct{ f fakeFrame }

func (s *still) Next(context.Context) (Frame, error) {
	s.f.meta.Sequence++
	return &s.f, nil
}
func (s *still) Info() negotiate.StreamInfo { return negotiate.StreamInfo{} }
func (s *still) Path() client.Path          { return client.Path{Backend: negotiate.BackendSHM} }
func (s *still) Close() error               { return nil }

func TestMeasuredPathDoesNotAllocate(t *testing.T) {
	g, err := frame.NewGeometry(frame.BGRA8, 64, 48)
	if err != nil {
		t.Fatal(err)
	}
	p := shmPhase.withDefaults()
	p.Samples, p.Warmup, p.Touch, p.Pixel = 500, 0, true, true
	w := newFake().world()
	l := loop{
		Phase: p, w: w, result: &Result{}, samples: make([]Sample, p.Samples),
		watch: newWatcher(p, w, func(error) {}),
		sub:   &still{fakeFrame{from: &fake{data: make([]byte, g.Size())}, geometry: g, held: 1}},
	}
	perFrame := testing.AllocsPerRun(10, func() {
		if _, err := l.run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}) / float64(p.Samples)
	if perFrame >= 0.1 {
		t.Errorf("%.2f allocations per frame", perFrame)
	}
}

// TestReadyIsLearntBeside has a path that says no more than a ROS 2 message: the
// capture as wall time, and a publication.
func TestReadyIsLearntBeside(t *testing.T) {
	for _, tc := range []struct {
		name   string
		stream string
		noTap  bool
		want   int
	}{{"by shared memory", "test/color", false, 97}, {"not wanted", "test/color", true, 0}, {"of a topic", "/test/color/image_raw", false, 0}} {
		t.Run(tc.name, func(t *testing.T) {
			cpu, shm := newFake(), newFake()
			cpu.path.Backend = negotiate.BackendCPU
			stamp := func(f *fakeFrame) { f.meta.WallNanos = 1_700_000_000_000_000_000 + int64(f.meta.Sequence) }
			shm.before = func(n int, f *fakeFrame) {
				if stamp(f); n >= 50 && n < 53 {
					f.meta.WallNanos = 0 // not learnt
				}
			}
			cpu.before = func(_ int, f *fakeFrame) {
				stamp(f)
				f.meta.ReadyNanos = 0
			}
			w := cpu.world()
			first := w.Subscribe
			n := 0
			w.Subscribe = func(ctx context.Context, stream string, events func(client.Event), opts ...client.Option) (Subscription, error) {
				if n++; n == 1 {
					return first(ctx, stream, events, opts...)
				}
				return shm.world().Subscribe(ctx, stream, events, opts...)
			}
			p := shmPhase
			p.Stream, p.Backend, p.NoTap = tc.stream, negotiate.BackendCPU, tc.noTap
			var r *Result
			var err error
			synctest.Test(t, func(*testing.T) { r, err = p.Run(context.Background(), w) })
			if err != nil || !r.Valid() || r.Tapped != tc.want || shm.closed != (tc.want > 0) || shm.holding != 0 {
				t.Fatalf("error %v, problems %v, %d of %d learnt", err, r.Problems, r.Tapped, tc.want)
			}
			if row, _ := find(r.Rows(), ReadyToUsable); row.Dist.Count != uint64(tc.want) || tc.want > 0 && (row.Dist.Min != 40_000 || row.Dist.Max != 49_000) {
				t.Errorf("%+v", row.Dist)
			}
			if row, _ := find(r.Rows(), CaptureToUsable); row.Dist.Count != 100 {
				t.Errorf("%+v", row.Dist)
			}
		})
	}
}
