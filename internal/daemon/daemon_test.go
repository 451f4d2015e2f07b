// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestMain(m *testing.M) {
	// Subscribers of tests that run at the same time do not find each other.
	if err := os.Setenv("ZENOH_CONFIG_OVERRIDE", `scouting/multicast/enabled=false;listen/endpoints=["tcp/127.0.0.1:0"]`); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// deadline bounds what a test waits for; it is no measure of anything.
const deadline = 30 * time.Second

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// boot runs a daemon in this process until the test ends.
func boot(t testing.TB, dir string, cameras ...string) (*Daemon, func()) {
	t.Helper()
	d := &Daemon{Dir: dir, Version: "test", Log: slog.New(slog.DiscardHandler)}
	for _, text := range cameras {
		spec, err := capture.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		d.Cameras = append(d.Cameras, spec)
	}
	return d, run(t, d)
}

// run starts a daemon and returns what ends it, which the end of the test does
// too.
func run(t testing.TB, d *Daemon) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	d.Ready = func(string) { close(ready) }
	go func() { done <- d.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("daemon ended with %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case <-ready:
	case err := <-done:
		stopped = true
		t.Fatalf("daemon did not start: %v", err)
	case <-time.After(deadline):
		t.Fatal("daemon did not start")
	}
	return stop
}

func patternFormat() capture.Format {
	g, err := frame.NewGeometry(frame.Mono8, 64, 64)
	if err != nil {
		panic(err) // a constant
	}
	return capture.Format{Geometry: g, Interval: 10 * time.Millisecond}
}

func runtimeDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "camd-test-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func subscribe(t testing.TB, dir, stream string, opts ...client.Option) *client.Subscription {
	t.Helper()
	opts = append(opts, client.WithRuntimeDir(dir), client.WithLogger(slog.New(slog.DiscardHandler)))
	s, err := client.Subscribe(bounded(t), stream, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func next(t testing.TB, s *client.Subscription) client.Frame {
	t.Helper()
	f, err := s.Next(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func checkPattern(t testing.TB, f client.Frame) {
	t.Helper()
	if err := pattern.VerifyNumber(f.Geometry(), f.Data(), f.Meta().DriverSequence); err != nil {
		t.Fatalf("frame %d: %v", f.Meta().Sequence, err)
	}
}

func TestFramesReachEveryReader(t *testing.T) {
	for _, wake := range []negotiate.WakeKind{negotiate.WakeFutex, negotiate.WakePipe} {
		t.Run(string(wake), func(t *testing.T) {
			dir := runtimeDir(t)
			boot(t, dir, "test=pattern,320x240@200,encoding=nv12")
			a := subscribe(t, dir, "test/color", client.WithWake(wake))
			b := subscribe(t, dir, "test/color", client.WithWake(wake))
			for _, s := range []*client.Subscription{a, b} {
				var last uint64
				n := 0
				for f, err := range s.Frames(bounded(t)) {
					if err != nil {
						t.Fatal(err)
					}
					checkPattern(t, f)
					if f.Meta().Sequence <= last {
						t.Fatalf("frame %d after %d", f.Meta().Sequence, last)
					}
					last = f.Meta().Sequence
					if n++; n == 50 {
						break
					}
				}
				if p := s.Path(); p.Backend != negotiate.BackendSHM || p.Wake != wake {
					t.Errorf("path %+v", p)
				}
			}
		})
	}
}

func TestRestartContinues(t *testing.T) {
	dir := runtimeDir(t)
	_, stop := boot(t, dir, "test=pattern,320x240@100")
	s := subscribe(t, dir, "test/color")
	var first client.Frame
	for range 20 {
		first = next(t, s)
		first.Release()
	}
	held := next(t, s)
	old := held.Session()
	stop()
	boot(t, dir, "test=pattern,320x240@100")
	f := next(t, s)
	for f.Session() == old { // frames that were published before the end
		f.Release()
		f = next(t, s)
	}
	if f.Meta().Flags&frame.Discontinuity == 0 {
		t.Error("first frame after a restart is not marked as a discontinuity")
	}
	checkPattern(t, f)
	f.Release()
	f = next(t, s)
	if f.Meta().Flags&frame.Discontinuity != 0 {
		t.Error("second frame after a restart is marked as a discontinuity")
	}
	f.Release()
	checkPattern(t, held) // memory of the old daemon, still held
	held.Release()
	if n := s.Stats().Reconnects; n != 1 {
		t.Errorf("%d reconnects, want 1", n)
	}
}

func TestFormatChange(t *testing.T) {
	dir := runtimeDir(t)
	boot(t, dir, "test=pattern,320x240@100,fault.resize=150ms")
	s := subscribe(t, dir, "test/color")
	held := next(t, s)
	sizes := map[frame.Geometry]bool{}
	epochs := map[uint64]bool{}
	for len(epochs) < 4 {
		f := next(t, s)
		checkPattern(t, f)
		if !epochs[f.Epoch()] && len(epochs) > 0 && f.Meta().Flags&frame.Discontinuity == 0 {
			t.Errorf("first frame of epoch %d is not marked as a discontinuity", f.Epoch())
		}
		epochs[f.Epoch()] = true
		sizes[f.Geometry()] = true
		f.Release()
	}
	if len(sizes) < 2 {
		t.Errorf("sizes seen: %v", sizes)
	}
	checkPattern(t, held) // of an epoch that is long retired
	held.Release()
	if n := s.Stats().Reconnects; n != 0 {
		t.Errorf("%d reconnects for a change of format", n)
	}
}

func TestRefusals(t *testing.T) {
	dir := runtimeDir(t)
	boot(t, dir, "test=pattern,320x240@100,max_subscribers=1", "gone=replay:/nonexistent.avi")
	quiet := client.WithLogger(slog.New(slog.DiscardHandler))
	in := client.WithRuntimeDir(dir)
	next(t, subscribe(t, dir, "test/color")).Release()

	cases := map[string]struct {
		stream string
		opts   []client.Option
		want   error
		reason negotiate.Reason
	}{
		"unknown stream":   {"nope/color", nil, client.ErrUnknownStream, negotiate.ReasonUnknownStream},
		"ring full":        {"test/color", nil, client.ErrNotAvailable, negotiate.ReasonRingFull},
		"required cuda":    {"test/color", []client.Option{client.WithRequire(negotiate.BackendCUDA)}, client.ErrNotAvailable, negotiate.ReasonNotOffered},
		"accepts only cpu": {"test/color", []client.Option{client.WithAccept(negotiate.BackendCPU)}, client.ErrNotAvailable, negotiate.ReasonNotOffered},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := client.Subscribe(bounded(t), c.stream, append(c.opts, in, quiet)...)
			if s != nil {
				_ = s.Close()
			}
			var r *client.RefusedError
			if !errors.Is(err, c.want) || !errors.As(err, &r) || r.Refusal.Reason != c.reason {
				t.Fatalf("got %v, want %v with reason %s", err, c.want, c.reason)
			}
		})
	}
	t.Run("lost camera is waited for", func(t *testing.T) {
		s, err := client.Subscribe(bounded(t), "gone/color", in, quiet)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Next: %v", err)
		}
	})
	t.Run("no daemon", func(t *testing.T) {
		if _, err := client.Subscribe(bounded(t), "test/color", client.WithRuntimeDir(runtimeDir(t)), quiet); !errors.Is(err, client.ErrNoDaemon) {
			t.Errorf("got %v, want ErrNoDaemon", err)
		}
	})
}

func TestOnlyCameraMissingEndsTheDaemon(t *testing.T) {
	spec, err := capture.ParseSpec("clip=replay:/nonexistent.avi")
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{Dir: runtimeDir(t), Cameras: []capture.Spec{spec}, Log: slog.New(slog.DiscardHandler)}
	if err := d.Run(bounded(t)); !errors.Is(err, capture.ErrDeviceNotFound) {
		t.Errorf("got %v, want ErrDeviceNotFound", err)
	}
}

func TestEndOfEveryCameraEndsTheDaemon(t *testing.T) {
	spec, err := capture.ParseSpec("test=pattern,64x64@0,count=10")
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{Dir: runtimeDir(t), Cameras: []capture.Spec{spec}, Log: slog.New(slog.DiscardHandler)}
	if err := d.Run(bounded(t)); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAddAndRemoveWhileRunning(t *testing.T) {
	dir := runtimeDir(t)
	d, _ := boot(t, dir, "a=pattern,64x64@100", "b=pattern,64x64@100")
	sa, sb := subscribe(t, dir, "a/color"), subscribe(t, dir, "b/color")
	next(t, sa).Release()
	next(t, sb).Release()
	if err := d.Remove("b"); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove("b"); !errors.Is(err, ErrUnknownCamera) {
		t.Errorf("second Remove: %v", err)
	}
	for range 10 {
		next(t, sa).Release()
	}
	spec, err := capture.ParseSpec("b=pattern,64x64@100")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Add(spec); err != nil {
		t.Fatal(err)
	}
	if err := d.Add(spec); !errors.Is(err, ErrDuplicate) {
		t.Errorf("second Add: %v", err)
	}
	for {
		f := next(t, sb)
		flags := f.Meta().Flags
		f.Release()
		if flags&frame.Discontinuity != 0 {
			break // the subscription found the new camera by itself
		}
	}
}

func TestEvictionUnderPressure(t *testing.T) {
	dir := runtimeDir(t)
	d, _ := boot(t, dir, "test=pattern,64x64@200,slots=3,evict_after=50ms")
	s := subscribe(t, dir, "test/color")
	a, b := next(t, s), next(t, s)
	for s2 := subscribe(t, dir, "test/color"); ; {
		// The two held frames leave one slot for all others: somebody has to go.
		f := next(t, s2)
		seq := f.Meta().Sequence
		f.Release()
		if a.Valid() != nil && b.Valid() != nil || seq > 5000 {
			break
		}
		if _, err := s.Next(bounded(t)); errors.Is(err, client.ErrEvicted) {
			break
		}
	}
	if st := d.Status(); st.Streams[0].Ring.Ended == 0 {
		t.Error("the ring evicted nobody")
	}
	a.Release()
	b.Release()
	f := next(t, s) // comes back once it gave its frames back
	if f.Meta().Flags&frame.Discontinuity == 0 {
		t.Error("first frame after an eviction is not marked as a discontinuity")
	}
	f.Release()
}

// TestFrameAllocatesNothing counts the allocations of the whole path, from the
// source to the reader's release, in one process. The tickers that look after
// subscriptions allocate a little by the clock, not by the frame.
func TestFrameAllocatesNothing(t *testing.T) {
	const frames = 2000
	for _, wake := range []negotiate.WakeKind{negotiate.WakeFutex, negotiate.WakePipe} {
		t.Run(string(wake), func(t *testing.T) {
			dir := runtimeDir(t)
			d, _ := boot(t, dir, "test=pattern,64x64@1000")
			s := subscribe(t, dir, "test/color", client.WithWake(wake))
			ctx := bounded(t)
			read := func(n int) {
				for range n {
					f, err := s.Next(ctx)
					if err != nil {
						t.Fatal(err)
					}
					f.Release()
				}
			}
			read(100)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read(frames)
			runtime.ReadMemStats(&after)
			if n := after.Mallocs - before.Mallocs; n > frames/4 {
				t.Errorf("%d allocations in %d frames", n, frames)
			} else {
				t.Logf("%d allocations in %d frames", n, frames)
			}
			st := d.Status().Streams[0]
			if st.HostCopies != 0 {
				t.Errorf("%v host copies a frame, want 0", st.HostCopies)
			}
			if w := st.Ring.FutexWakes + st.Ring.PipeWakes; w > st.Published {
				t.Errorf("%d wake-up system calls for %d frames", w, st.Published)
			}
		})
	}
}
