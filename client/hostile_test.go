// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/ros2/graph"
	"github.com/seed-3c7e7623/camd/ros2/msg"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// Whatever somebody else puts on the key of a topic, its frames come, and what
// was left out is counted.
func TestHostilePublisher(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	other := newCamera(n, func(e *graph.Entity) { e.ZID = "bad" })
	events := newTold()
	s := n.topic(events.option())
	c.publish(nil)
	want(t, s, 1).Release()
	for _, tc := range []struct {
		want  IgnoreReason
		spoil func(s *zenoh.Sample)
	}{
		{IgnoredAttachment, func(s *zenoh.Sample) { s.Attachment = nil }},
		{IgnoredAttachment, func(s *zenoh.Sample) { s.Attachment = s.Attachment[:32] }},
		{IgnoredAttachment, func(s *zenoh.Sample) {
			s.Attachment = graph.Attachment{Sequence: -1, GID: c.gid}.Append(nil)
		}},
		{IgnoredDelete, func(s *zenoh.Sample) { s.Kind = zenoh.Delete }},
		{IgnoredCDR, func(s *zenoh.Sample) { s.Payload = []byte("not CDR") }},
		{IgnoredCDR, func(s *zenoh.Sample) { s.Payload = nil }},
		{IgnoredGeometry, func(s *zenoh.Sample) {
			s.Payload = (&msg.Image{Encoding: "rgb8", Width: 1, Height: 1, Step: 1 << 31}).AppendCDR(nil)
		}},
		{IgnoredEncoding, func(s *zenoh.Sample) {
			s.Payload = (&msg.Image{Encoding: "h264", Width: 1, Height: 1, Step: 1}).AppendCDR(nil)
		}},
		{IgnoredPublisher, func(*zenoh.Sample) {}},
		{IgnoredOld, func(s *zenoh.Sample) {
			s.Attachment = graph.Attachment{Sequence: 1, SourceNanos: c.source, GID: c.gid}.Append(nil)
		}},
	} {
		before := s.Stats().Ignored[tc.want]
		smp := other.sample(nil)
		tc.spoil(&smp)
		n.put(smp)
		if got := s.Stats().Ignored[tc.want]; got != before+1 {
			t.Errorf("%s: counted %d times", tc.want, got-before)
		}
		c.publish(nil)
		f, err := s.Next(bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		whole(t, f, uint64(c.seq))
		if f.Meta().Flags != 0 {
			t.Errorf("after %s: flags %v", tc.want, f.Meta().Flags)
		}
		f.Release()
		if before == 0 {
			events.wait(t, EventIgnored, string(tc.want))
		}
	}
	if st := s.Stats(); st.Missed != 0 {
		t.Errorf("%d missed", st.Missed)
	}
}

func TestHostileTokens(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	s := n.topic()
	mangled := graph.Mangle(testTopic)
	n.alive(true, "@ros2_lv/0/12/0/1/MP/%/%/node/"+mangled+"/short")
	n.alive(true, "@ros2_lv/0/12/0/x/MP/%/%/node/"+mangled+"/sensor_msgs::msg::dds_::Image_/RIHS01_0/::,:,:,:,,")
	var flood []string
	for i := range maxPublishers + 10 {
		e := c.entity
		e.ID = uint64(1000 + i)
		flood = append(flood, e.Token())
	}
	n.alive(true, flood...)
	n.alive(false, "@ros2_lv/0/12/0/1/MP/%/%/never/"+mangled+"/seen")
	if got := s.Stats().Ignored[IgnoredToken]; got != 2+11 {
		t.Errorf("%d tokens ignored", got)
	}
	c.publish(nil)
	want(t, s, 1).Release()
}

func TestFollower(t *testing.T) {
	const second = int64(time.Second)
	a, b, c := graph.GID{1}, graph.GID{2}, graph.GID{3}
	shown := map[graph.GID]bool{}
	f := follower{known: func(gid graph.GID) bool { return shown[gid] }, marks: map[graph.GID]mark{}}
	judged := func(what string, gid graph.GID, seq, source, now int64, past bool, want IgnoreReason) {
		t.Helper()
		var got IgnoreReason
		if bad := f.judge(graph.Attachment{Sequence: seq, SourceNanos: source, GID: gid}, now, past); bad != nil {
			got = bad.reason
		}
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	step := func(what string, gid graph.GID, seq, source, now int64, want IgnoreReason) {
		t.Helper()
		judged(what, gid, seq, source, now, false, want)
	}
	past := func(what string, gid graph.GID, seq, source, now int64, want IgnoreReason) {
		t.Helper()
		judged(what, gid, seq, source, now, true, want)
	}
	step("the first, though the graph does not show it", a, 1, 10, 0, "")
	step("another one that it does not show", b, 1, 10, 1, IgnoredPublisher)
	shown[b] = true
	step("once the graph shows it", b, 2, 11, 2, "")
	step("the first again", a, 2, 20, 3, IgnoredPublisher)
	step("the first again, while the shown one is silent", a, 3, 30, 3+2*second, IgnoredPublisher)
	shown[c] = true
	step("a second one that is shown", c, 1, 10, 3+second/2, IgnoredPublisher)
	step("after a second of silence", c, 2, 10, 4+second, "")
	step("a copy", c, 2, 10, 5+second, IgnoredOld)
	step("one that counts anew", c, 0, 11, 6+second, "")
	step("one whose clock was set back", c, 1, 5, 7+second, "")
	f.any, shown[c] = false, false
	step("who comes when the followed one is gone", a, 9, 90, 8+second, "")

	past("what it keeps, after a long silence", a, 9, 90, 60*second, IgnoredOld)
	past("what it kept before", a, 8, 80, 60*second, IgnoredOld)
	past("what one keeps that was there long before", c, 1, 5, 60*second, IgnoredOld)
	f.any = false
	past("the same of one that has come back", a, 9, 90, 61*second, IgnoredOld)
	past("the same of another one that has come back", c, 1, 5, 61*second, IgnoredOld)
	past("what it published meanwhile", c, 2, 95, 62*second, "")
	step("the same on its way by two ways", c, 2, 95, 62*second, IgnoredOld)
	shown[c] = true
	past("what another one keeps that is older", b, 7, 94, 90*second, IgnoredOld)
	past("what one keeps that the graph does not show", a, 10, 99, 90*second, IgnoredPublisher)
	step("the same, alive", b, 7, 94, 90*second, "")
	past("what another one keeps that is newer, while one is heard", c, 3, 100, 90*second, IgnoredPublisher)
	past("after a second", c, 3, 100, 91*second, "")
	step("what is alive goes before what was kept", b, 8, 101, 91*second, "")
	for i := range 3 * maxMarks {
		f.any = false
		step("one of many", graph.GID{4, byte(i)}, 1, 1, int64(100+2*i)*second, "")
	}
	if len(f.marks) > maxMarks {
		t.Errorf("%d publishers are remembered", len(f.marks))
	}
}

func TestWallClock(t *testing.T) {
	var mono, wall int64 = 100e9, 1_000_000e9
	c := wallClock{monotonic: func() int64 { return mono }, realtime: func() int64 { return wall }}
	pass := func(d, set time.Duration) time.Duration {
		mono += int64(d)
		wall += int64(d + set)
		_, step := c.now()
		return step
	}
	if step := pass(0, 0); step != 0 {
		t.Errorf("the first reading: %v", step)
	}
	if got := c.at(1_000_000e9 - 5); got != 100e9-5 || c.at(0) != 0 {
		t.Errorf("got %d", got)
	}
	for _, tc := range []struct {
		after, set time.Duration
		step       bool
	}{
		{time.Second, 0, false},
		{time.Second, 500 * time.Microsecond, false}, // slewed
		{time.Hour, time.Second, false},
		{time.Second, 20 * time.Millisecond, true},
		{time.Second, -time.Hour, true},
		{time.Second, 0, false},
	} {
		if step := pass(tc.after, tc.set); (step != 0) != tc.step || tc.step && step != tc.set {
			t.Errorf("set by %v after %v: %v", tc.set, tc.after, step)
		}
	}
	if got := c.at(wall); got != mono {
		t.Errorf("after the steps: %d, want %d", got, mono)
	}
}

func TestClockStepIsTold(t *testing.T) {
	n := newRouter(t)
	c := newCamera(n, nil).appear()
	events := newTold()
	var wall int64 = 1_700_000_000e9
	s := n.topic(events.option(), func(o *options) {
		o.clock = func() wallClock {
			return wallClock{monotonic: func() int64 { return 10e9 }, realtime: func() int64 { return wall }}
		}
	})
	c.publish(nil)
	want(t, s, 1).Release()
	wall += 3e9
	c.publish(nil)
	f := want(t, s, 2)
	if d := f.HeldNanos(); d == 0 || f.Meta().CaptureNanos != 10e9-3e9-3e6 {
		t.Errorf("capture %d", f.Meta().CaptureNanos)
	}
	f.Release()
	events.wait(t, EventClockStep, "set by 3s")
	if got := s.Stats().ClockSteps; got != 1 {
		t.Errorf("%d steps", got)
	}
}

func TestTopicErrors(t *testing.T) {
	n := newRouter(t)
	newCamera(n, nil).appear()
	newCamera(n, func(e *graph.Entity) { e.Topic, e.Type = "/chatter", "std_msgs/msg/String" }).appear()
	newCamera(n, func(e *graph.Entity) { e.Topic, e.Domain = "/far/image_raw", 5 }).appear()
	for topic, tc := range map[string]struct {
		text  string
		opts  []Option
		err   error
		known []string
	}{
		"/cam/image_rw":  {"nobody publishes /cam/image_rw in domain 0", nil, ErrUnknownStream, []string{testTopic}},
		"/chatter":       {"/chatter in domain 0 is of the type std_msgs/msg/String, which is no image", nil, ErrUnknownStream, []string{testTopic}},
		"/far/image_raw": {"nobody publishes /far/image_raw in domain 0; it is there in domain 5", nil, ErrUnknownStream, []string{testTopic}},
		"/a//b":          {"invalid ROS name", nil, ErrUnknownStream, nil},
		testTopic:        {"comes by cpu only", []Option{WithRequire("shm")}, ErrNotAvailable, nil},
		"/cam/x":         {"domain 3", []Option{WithDomain(3)}, ErrUnknownStream, nil},
	} {
		s, err := Subscribe(bounded(t), topic, append([]Option{quiet(), n.option()}, tc.opts...)...)
		if err == nil {
			_ = s.Close()
		}
		var r *RefusedError
		errors.As(err, &r)
		if !errors.Is(err, tc.err) || !contains(err, tc.text) || r != nil && len(r.Refusal.Known) != len(tc.known) {
			t.Errorf("%s: %v", topic, err)
		}
	}
	n.nothing()
	n.cut()
	if _, err := Subscribe(bounded(t), testTopic, quiet(), n.option()); !errors.Is(err, ErrNoRouter) {
		t.Errorf("no router: %v", err)
	}
	t.Setenv(EnvDomain, "five")
	if _, err := Subscribe(bounded(t), testTopic, quiet(), n.option()); !contains(err, "must be a whole number") {
		t.Errorf("a domain that is no number: %v", err)
	}
}
