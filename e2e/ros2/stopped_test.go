// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// byHand is a camera that the test publishes with.
type byHand struct {
	geometry frame.Geometry
	writer   chan capture.Writer
}

// Describe implements capture.Source.
func (*byHand) Describe() string { return "by hand" }

// Run implements capture.Source.
func (s *byHand) Run(ctx context.Context, sink capture.Sink) error {
	w, err := sink.Open("color", capture.Format{Geometry: s.geometry, Clock: frame.ClockMonotonic, Interval: time.Hour, Held: 1})
	if err != nil {
		return err
	}
	s.writer <- w
	<-ctx.Done()
	return ctx.Err()
}

// daemon runs one with the camera "front".
func (s *byHand) daemon(t *testing.T, router string) *daemon.Daemon {
	t.Helper()
	c := config.Client(router)
	c.Connect.ExitOnFailure = false
	ready, over := make(chan struct{}), make(chan error, 1)
	d := &daemon.Daemon{
		Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Network: &daemon.Network{Zenoh: c, Namespace: "/robot1"},
		Cameras: []capture.Spec{{Name: "front", Kind: "byhand"}},
		Sources: func(capture.Spec) (capture.Source, error) { return s, nil },
		Ready:   func(string) { close(ready) },
	}
	run, stop := context.WithCancel(context.Background())
	go func() { over <- d.Run(run) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case <-ctx(t).Done():
		t.Fatal("camd does not start")
	}
	return d
}

// stranger is a process that subscribes to a key.
func stranger(t *testing.T, p *peer, key string) *exec.Cmd {
	t.Helper()
	const program = `
import sys, zenoh
c = zenoh.Config()
c.insert_json5("mode", '"client"')
c.insert_json5("connect/endpoints", '["%s"]' % sys.argv[1])
with zenoh.open(c) as s:
    s.declare_subscriber(sys.argv[2], lambda x: None)
    sys.stdin.read()
`
	cmd := exec.Command(p.cmd.Path, "-c", program, p.endpoint, key)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// TestStoppedSubscriber has a subscriber over Zenoh stand still for many more
// frames than all queues on the way hold. Who reads by shared memory has each
// frame, and the camera a slot for each.
func TestStoppedSubscriber(t *testing.T) {
	g, err := frame.NewGeometry(frame.RGB8, 1280, 720)
	if err != nil {
		t.Fatal(err)
	}
	p := startPeer(t)
	camera := &byHand{geometry: g, writer: make(chan capture.Writer, 1)}
	d := camera.daemon(t, p.endpoint)
	w := <-camera.writer
	near, err := client.Subscribe(ctx(t), "front/color", client.WithRuntimeDir(d.Dir), client.WithAccept(negotiate.BackendSHM), client.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	number := uint64(0)
	one := func() {
		t.Helper()
		number++
		s, err := w.Acquire()
		if err != nil {
			t.Fatalf("frame %d: %v", number, err)
		}
		w.Commit(s, capture.Stamp{DriverSequence: number, CaptureNanos: linux.Monotonic()})
		f := held(t, near)
		if got := f.Meta().DriverSequence; got != number {
			t.Fatalf("frame %d came, want %d", got, number)
		}
		f.Release()
	}
	key := graph.TopicKey(0, images, msg.TypeImage.Name, msg.TypeImage.Hash)
	far := stranger(t, p, key)
	await(t, d, "frames go out", func(st daemon.Status) bool {
		one()
		return topic(st, images).Frames > 10
	})
	if err := far.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		one()
	}
	st := d.Status()
	if s := near.Stats(); s.Missed != 0 || s.Taken != number {
		t.Errorf("of %d frames %d were missed by shared memory: %+v", number, s.Missed, s)
	}
	if x := topic(st, images); x.Copies+x.Conversions != 0 || !x.Matched {
		t.Errorf("%+v", x)
	}
	if s := st.Streams[0]; len(s.Dropped) > 0 || s.Ring.Ended > 0 {
		t.Errorf("the camera lost frames: %v, %d readers were ended", s.Dropped, s.Ring.Ended)
	}
	// Its end is heard of, and then nothing is done for it.
	_ = far.Process.Kill()
	await(t, d, "nobody subscribes", func(st daemon.Status) bool { return !topic(st, images).Matched })
	before := topic(d.Status(), images)
	for range 50 {
		one()
	}
	if x := topic(d.Status(), images); x.Frames > before.Frames+2 || x.Bytes > before.Bytes+2*uint64(g.Size()+1024) {
		t.Errorf("after its end: %+v, then %+v", before, x)
	}
}
