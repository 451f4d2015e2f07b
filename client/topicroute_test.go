// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

func contains(err error, part string) bool { return err != nil && strings.Contains(err.Error(), part) }

func TestPublisherAndRouterRestart(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	events := newTold()
	s := n.topic(events.option(), eager)
	events.wait(t, EventConnected, "/cam/image_raw by cpu (Zenoh)")
	c.publish(nil)
	want(t, s, 1).Release()
	c.vanish()
	events.wait(t, EventDisconnected, "nobody publishes /cam/image_raw any more")
	if i := s.Info(); i.State != stateUnpublished || i.Problem == "" {
		t.Errorf("state %q, problem %q", i.State, i.Problem)
	}
	again := newCamera(n, func(e *graph.Entity) { e.ZID = "8b20917502ee955ac4476e0266340d5c" }).appear()
	events.wait(t, EventConnected, "")
	again.publish(nil)
	f := want(t, s, 1)
	if f.Meta().Flags&frame.Discontinuity == 0 {
		t.Error("the first frame of another publisher is not marked")
	}
	f.Release()
	n.cut()
	events.wait(t, EventDisconnected, "connection to the router at tcp/test:7447 lost: connection reset by peer")
	if i := s.Info(); !strings.HasPrefix(i.Problem, "connection to the router at tcp/test:7447 lost") {
		t.Errorf("problem %q", i.Problem)
	}
	n.restore(again.entity.Token())
	events.wait(t, EventConnected, "")
	again.publish(nil)
	f = want(t, s, 2)
	if f.Meta().Flags&frame.Discontinuity == 0 {
		t.Error("the first frame after a lost connection is not marked")
	}
	f.Release()
	if st := s.Stats(); st.Reconnects != 2 || st.Missed != 0 || st.Taken != 3 {
		t.Errorf("%+v", st)
	}
}

// Who publishes later is found, whatever it publishes: another hash, that of
// Humble, or compressed pictures.
func TestPublisherThatComesLater(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*graph.Entity)
		jpeg   bool
	}{
		"as expected": {nil, false},
		"Humble":      {func(e *graph.Entity) { e.Hash = graph.HashNotSupported }, false},
		"compressed":  {func(e *graph.Entity) { e.Type, e.Hash = msg.TypeCompressedImage.Name, msg.TypeCompressedImage.Hash }, true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newRouter(t)
			events := newTold()
			s := n.topic(WithUnpublished(), eager, events.option())
			events.wait(t, EventWaiting, "waiting for a publisher of /cam/image_raw")
			if tokens, _ := n.ours(); len(tokens) != 2 {
				t.Errorf("ROS does not see who waits: %v", tokens)
			}
			c := newCamera(n, tc.change)
			c.appear()
			events.wait(t, EventConnected, "")
			_, keys := n.ours()
			if len(keys) != 2 || !strings.HasPrefix(keys[0], c.entity.Key()) {
				t.Errorf("keys %v", keys)
			}
			if tc.jpeg {
				smp := c.sample(nil)
				smp.Payload = (&msg.CompressedImage{Format: "jpeg", Data: picture6x4(t, "jpeg")}).AppendCDR(nil)
				n.put(smp)
			} else {
				c.publish(nil)
			}
			f, err := s.Next(bounded(t))
			if err != nil {
				t.Fatal(err)
			}
			if f.Geometry().Compressed() != tc.jpeg {
				t.Errorf("got %v", f.Geometry())
			}
			f.Release()
			if st := s.Stats(); st.Reconnects != 0 {
				t.Errorf("%d reconnects", st.Reconnects)
			}
		})
	}
}

// Without a token there is nothing to be found, but frames come.
func TestPublisherWithoutToken(t *testing.T) {
	n := newRouter(t)
	s := n.topic(WithUnpublished())
	newCamera(n, nil).publish(nil)
	want(t, s, 1).Release()
}

// past is what the camera keeps: the message with the next number.
func (c *camera) past() zenoh.Sample {
	smp := c.sample(nil)
	smp.Key = c.entity.Key()
	return smp
}

// keeps is the selector by which the camera is asked for what it keeps.
func (c *camera) keeps() string {
	return c.entity.Key() + "/@adv/pub/" + c.entity.ZID + "/**?_anyke;_max=1"
}

// questions waits until so many have been answered, and returns them.
func (n *router) questions(count int) []string {
	n.t.Helper()
	for end := bounded(n.t); ; runtime.Gosched() {
		n.mu.Lock()
		asked := slices.Clone(n.answered)
		n.mu.Unlock()
		if len(asked) >= count {
			return asked
		}
		if end.Err() != nil {
			n.t.Fatalf("asked %q, want %d questions", asked, count)
		}
	}
}

func latched(e *graph.Entity) { e.QoS = graph.Latched() }

func TestHistory(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, latched)
	n.history = []zenoh.Sample{c.past()}
	c.appear()
	s := n.topic()
	f := want(t, s, 1)
	if f.Meta().Flags != frame.Kept {
		t.Errorf("flags %v", f.Meta().Flags)
	}
	f.Release()
	tokens, _ := n.ours()
	for _, token := range tokens {
		if e, err := graph.ParseToken(token); err != nil || e.Kind == graph.KindSubscriber && (e.QoS.Durability != graph.TransientLocal || e.Backends != "") {
			t.Errorf("%s: %v", token, err)
		}
	}
	// What was published between the two did not get lost on the way.
	c.seq += 1000
	c.publish(nil)
	f = want(t, s, 1002)
	if f.Meta().Flags != frame.Discontinuity || s.Stats().Missed != 0 {
		t.Errorf("flags %v, %d missed", f.Meta().Flags, s.Stats().Missed)
	}
	f.Release()
	_ = s.Close()
	if asked := n.questions(1); !slices.Equal(asked, []string{c.keeps()}) {
		t.Errorf("asked %q", asked)
	}
	n.topic(WithoutHistory()).Close()
	if asked := n.questions(1); len(asked) != 1 {
		t.Errorf("asked for history that was not wanted: %q", asked)
	}
}

// However long it is silent, and whoever comes and goes: nothing that was
// published once is a frame twice.
func TestHistoryComesOnce(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, latched)
	n.history = []zenoh.Sample{c.past()}
	c.appear()
	var mono atomic.Int64
	mono.Store(10e9)
	s := n.topic(func(o *options) {
		o.clock = func() wallClock {
			return wallClock{monotonic: mono.Load, realtime: func() int64 { return mono.Load() + 1_700_000_000e9 }}
		}
	})
	want(t, s, 1).Release()
	n.questions(1)
	mono.Add(5e9)
	// The second one is asked, not the first again; whoever answers.
	d := newCamera(n, func(e *graph.Entity) { e.QoS, e.ZID = graph.Latched(), "99" })
	d.appear()
	// Then one that does not fit, and one that keeps nothing.
	newCamera(n, func(e *graph.Entity) { e.QoS, e.ZID, e.Hash = graph.Latched(), "98", "RIHS01_0" }).appear()
	newCamera(n, func(e *graph.Entity) { e.ZID = "97" }).appear()
	if asked := n.questions(2); !slices.Equal(asked, []string{c.keeps(), d.keeps()}) {
		t.Errorf("asked %q", asked)
	}
	// The connection is lost and comes back, with both.
	mono.Add(5e9)
	n.cut()
	n.restore(c.entity.Token(), d.entity.Token())
	n.questions(4)
	c.publish(nil)
	want(t, s, 2).Release()
	_ = s.Close()
	if st, asked := s.Stats(), n.questions(4); st.Taken != 2 || st.Ignored != nil || len(asked) != 4 {
		t.Errorf("%+v, asked %q", st, asked)
	}
}

// Subscriptions with one configuration share a session and a node.
func TestOneSession(t *testing.T) {
	n := newRouter(t)
	newCamera(n, nil).appear()
	shared := n.option()
	a, b := n.topic(shared), n.topic(shared)
	tokens, _ := n.ours()
	if n.opened != 1 || len(tokens) != 3 {
		t.Errorf("%d sessions, tokens %v", n.opened, tokens)
	}
	_ = a.Close()
	if tokens, _ := n.ours(); n.closed != 0 || len(tokens) != 2 {
		t.Errorf("after the first Close: %d closed, tokens %v", n.closed, tokens)
	}
	_ = b.Close()
	n.nothing()
	topics, err := Topics(bounded(t), shared)
	if err != nil || len(topics) != 1 || topics[0].Name != testTopic || topics[0].Publishers[0].Node != "/cam/driver" {
		t.Errorf("%+v, %v", topics, err)
	}
	n.nothing()
}

func TestNoRouter(t *testing.T) {
	_, err := Subscribe(bounded(t), testTopic, quiet(), WithZenoh(config.Client("tcp/127.0.0.1:1")))
	if !errors.Is(err, ErrNoRouter) || !contains(err, "tcp/127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
	if _, err := Topics(bounded(t), quiet(), WithZenoh(config.Client("tcp/127.0.0.1:1"))); !errors.Is(err, ErrNoRouter) {
		t.Errorf("got %v", err)
	}
}

// streams answers LIST with test/color, and Hello with reject, if it is set.
func streams(info negotiate.StreamInfo, reject *negotiate.Message) func(c *call) error {
	info.Name, info.Camera, info.State = "test/color", "test", "running"
	return func(c *call) error {
		m, err := c.receive()
		if err != nil {
			return err
		}
		if m.Type == negotiate.TypeList {
			return c.send(&negotiate.Message{Type: negotiate.TypeStreams, Streams: &negotiate.StreamList{
				Protocol: negotiate.Current(), Session: c.f.session.String(), Streams: []negotiate.StreamInfo{info},
			}})
		}
		return c.send(reject)
	}
}

func TestStreamByCPU(t *testing.T) {
	full := refuseWith(negotiate.ReasonRingFull)
	full.Reject.Rejected = []negotiate.Rejected{
		{Backend: negotiate.BackendCUDA, Reason: negotiate.ReasonNotAccepted}, {Backend: negotiate.BackendSHM, Reason: negotiate.ReasonRingFull},
	}
	published := negotiate.StreamInfo{Topic: testTopic, Color: frame.Color{Matrix: frame.BT709}}
	for name, tc := range map[string]struct {
		info   negotiate.StreamInfo
		opts   []Option
		down   bool
		path   string // rejected better paths
		reason negotiate.Reason
	}{
		"cpu alone":         {published, []Option{WithAccept("cpu")}, false, "cuda: not_accepted, shm: not_accepted", ""},
		"cpu required":      {published, []Option{WithRequire("cpu")}, false, "cuda: not_accepted, shm: not_accepted", ""},
		"shm full":          {published, []Option{WithAccept("cpu", "shm")}, false, "cuda: not_accepted, shm: ring_full", ""},
		"cuda implies cpu":  {published, []Option{WithAccept("cuda")}, false, "cuda: not_accepted, shm: ring_full", ""},
		"shm full, not cpu": {published, []Option{WithAccept("shm")}, false, "", negotiate.ReasonRingFull},
		"not published":     {negotiate.StreamInfo{Geometry: frame.Geometry{Width: 4, Height: 4, Encoding: frame.Mono8, Step: 4}}, []Option{WithAccept("cpu")}, false, "", negotiate.ReasonNotOffered},
		"no router":         {published, []Option{WithAccept("cpu", "shm")}, true, "", negotiate.ReasonRouterUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			n := newRouter(t)
			c := newCamera(n, nil).appear()
			if tc.down {
				n.cut()
			}
			f := newFake(t, streams(tc.info, full))
			s, err := f.subscribe(append(tc.opts, n.option())...)
			if tc.reason != "" {
				var r *RefusedError
				if !errors.As(err, &r) || r.Refusal.Reason != tc.reason || !errors.Is(err, ErrNotAvailable) {
					t.Errorf("got %v", err)
				}
				n.nothing()
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c.publish(nil)
			want(t, s, 1).Release()
			p, i := s.Path(), s.Info()
			if p.Backend != negotiate.BackendCPU || negotiate.Summary(p.Rejected) != tc.path || p.Dir != f.dir || p.Topic != testTopic {
				t.Errorf("%+v", p)
			}
			if i.Name != "test/color" || i.Camera != "test" || i.Geometry.Encoding != frame.RGB8 || i.Color != (frame.Color{}) {
				t.Errorf("%+v", i)
			}
		})
	}
}

// The camera is on another host: no daemon answers here, but the router knows.
func TestStreamOfAnotherHost(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, func(e *graph.Entity) { e.Topic = "/test/color/image_raw" }).appear()
	dir := t.TempDir()
	opts := []Option{quiet(), n.option(), WithRuntimeDir(dir), WithAccept("shm", "cpu")}
	s, err := Subscribe(bounded(t), "test/color", opts...)
	if err != nil {
		t.Fatal(err)
	}
	c.publish(nil)
	want(t, s, 1).Release()
	if got := negotiate.Summary(s.Path().Rejected); got != "cuda: not_accepted, shm: socket_unreachable" {
		t.Errorf("rejected %s", got)
	}
	_ = s.Close()
	if _, err := Subscribe(bounded(t), "other/color", opts...); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("a stream that nobody has: %v", err)
	}
	n.nothing()
}

// The daemon goes and comes back: what was agreed is agreed anew.
func TestStreamByCPUComesBack(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	f := newFake(t, streams(negotiate.StreamInfo{Topic: testTopic}, nil))
	events := newTold()
	s, err := f.subscribe(n.option(), WithRequire("cpu"), eager, events.option())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c.publish(nil)
	want(t, s, 1).Release()
	c.vanish()
	events.wait(t, EventDisconnected, "nobody publishes /cam/image_raw any more")
	events.wait(t, EventWaiting, "camd publishes test/color as /cam/image_raw, but the router at tcp/test:7447 does not show it")
	c.appear()
	events.wait(t, EventConnected, "test/color by cpu (Zenoh, topic /cam/image_raw)")
	c.publish(nil)
	want(t, s, 2).Release()
	if st := s.Stats(); st.Reconnects != 1 {
		t.Errorf("%+v", st)
	}
}

// The stream is known, but not published yet: the subscription waits for it.
func TestStreamByCPUThatIsNotReady(t *testing.T) {
	for name, info := range map[string]negotiate.StreamInfo{
		"camera without a format": {}, "not in the graph": {Topic: testTopic},
	} {
		n := newRouter(t)
		f := newFake(t, streams(info, nil))
		events := newTold()
		s, err := f.subscribe(n.option(), WithAccept("cpu"), eager, events.option())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		events.wait(t, EventWaiting, "test/color")
		if info.Topic != "" {
			c := newCamera(n, nil).appear()
			events.wait(t, EventConnected, "")
			c.publish(nil)
			want(t, s, 1).Release()
		}
		_ = s.Close()
		n.nothing()
	}
}

// Who was left out for want of room is found once there is some, and meanwhile
// nobody says that nobody publishes.
func TestPublisherThatWasLeftOut(t *testing.T) {
	n := newRouter(t)
	events := newTold()
	s := n.topic(WithUnpublished(), eager, events.option())
	events.wait(t, EventWaiting, "waiting for a publisher of /cam/image_raw")
	var crowd []string
	for i := range maxPublishers {
		crowd = append(crowd, newCamera(n, func(e *graph.Entity) { e.NodeID, e.ID = uint64(1000+i), uint64(2000+i) }).entity.Token())
	}
	n.alive(true, crowd...)
	c := newCamera(n, nil).appear()
	events.wait(t, EventIgnored, "more than 256 publishers of /cam/image_raw")
	n.alive(false, crowd...)
	deadline, look := bounded(t), time.NewTicker(5*time.Millisecond)
	defer look.Stop()
	for !s.topicShows(c.entity.GID()) {
		select {
		case <-deadline.Done():
			t.Fatal("the camera was not found again")
		case e := <-events.all:
			if strings.Contains(e.Text, "nobody publishes") {
				t.Fatalf("told %q", e.Text)
			}
		case <-look.C:
		}
	}
	c.publish(nil)
	want(t, s, 1).Release()
}

// The publisher that is followed has a place in any case.
func TestFollowedPublisherHasAPlace(t *testing.T) {
	n := newRouter(t)
	newCamera(n, func(e *graph.Entity) { e.NodeID, e.ID = 999, 999 }).appear()
	c := newCamera(n, nil)
	s := n.topic()
	c.publish(nil)
	want(t, s, 1).Release()
	for i := range 2 * maxPublishers {
		n.alive(true, newCamera(n, func(e *graph.Entity) { e.NodeID, e.ID = uint64(1000+i), uint64(2000+i) }).entity.Token())
	}
	c.appear()
	if !s.topicShows(c.entity.GID()) {
		t.Error("it was left out")
	}
}

func (s *Subscription) topicShows(gid graph.GID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.topic != nil && s.topic.shown(gid)
}
