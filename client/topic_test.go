// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// frozen are clocks that stand still: CLOCK_MONOTONIC 10 s, and the wall at the
// time of the cameras of these tests.
func frozen(o *options) {
	o.clock = func() wallClock {
		return wallClock{monotonic: func() int64 { return 10e9 }, realtime: func() int64 { return 1_700_000_000_000_000_000 }}
	}
}

func TestTopicFrame(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	s := n.topic(frozen)
	smp := c.sample(nil)
	n.put(smp)
	f, err := s.Next(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	if at := bytes.Index(smp.Payload, f.Data()); at < 0 || &smp.Payload[at] != &f.Data()[0] {
		t.Error("the pixels were copied")
	}
	want := frame.Meta{
		Sequence: 1, WallNanos: 1_700_000_000_000_000_000 - 4e6, CaptureNanos: 10e9 - 4e6, PublishNanos: 10e9 + 1e6, Bytes: 72,
	}
	if f.Meta() != want {
		t.Errorf("got %+v\nwant %+v", f.Meta(), want)
	}
	g, err := frame.NewGeometry(frame.RGB8, 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	if f.Geometry() != g || f.Color() != (frame.Color{}) || f.Session() != frame.Session(c.gid) || f.Epoch() != 1 || f.MessageBytes() != len(smp.Payload) || f.Valid() != nil {
		t.Errorf("%v, session %v, epoch %d, %d bytes, %v", f.Geometry(), f.Session(), f.Epoch(), f.MessageBytes(), f.Valid())
	}
	i, p := s.Info(), s.Path()
	if i.Name != testTopic || i.Camera != "/cam/driver" || i.FrameID != "lens" || i.Topic != testTopic || i.State != "running" || i.Geometry != g {
		t.Errorf("info %+v", i)
	}
	if p.Backend != negotiate.BackendCPU || p.Topic != testTopic || p.Router != "tcp/test:7447" || p.Credit != 2 || p.Over(testTopic) != "Zenoh" || p.Over("cam/color") != "Zenoh, topic /cam/image_raw" {
		t.Errorf("path %+v", p)
	}
	f.Release()
	if f.Data() != nil || !errors.Is(f.Valid(), ErrReleased) {
		t.Error("a released frame still says something")
	}
}

// What ROS sees of a subscription, in the form of Lyrical, until it is closed.
func TestTopicIsSeenInROS(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	s := n.topic()
	tokens, keys := n.ours()
	slices.Sort(tokens)
	slices.Sort(keys)
	if want := []string{c.entity.Key(), c.entity.Key() + "/_buf_cpu"}; !slices.Equal(keys, want) {
		t.Errorf("keys %v, want %v", keys, want)
	}
	if len(tokens) != 2 {
		t.Fatalf("tokens %v", tokens)
	}
	ms, errMS := graph.ParseToken(tokens[0])
	nn, errNN := graph.ParseToken(tokens[1])
	if errMS != nil || errNN != nil {
		ms, nn = nn, ms
	}
	if ms.Kind == graph.KindNode {
		ms, nn = nn, ms
	}
	if nn.Kind != graph.KindNode || !strings.HasPrefix(nn.Node, "a_test_") || nn.ID != nn.NodeID || nn.ZID != testZID {
		t.Errorf("node %+v", nn)
	}
	if ms.Kind != graph.KindSubscriber || ms.Node != nn.Node || ms.NodeID != nn.NodeID || ms.ID == nn.ID || ms.Topic != testTopic ||
		ms.Hash != msg.TypeImage.Hash || ms.QoS.String() != "2::,5:,:,:,," || ms.Backends != "cpu:" {
		t.Errorf("subscriber %+v", ms)
	}
	// One frame arrives on only one of the two keys.
	smp := c.sample(nil)
	smp.Key += "/_buf_cpu"
	n.put(smp)
	want(t, s, 1).Release()
	again := smp
	again.Key = c.entity.Key()
	n.put(again)
	if st := s.Stats(); st.Ignored[IgnoredOld] != 1 {
		t.Errorf("the same frame on the other key: %+v", st)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	n.nothing()
}

func TestTopicSequence(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	s := n.topic()
	next := func(missed uint64, broken bool) {
		t.Helper()
		f, err := s.Next(bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Meta().Flags&frame.Discontinuity != 0; got != broken || s.Stats().Missed != missed {
			t.Errorf("frame %d: %d missed, want %d; discontinuity %v, want %v", f.Meta().Sequence, s.Stats().Missed, missed, got, broken)
		}
		f.Release()
	}
	c.publish(nil)
	next(0, false)
	c.publish(nil)
	next(0, false)
	c.seq += 3 // lost on the way
	c.publish(nil)
	next(3, false)
	c.publish(nil) // replaced by a newer one
	c.publish(nil)
	next(4, false)
	c.publish(func(m *msg.Image) { m.Height, m.Data = 2, m.Data[:36] })
	next(4, true)
	c.seq = 0 // begins anew, with the same GID
	c.publish(func(m *msg.Image) { m.Height, m.Data = 2, m.Data[:36] })
	next(4, true)
	c.vanish()
	c2 := newCamera(n, func(e *graph.Entity) { e.ZID = "77" }).appear()
	c2.publish(func(m *msg.Image) { m.Height, m.Data = 2, m.Data[:36] })
	next(4, true)
	c2.seq += 1 << 40
	c2.publish(func(m *msg.Image) { m.Height, m.Data = 2, m.Data[:36] })
	next(4, true)
}

func TestTopicCredit(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	s := n.topic(WithCredit(1))
	c.publish(nil)
	a := want(t, s, 1)
	kept, err := a.Retain()
	if err != nil {
		t.Fatal(err)
	}
	a.Release()
	c.publish(nil)
	usedUp(t, s)
	c.publish(nil)
	whole(t, kept.Frame, 1)
	kept.Release()
	want(t, s, 3).Release() // the newest
	c.publish(nil)
	held := want(t, s, 4)
	done := make(chan error)
	go func() { done <- s.Close() }()
	for end := bounded(t); !s.isClosed(); runtime.Gosched() {
		if end.Err() != nil {
			t.Fatal("Close has not begun")
		}
	}
	whole(t, held, 4)
	n.put(c.sample(nil))
	held.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := s.Next(bounded(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
	n.nothing()
}

func (s *Subscription) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func TestTopicWakesNext(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	for name, end := range map[string]func(s *Subscription, cancel func()){
		"a frame": func(*Subscription, func()) { c.publish(nil) },
		"context": func(_ *Subscription, cancel func()) { cancel() },
		"Close":   func(s *Subscription, _ func()) { _ = s.Close() },
	} {
		s := n.topic()
		ctx, cancel := context.WithCancel(bounded(t))
		got := make(chan error)
		go func() {
			f, err := s.Next(ctx)
			f.Release()
			got <- err
		}()
		end(s, cancel)
		err := <-got
		if want := map[string]error{"context": context.Canceled, "Close": ErrClosed}[name]; !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		_ = s.Close()
	}
}

func TestTopicAllocatesNothing(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	s := n.topic()
	ctx := bounded(t)
	samples := make([]zenoh.Sample, 300)
	for i := range samples {
		samples[i] = c.sample(nil)
	}
	var live func(zenoh.Sample)
	for r, f := range n.subs {
		if r.key == c.entity.Key() {
			live = f
		}
	}
	i := 0
	once := func() {
		live(samples[i])
		i++
		f, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	for range 50 {
		once()
	}
	if got := testing.AllocsPerRun(200, once); got != 0 {
		t.Errorf("%v allocations a frame", got)
	}
}
