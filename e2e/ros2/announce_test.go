// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// automatic are the settings of camd where nothing is said, kept to this host
// and to who is told of it.
func automatic(router, listen int) *config.Config {
	c := config.Auto(routerAt(router))
	c.Listen = []string{routerAt(listen)}
	c.Scout.Multicast = false
	return c
}

// away waits until camd is a peer, and returns where it listens.
func away(t *testing.T, d *daemon.Daemon) string {
	t.Helper()
	st := await(t, d, "camd is a peer", func(st daemon.Status) bool { return st.Zenoh.As == "peer" && len(st.Zenoh.Listening) > 0 })
	return st.Zenoh.Listening[0]
}

func keyOf(stream string) negotiate.AnnouncedKey {
	return negotiate.AnnouncedKey{BootID: linux.BootID(), Stream: stream}
}

// ask asks for a stream, and again until the answer, of which there is one, is
// as wanted.
func ask(p *peer, stream, parameters string, ok func(*negotiate.Announcement) bool) *negotiate.Announcement {
	p.t.Helper()
	selector := keyOf(stream).String()
	if parameters != "" {
		selector += "?" + parameters
	}
	for end := ctx(p.t).Done(); ; {
		e := p.do(command{"op": "get", "key": selector}, "answers")
		for _, a := range e.Answers {
			doc, err := negotiate.DecodeAnnouncement([]byte(a.Payload))
			if err != nil || len(e.Answers) != 1 || a.Encoding != "application/json" || a.Key != keyOf(stream).String() {
				p.t.Fatalf("%d answers, one is %+v: %v", len(e.Answers), a, err)
			}
			if ok(doc) {
				return doc
			}
		}
		select {
		case <-end:
			p.t.Fatalf("no answer as wanted, the last ones are %+v", e.Answers)
		default:
		}
	}
}

func anything(*negotiate.Announcement) bool { return true }

// A peer of the reference, without a router, finds the streams of camd by their
// tokens as they come and go, asks what they are, and is seen where it says that
// it subscribes.
func TestPeerFindsStreams(t *testing.T) {
	d := camdIn(t, daemon.Network{Zenoh: automatic(proctest.Port(t), 0)}, "", "front=pattern,64x48@50,encoding=rgb8,fault.resize=400ms")
	p := startPeerAt(t, proctest.Port(t), away(t, d))
	p.do(command{"op": "alive", "name": "all", "key": negotiate.AnnounceAll}, "declared")
	token := func(stream string, alive bool) {
		t.Helper()
		if e := p.want("token"); e.Key != keyOf(stream).String() || e.Alive != alive {
			t.Fatalf("token %+v, want %s alive: %v", e, stream, alive)
		}
	}
	token("front/color", true)
	if z := d.Status().Zenoh; z.State != "connected" || z.Mode != "auto" || z.As != "peer" || len(z.Links) != 1 || z.Links[0].Role != "peer" || !z.Links[0].Incoming {
		t.Errorf("status %+v", z)
	}

	// Cameras that come and go; one that gives nothing yet is there as well.
	missing, err := capture.ParseSpec("later=replay:/does/not/exist.y4m")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Add(missing); err != nil {
		t.Fatal(err)
	}
	token("later/color", true)
	lost := ask(p, "later/color", "", func(a *negotiate.Announcement) bool { return a.Stream.Problem != "" })
	if lost.Stream.State == "running" || lost.Stream.Topic != "" || len(lost.Topics) != 0 {
		t.Errorf("a camera that is missing is announced as %+v", lost)
	}
	if err := d.Remove("later"); err != nil {
		t.Fatal(err)
	}
	token("later/color", false)

	// What is said of a stream; where the socket is, only on the same host.
	st := d.Status()
	doc := ask(p, "front/color", "", func(a *negotiate.Announcement) bool { return len(a.Topics) > 0 })
	if doc.Session != st.Session || doc.Host != st.Host || doc.PID != st.PID || doc.BootID != linux.BootID() || doc.RuntimeDir != "" ||
		doc.Stream.State != "running" || doc.Stream.Topic != "/front/color/image_raw" || doc.Topics[0].Type != "sensor_msgs/msg/Image" {
		t.Errorf("announced %+v", doc)
	}
	if doc := ask(p, "front/color", negotiate.AskBoot(linux.BootID()), anything); doc.RuntimeDir != st.Dir {
		t.Errorf("the same host is told the directory %q, want %q", doc.RuntimeDir, st.Dir)
	}
	if doc := ask(p, "front/color", negotiate.AskBoot("of another host"), anything); doc.RuntimeDir != "" {
		t.Errorf("another host is told the directory %q", doc.RuntimeDir)
	}
	small := ask(p, "front/color", "", func(a *negotiate.Announcement) bool { return a.Stream.Geometry.Width == 32 })
	large := ask(p, "front/color", "", func(a *negotiate.Announcement) bool {
		return a.Stream.Geometry.Width == 64 && a.Stream.Epoch > small.Stream.Epoch
	})
	if small.Session != large.Session {
		t.Error("the session changed with the format")
	}

	// A subscriber that says that it is there, and why it gets no better path.
	sub := negotiate.SubscriberKey{
		AnnouncedKey: keyOf("front/color"), ID: "abc.1", Host: "laptop", Program: "viewer",
		Rejected: []negotiate.Rejected{{Backend: negotiate.BackendSHM, Reason: negotiate.ReasonDifferentHost}},
	}
	p.do(command{"op": "token", "name": "viewer", "key": sub.String()}, "declared")
	listed := func(st daemon.Status) bool {
		return slices.ContainsFunc(st.Streams[0].Subscribers, func(s backend.Subscriber) bool {
			return s.Host == "laptop" && s.Client == "viewer" && s.Backend == negotiate.BackendCPU && negotiate.Summary(s.Rejected) == "shm: different_host"
		})
	}
	st = await(t, d, "the viewer is listed", listed)
	if st.Streams[0].Subscribed != 1 || st.Zenoh.Subscribers != 1 {
		t.Errorf("%d and %d subscribers", st.Streams[0].Subscribed, st.Zenoh.Subscribers)
	}
	ask(p, "front/color", "", func(a *negotiate.Announcement) bool {
		return len(a.Subscribers) == 1 && a.Subscribers[0].Host == "laptop" && negotiate.Summary(a.Subscribers[0].Rejected) == "shm: different_host"
	})
	// Another daemon of this host with a camera of the same name has the same key:
	// both answer.
	other := camdIn(t, daemon.Network{Zenoh: automatic(proctest.Port(t), 0)}, "", "front=pattern,64x48@50,encoding=rgb8")
	second := startPeerAt(t, proctest.Port(t), away(t, d), away(t, other))
	sessions := map[string]bool{}
	for end := ctx(t); len(sessions) < 2; {
		if end.Err() != nil {
			t.Fatalf("only %v answer", sessions)
		}
		clear(sessions)
		for _, a := range second.do(command{"op": "get", "key": keyOf("front/color").String()}, "answers").Answers {
			doc, err := negotiate.DecodeAnnouncement([]byte(a.Payload))
			if err != nil {
				t.Fatal(err)
			}
			sessions[doc.Session] = true
		}
	}
	p.do(command{"op": "undeclare", "name": "viewer"}, "closed")
	await(t, d, "the viewer is gone", func(st daemon.Status) bool { return !listed(st) && st.Zenoh.Subscribers == 0 })
}

// Many questions at once: frames go on, and what is not answered is counted.
func TestManyQuestions(t *testing.T) {
	d := camdIn(t, daemon.Network{Zenoh: automatic(proctest.Port(t), 0)}, "", "front=pattern,64x48@50,encoding=rgb8", "back=pattern,64x48@50,encoding=rgb8")
	p := startPeerAt(t, proctest.Port(t), away(t, d))
	ask(p, "front/color", "", anything)
	ask(p, "back/color", "", anything)
	before := await(t, d, "both run", func(st daemon.Status) bool { return len(st.Streams) == 2 })
	const questions = 1000
	got := p.do(command{"op": "flood", "key": negotiate.AnnounceAll, "count": questions}, "flooded").Size
	after := d.Status()
	answered, unanswered := after.Zenoh.Answered-before.Zenoh.Answered, after.Zenoh.Unanswered-before.Zenoh.Unanswered
	if answered+unanswered != 2*questions || got == 0 || uint64(got) > answered {
		t.Errorf("%d answers came, %d were given, %d not; there were %d questions for 2 streams", got, answered, unanswered, questions)
	}
	for i, s := range after.Streams {
		delete(s.Dropped, capture.DropLate) // on a busy machine a pattern falls behind
		if s.Published <= before.Streams[i].Published || len(s.Dropped) > 0 {
			t.Errorf("%s: %d frames before, %d after, dropped %v", s.Name, before.Streams[i].Published, s.Published, s.Dropped)
		}
	}
	t.Logf("%d questions: %d answered, %d not", 2*questions, answered, unanswered)
}

// What access does not name nobody sees.
func TestAccess(t *testing.T) {
	front := daemon.Rules{"front/*"}
	access := daemon.Access{Publish: daemon.Rules{"front/*", "/back/color/camera_info"}, Announce: front, Answer: front, Accept: front}
	d := camdIn(t, daemon.Network{Zenoh: automatic(proctest.Port(t), 0), Access: access, Diagnostics: true}, "",
		"front=pattern,64x48@50,encoding=rgb8", "back=pattern,64x48@50,encoding=rgb8")
	p := startPeerAt(t, proctest.Port(t), away(t, d))
	ask(p, "front/color", "", func(a *negotiate.Announcement) bool { return len(a.Topics) == 3 })
	if e := p.do(command{"op": "get", "key": "camd/**"}, "answers"); len(e.Answers) != 1 {
		t.Errorf("%d answers: %+v", len(e.Answers), e.Answers)
	}
	if e := p.do(command{"op": "tokens", "key": "camd/**"}, "tokens"); len(e.Tokens) != 1 || e.Tokens[keyOf("front/color").String()] == "" {
		t.Errorf("tokens %v", e.Tokens)
	}
	for _, stream := range []string{"back/color", "front/color"} {
		p.do(command{"op": "token", "name": stream, "key": negotiate.SubscriberKey{AnnouncedKey: keyOf(stream), ID: "a"}.String()}, "declared")
	}
	st := await(t, d, "one subscriber is listed", func(st daemon.Status) bool { return st.Zenoh.Subscribers == 1 })
	for _, s := range st.Streams {
		published := 0
		for _, x := range s.Topics {
			if x.Problem == "" {
				published++
			}
		}
		want, withheld, topic := 3, []string(nil), "/front/color/image_raw"
		if s.Name == "back/color" {
			want, withheld, topic = 1, []string{"announce", "answer", "accept"}, ""
		}
		if published != want || !slices.Equal(s.Withheld, withheld) || s.Topic != topic || len(s.Topics) != 3 {
			t.Errorf("%s: topic %q, withheld %v, topics %+v", s.Name, s.Topic, s.Withheld, s.Topics)
		}
	}
	for key := range p.do(command{"op": "tokens", "key": "@ros2_lv/**"}, "tokens").Tokens {
		if strings.Contains(key, "diagnostics") {
			t.Errorf("diagnostics are published: %s", key)
		}
	}
}

// A router that comes makes camd its client, and a peer again when it goes: with
// one id and the same topics, whose frames go on.
func TestRoleFollowsTheRouter(t *testing.T) {
	router, listen := proctest.Port(t), proctest.Port(t)
	d := camdIn(t, daemon.Network{Zenoh: automatic(router, listen), Namespace: "/robot1"}, "", "front=pattern,64x48@50,encoding=rgb8")
	away(t, d)
	near := startPeerAt(t, proctest.Port(t), routerAt(listen))
	near.do(command{"op": "sink", "name": "s", "key": "0/robot1/front/color/image_raw/**"}, "declared")
	sent := func(more uint64) daemon.Status {
		t.Helper()
		n := topic(d.Status(), images).Frames
		return await(t, d, "frames are sent", func(st daemon.Status) bool { return topic(st, images).Frames >= n+more })
	}
	first := sent(5)

	r := startPeerAt(t, router)
	st := await(t, d, "camd is client of the router", func(st daemon.Status) bool { return st.Zenoh.As == "client" && st.Zenoh.Role == "router" })
	if len(st.Zenoh.Listening) > 0 || st.Zenoh.ZID != first.Zenoh.ZID || st.Zenoh.Connections != 1 {
		t.Errorf("as a client: %+v", st.Zenoh)
	}
	ask(r, "front/color", "", anything)
	r.do(command{"op": "sink", "name": "s", "key": "0/robot1/front/color/image_raw/**"}, "declared")
	second := sent(5)

	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, d, "camd is a peer again", func(st daemon.Status) bool {
		return st.Zenoh.As == "peer" && slices.ContainsFunc(st.Zenoh.Links, func(l daemon.ZenohLink) bool { return l.Role == "peer" })
	})
	ask(near, "front/color", "", anything)
	third := sent(5)
	for _, st := range []daemon.Status{second, third} {
		if got, want := topic(st, images).GID, topic(first, images).GID; got != want || st.Zenoh.ZID != first.Zenoh.ZID {
			t.Errorf("topic %s of session %s, was %s of %s", got, st.Zenoh.ZID, want, first.Zenoh.ZID)
		}
	}
}
