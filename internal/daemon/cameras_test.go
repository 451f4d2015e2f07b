// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/kinds"
	"github.com/seed-3c7e7623/camd/client"
)

func spec(t testing.TB, text string) capture.Spec {
	t.Helper()
	s, err := capture.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ringMappings counts the pixel memories that this process has mapped, as
// daemon and as subscriber.
func ringMappings(t testing.TB) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "memfd:camd-ring-pixels")
}

// ends waits until the camera has come to its end.
func ends(t testing.TB, d *Daemon, name string) {
	t.Helper()
	select {
	case <-d.camera(name).ended:
	case <-bounded(t).Done():
		t.Fatalf("camera %s does not end", name)
	}
}

// A recording that is over is no reason to lose its subscribers again and
// again: they keep their connection, and who comes late sees the last frame.
func TestEndedCameraKeepsItsSubscribers(t *testing.T) {
	dir := runtimeDir(t)
	d, _ := boot(t, dir, "on=pattern,64x64@200", "clip=pattern,64x64@0,count=3000")
	var lost atomic.Int64
	count := client.WithEvents(func(e client.Event) {
		if e.Kind == client.EventDisconnected {
			lost.Add(1)
		}
	})
	early := subscribe(t, dir, "clip/color", count)
	next(t, early).Release()
	ends(t, d, "clip")
	late := subscribe(t, dir, "clip/color", count)
	f := next(t, late)
	if f.Meta().Sequence != 3000 {
		t.Errorf("who came late got frame %d, want the last one, 3000", f.Meta().Sequence)
	}
	f.Release()
	other := subscribe(t, dir, "on/color")
	for range 200 {
		next(t, other).Release()
	}
	if n := lost.Load(); n != 0 {
		t.Errorf("connections were lost %d times after the end", n)
	}
}

func TestRemoveGivesMemoryBack(t *testing.T) {
	cases := map[string]string{
		"running": "b=pattern,64x64@200",
		"ended":   "b=pattern,64x64@200,count=20",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			dir := runtimeDir(t)
			before := ringMappings(t)
			d, _ := boot(t, dir, "a=pattern,64x64@200", text)
			next(t, subscribe(t, dir, "a/color")).Release()
			s := subscribe(t, dir, "b/color")
			next(t, s).Release()
			if name == "ended" {
				ends(t, d, "b")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := d.Remove("b"); err != nil {
				t.Fatal(err)
			}
			if n := ringMappings(t) - before; n != 2 { // of a: the daemon's and the subscriber's
				t.Errorf("%d rings are mapped, want 2", n)
			}
		})
	}
}

// Frames are told apart by session, epoch and sequence, also when a camera is
// replaced by another one of its name.
func TestReplacedCameraHasNewEpoch(t *testing.T) {
	dir := runtimeDir(t)
	d, _ := boot(t, dir, "a=pattern,64x64@200")
	s := subscribe(t, dir, "a/color")
	f := next(t, s)
	session, epoch := f.Session(), f.Epoch()
	f.Release()
	if err := d.Remove("a"); err != nil { // the last one: camd stays
		t.Fatal(err)
	}
	if err := d.Add(spec(t, "a=pattern,64x64@200")); err != nil {
		t.Fatal(err)
	}
	for f = next(t, s); f.Epoch() == epoch; f = next(t, s) {
		if f.Meta().Flags != 0 {
			t.Fatal("the new camera's frames have the epoch of the old one")
		}
		f.Release()
	}
	if f.Session() != session || f.Epoch() < epoch {
		t.Errorf("epoch %d after %d, same session %v", f.Epoch(), epoch, f.Session() == session)
	}
	f.Release()
}

func TestAddAtTheSameTime(t *testing.T) {
	d, _ := boot(t, runtimeDir(t), "a=pattern,64x64@10")
	var added, refused atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			switch err := d.Add(spec(t, "b=pattern,64x64@10")); {
			case err == nil:
				added.Add(1)
			case errors.Is(err, ErrDuplicate):
				refused.Add(1)
			default:
				t.Error(err)
			}
		}()
	}
	all.Wait()
	if added.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d added and %d refused, want 1 and 7", added.Load(), refused.Load())
	}
}

func TestAddOutsideRun(t *testing.T) {
	d := &Daemon{Dir: runtimeDir(t), Log: slog.New(slog.DiscardHandler)}
	if err := d.Add(spec(t, "a=pattern")); !errors.Is(err, ErrNotRunning) {
		t.Errorf("before Run: %v", err)
	}
	d, stop := boot(t, runtimeDir(t), "a=pattern,64x64@10")
	stop()
	if err := d.Add(spec(t, "b=pattern")); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after Run: %v", err)
	}
}

// stuck is a source that does not listen to its context and keeps a slot.
type stuck struct {
	slot chan *capture.Slot
	free chan struct{}
}

func (s *stuck) Describe() string { return "stuck" }

func (s *stuck) Run(_ context.Context, sink capture.Sink) error {
	w, err := sink.Open("color", patternFormat())
	if err != nil {
		return err
	}
	slot, err := w.Acquire()
	if err != nil {
		return err
	}
	s.slot <- slot
	<-s.free
	slot.Data[0] = 1 // crashes if the memory is gone
	w.Commit(slot, capture.Stamp{})
	return errors.New("came back")
}

// The memory of a run that was given up stays: it may still write there.
func TestAbandonedRunKeepsItsMemory(t *testing.T) {
	dir := runtimeDir(t)
	source := &stuck{slot: make(chan *capture.Slot, 1), free: make(chan struct{})}
	d := &Daemon{
		Dir: dir, Log: slog.New(slog.DiscardHandler),
		Cameras: []capture.Spec{spec(t, "s=pattern"), spec(t, "a=pattern,64x64@100")},
	}
	d.Sources = func(sp capture.Spec) (capture.Source, error) {
		if sp.Name == "s" {
			return source, nil
		}
		return kinds.New(sp)
	}
	run(t, d)
	slot := <-source.slot
	s := subscribe(t, dir, "s/color")
	if err := d.Remove("s"); err != nil {
		t.Fatal(err)
	}
	slot.Data[len(slot.Data)-1] = 1
	next(t, subscribe(t, dir, "a/color")).Release()
	close(source.free)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// naming is a source with a stream of a name of its own.
type naming string

func (naming) Describe() string { return "naming" }

func (n naming) Run(ctx context.Context, sink capture.Sink) error {
	w, err := sink.Open(string(n), patternFormat())
	if err != nil {
		return err
	}
	s, err := w.Acquire()
	if err != nil {
		return err
	}
	w.Commit(s, capture.Stamp{})
	<-ctx.Done()
	return nil
}

// A stream name that nobody could ask for fails at once, and no other camera does.
func TestStreamNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"color": true, "color/jpeg": true, "infra-1": true,
		"": false, "/color": false, "color/": false, "a//b": false, "../x": false, "a b": false, "a\nb": false, "a\x00b": false, "\xff": false,
		"**": false, "a?b": false, "ü": false, strings.Repeat("abcdefgh/", 15) + "a": false,
	} {
		t.Run(name, func(t *testing.T) {
			dir := runtimeDir(t)
			d := &Daemon{
				Dir: dir, Log: slog.New(slog.DiscardHandler),
				Cameras: []capture.Spec{spec(t, "s=pattern"), spec(t, "a=pattern,64x64@100")},
			}
			d.Sources = func(sp capture.Spec) (capture.Source, error) {
				if sp.Name == "s" {
					return naming(name), nil
				}
				return kinds.New(sp)
			}
			run(t, d)
			if ok {
				next(t, subscribe(t, dir, "s/"+name)).Release()
			} else {
				ends(t, d, "s")
				if err := d.camera("s").err; !errors.Is(err, capture.ErrConfig) {
					t.Errorf("%v, want %v", err, capture.ErrConfig)
				}
			}
			next(t, subscribe(t, dir, "a/color")).Release()
			if _, err := client.List(bounded(t), client.WithRuntimeDir(dir)); err != nil {
				t.Error(err)
			}
		})
	}
}
