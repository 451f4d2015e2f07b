// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ros2/graph"
)

// brisk looks for better paths all the time, and is not wary.
func brisk(o *options) { eager(o); o.lookEvery, o.settled = 2*time.Millisecond, 0 }

// at stamps a frame as that of the camera of these tests whose header says wall.
func at(wall int64) func(*frame.Meta) {
	return func(m *frame.Meta) {
		m.WallNanos, m.CaptureNanos = wall, 10e9+wall-1_700_000_000_000_000_000
	}
}

// shownReasons are the reasons in the token by which the daemon sees a subscriber.
func (n *router) shownReasons() string {
	tokens, _ := n.ours()
	for _, token := range tokens {
		if k, err := negotiate.ParseSubscriberKey(token); err == nil {
			return negotiate.Summary(k.Rejected)
		}
	}
	return ""
}

// take is the next frame, which must begin anew and be the one of that number.
func takeFirst(t *testing.T, s *Subscription, sequence uint64) Frame {
	t.Helper()
	f := want(t, s, sequence)
	if f.Meta().Flags&frame.Discontinuity == 0 {
		t.Errorf("frame %d is not marked", sequence)
	}
	return f
}

// The daemon's socket appears, disappears, and appears again, while the camera is
// on the network all the time: each time the best path is taken, no frame comes
// twice or back in time, and what is held stays as it is.
func TestPathFollowsWhatCanBeHad(t *testing.T) {
	n, dir, events := newRouter(t), shortDir(t), newTold()
	c := newCamera(n, nil).appear()
	n.announce(here(), "test/color", func(a *negotiate.Announcement) { a.RuntimeDir = "/elsewhere" })
	s, err := Subscribe(bounded(t), "test/color", quiet(), n.option(), WithRuntimeDir(dir), WithCredit(4), brisk, frozen, events.option())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p := s.Path(); p.Backend != negotiate.BackendCPU || p.Host != "" || negotiate.Summary(p.Rejected) != "cuda: not_accepted, shm: socket_unreachable" {
		t.Errorf("without a socket: %+v", p)
	}
	if got := n.shownReasons(); got != "cuda: not_accepted, shm: socket_unreachable" {
		t.Errorf("shown with %q", got)
	}
	c.publish(nil)
	overZenoh := want(t, s, 1)
	newest := overZenoh.Meta().WallNanos

	f := newFakeIn(t, dir, well)
	events.wait(t, EventPathChanged, "test/color comes by shm, not by cpu any more: camd in "+dir+" can be reached now")
	if p := s.Path(); p.Backend != negotiate.BackendSHM || p.Topic != "" || negotiate.Better(p.Rejected, negotiate.BackendSHM) != nil {
		t.Errorf("with a socket: %+v", p)
	}
	n.nothing()
	f.stamp = at(newest)
	f.publish() // the same picture
	nothingNew(t, s)
	newest += 1e6
	f.stamp = at(newest)
	shared := takeFirst(t, s, f.publish())
	whole(t, overZenoh, 1)
	overZenoh.Release()

	f.stop()
	events.wait(t, EventPathChanged, "test/color comes by cpu, not by shm any more: connection to camd in "+dir+" lost")
	if p := s.Path(); p.Backend != negotiate.BackendCPU || negotiate.Summary(p.Rejected) != "cuda: not_accepted, shm: socket_unreachable" {
		t.Errorf("without the socket again: %+v", p)
	}
	c.source = newest + 5e6 - 1e6 // of the next message: as old as what was seen
	c.publish(nil)
	nothingNew(t, s)
	c.source += 10e6
	takeFirst(t, s, uint64(c.publish(nil))).Release()
	whole(t, shared, 2)
	shared.Release()

	f = newFakeIn(t, dir, well)
	events.wait(t, EventPathChanged, "by shm")
	f.stamp = at(c.source)
	takeFirst(t, s, f.publish()).Release()
	if st := s.Stats(); st.PathChanges != 3 || st.Missed != 0 || st.Taken != 4 {
		t.Errorf("%+v", st)
	}
	_ = s.Close()
	n.nothing()
}

// nothingNew checks that what was published is not handed out: the next attempt
// finds nothing.
func nothingNew(t *testing.T, s *Subscription) {
	t.Helper()
	f, e, wait, err := s.attempt()
	if e != nil {
		s.mu.Lock()
		s.unuse(e)
		s.unlock()
	}
	if f.h != nil || wait == waitNone || err != nil {
		t.Errorf("got frame %d, %v, %v", f.Meta().Sequence, wait, err)
	}
}

// Where the clocks do not allow to compare, and where the clock was set back,
// frames come.
func TestNewerByItsOrigin(t *testing.T) {
	last := origin{"here", 1000e9, 50e9}
	for name, tc := range map[string]struct {
		o     origin
		newer bool
	}{
		"the same":              {origin{"here", 1000e9, 50e9 + 1e5}, false},
		"older":                 {origin{"here", 999e9, 49e9}, false},
		"newer":                 {origin{"here", 1000e9 + 1, 50e9 + 1}, true},
		"clock set back":        {origin{"here", 900e9, 51e9}, true},
		"of another host":       {origin{"there", 999e9, 49e9}, true},
		"of nobody knows where": {origin{"", 999e9, 49e9}, true},
		"without a time":        {origin{"here", 0, 0}, true},
	} {
		s := &Subscription{last: last, crossed: true}
		if got := s.newer(tc.o); got != tc.newer || s.crossed == tc.newer {
			t.Errorf("%s: %v", name, got)
		}
		s.crossed = false
		if !s.newer(tc.o) {
			t.Errorf("%s: left out though it came the same way", name)
		}
	}
}

// A daemon that is there, but has no room, or does not serve this user: the
// reason is told as it is, also to the daemon, until there is room.
func TestReasonsWhileOnAWorsePath(t *testing.T) {
	n, dir, events := newRouter(t), shortDir(t), newTold()
	c := newCamera(n, nil).appear()
	n.announce(here(), "test/color", nil)
	s, err := Subscribe(bounded(t), "test/color", quiet(), n.option(), WithRuntimeDir(dir), brisk, events.option())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, reason := range []negotiate.Reason{negotiate.ReasonRingFull, negotiate.ReasonPermissionDenied} {
		f := newFakeIn(t, dir, func(c *call) error {
			if _, err := c.receive(); err != nil {
				return err
			}
			return c.send(refuseWith(reason))
		})
		want := "cuda: not_accepted, shm: " + string(reason)
		look := time.NewTicker(time.Millisecond)
		defer look.Stop()
		for end := bounded(t); negotiate.Summary(s.Path().Rejected) != want || n.shownReasons() != want; <-look.C {
			if end.Err() != nil {
				t.Fatalf("%v, shown %s; want %s", s.Path().Rejected, n.shownReasons(), want)
			}
		}
		f.stop()
	}
	c.publish(nil)
	want(t, s, 1).Release()
	if st := s.Stats(); st.PathChanges != 0 || st.Reconnects != 0 {
		t.Errorf("%+v", st)
	}
}

// A path that dies soon after it was taken is not taken again at once, and each
// time later.
func TestWary(t *testing.T) {
	s := &Subscription{opts: newOptions(nil)}
	var waits []time.Duration
	for range 7 {
		s.begun = time.Now()
		s.over(&connection{})
		waits = append(waits, s.wary)
	}
	if waits[0] != leastWary || waits[1] != 2*leastWary || waits[6] != mostWary || time.Until(s.waryUntil) < mostWary/2 {
		t.Errorf("%v", waits)
	}
	s.begun = time.Now().Add(-settledAfter)
	s.over(&connection{})
	if s.wary != 0 {
		t.Errorf("after a path that lived: %v", s.wary)
	}
}

// There are cameras of one name on two other hosts, one on this host, and one
// whose host has it alone.
func TestWhichHost(t *testing.T) {
	robot, arm := place{"robot", "aaaaaaaa-0001"}, place{"arm", "bbbbbbbb-0002"}
	twin := place{"arm", "cccccccc-0003"}
	for name, tc := range map[string]struct {
		ask  string
		who  []place
		host string // of the path
		err  error
		text string
	}{
		"the only one":         {"test/color", []place{robot}, "robot", nil, ""},
		"of two":               {"test/color", []place{robot, arm}, "", ErrAmbiguous, "test/color is announced by 2 hosts, name one of: arm:test/color, robot:test/color"},
		"of two, named":        {"arm:test/color", []place{robot, arm}, "arm", nil, ""},
		"of two, this one":     {"test/color", []place{robot, arm, here()}, "", nil, ""},
		"two of one name":      {"arm:test/color", []place{arm, twin}, "", ErrAmbiguous, "bbbbbbbb-0002:test/color, cccccccc-0003:test/color"},
		"by its boot id":       {"cccccccc:test/color", []place{arm, twin}, "arm", nil, ""},
		"none of that host":    {"dog:test/color", []place{robot}, "", ErrUnknownStream, "no stream dog:test/color"},
		"none of that name":    {"test/depth", []place{robot}, "", ErrUnknownStream, "no stream test/depth"},
		"this host by name":    {here().host + ":test/color", []place{robot, here()}, "", nil, ""},
		"nobody":               {"test/color", nil, "", ErrNoDaemon, "over Zenoh nobody announces test/color (asked: the router at tcp/test:7447)"},
		"nobody of that host":  {"dog:test/color", nil, "", ErrNoDaemon, "over Zenoh nobody announces test/color"},
		"this host, elsewhere": {"localhost:test/color", []place{robot}, "", ErrUnknownStream, ""},
		"this host, by cpu":    {"localhost:test/color", []place{robot, here()}, "", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newRouter(t)
			newCamera(n, nil).appear()
			for _, p := range tc.who {
				n.announce(p, "test/color", nil)
			}
			s, err := Subscribe(bounded(t), tc.ask, quiet(), n.option(), WithRuntimeDir(t.TempDir()))
			if tc.err != nil {
				if !errors.Is(err, tc.err) || !contains(err, tc.text) {
					t.Errorf("got %v, want %v, %q", err, tc.err, tc.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p := s.Path(); p.Host != tc.host || (p.Host == "") != strings.HasSuffix(negotiate.Summary(p.Rejected), "shm: socket_unreachable") ||
				(p.Host != "") != strings.HasSuffix(negotiate.Summary(p.Rejected), "shm: different_host") {
				t.Errorf("path %+v", p)
			}
			_ = s.Close()
			n.nothing()
		})
	}
}

// A camera of the same name on another host does not take the place of one that
// is gone.
func TestHostStays(t *testing.T) {
	n, events := newRouter(t), newTold()
	f := newFake(t, well)
	s := f.subscribed(n.option(), brisk, events.option())
	want(t, s, f.publish()).Release()
	newCamera(n, nil).appear()
	n.announce(place{"robot", "aaaaaaaa-0001"}, "test/color", nil)
	f.stop()
	events.wait(t, EventWaiting, "no camd found")
	if p := s.Path(); p.Backend != negotiate.BackendSHM {
		t.Errorf("%+v", p)
	}
}

// What is required on this host and is not there: the reason is the true one.
func TestRequiredOfThisHost(t *testing.T) {
	for name, tc := range map[string]struct {
		who    []place
		reason negotiate.Reason
		kind   error
		text   string
	}{
		"on another host": {[]place{{"robot", "aaaaaaaa-0001"}}, negotiate.ReasonDifferentHost, ErrNotAvailable, "test/color is on robot: shm: different_host"},
		"on this host":    {[]place{here()}, negotiate.ReasonSocketUnreachable, ErrNotAvailable, "its camd serves /run/robot"},
		"nowhere":         {nil, "", ErrNoDaemon, "no camd found"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newRouter(t)
			for _, p := range tc.who {
				n.announce(p, "test/color", func(a *negotiate.Announcement) { a.RuntimeDir = "/run/robot" })
			}
			_, err := Subscribe(bounded(t), "test/color", quiet(), n.option(), WithRuntimeDir(t.TempDir()), WithRequire("shm"))
			var r *RefusedError
			if !errors.Is(err, tc.kind) || !contains(err, tc.text) || errors.As(err, &r) != (tc.reason != "") || r != nil && r.Refusal.Reason != tc.reason {
				t.Errorf("got %v", err)
			}
			n.nothing()
		})
	}
}

// Answers that are none are passed over.
func TestAnnounced(t *testing.T) {
	n := newRouter(t)
	robot := place{"robot", "aaaaaaaa-0001"}
	n.announce(robot, "test/color", nil)
	n.announce(robot, "test/color", nil) // by two ways
	n.announce(robot, "test/depth", func(a *negotiate.Announcement) { a.BootID = "other" })
	n.announce(robot, "test/jpeg", func(a *negotiate.Announcement) { a.Stream.Name = "other/jpeg" })
	good := n.announced[0]
	bad := good
	bad.Payload = []byte("{")
	n.announced = append(n.announced, bad)
	// Who shows no token is not to be found, and of who does not answer only the
	// name is known.
	n.announce(robot, "test/hidden", nil)
	delete(n.tokens, negotiate.AnnouncedKey{BootID: robot.boot, Stream: "test/hidden"}.String())
	n.tokens[negotiate.AnnouncedKey{BootID: "zz", Stream: "test/shy"}.String()] = true
	all, err := Announced(bounded(t), quiet(), n.option())
	names := map[string]bool{}
	for _, a := range all {
		names[a.Host+" "+a.Stream.Name+" "+a.Session[:min(len(a.Session), 4)]] = true
	}
	if want := map[string]bool{"robot test/color 0301": true, " test/depth ": true, " test/jpeg ": true, " test/shy ": true}; err != nil || len(all) != 4 || !maps.Equal(names, want) {
		t.Errorf("%v, %v", names, err)
	}
	n.cut()
	if _, err := Announced(bounded(t), quiet(), n.option()); !errors.Is(err, ErrNoRouter) {
		t.Errorf("without a connection: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Announced(ctx, quiet(), n.option()); err == nil {
		t.Error("no error of a context that is done")
	}
	n.nothing()
}

// Somebody who leaves the question for tokens without an end does not keep the
// answers from being asked for.
func TestAnnouncedInSpiteOfOthers(t *testing.T) {
	n := newRouter(t)
	n.announce(place{"robot", "aaaaaaaa-0001"}, "test/color", nil)
	n.late = make(chan struct{})
	all, err := Announced(bounded(t), quiet(), n.option())
	if err != nil || len(all) != 1 || all[0].Host != "robot" {
		t.Errorf("%+v, %v", all, err)
	}
	n.nothing()
}

func TestSplitHost(t *testing.T) {
	for in, want := range map[string][2]string{
		"a/b": {"", "a/b"}, "h:a/b": {"h", "a/b"}, "/a:b/c": {"", "/a:b/c"}, ":a/b": {"", ":a/b"}, "a/b:c": {"", "a/b:c"}, "h": {"", "h"}, "h:x": {"h", "x"},
	} {
		if host, stream := SplitHost(in); host != want[0] || stream != want[1] {
			t.Errorf("%q: %q, %q", in, host, stream)
		}
	}
}

// Cameras of one name on two hosts have one topic: only frames of the one that
// is asked for come, whoever publishes first or more.
func TestOnlyTheHostThatIsMeant(t *testing.T) {
	n := newRouter(t)
	robot, arm := place{"robot", "aaaaaaaa-0001"}, place{"arm", "bbbbbbbb-0002"}
	other := newCamera(n, func(e *graph.Entity) { e.ZID = "99" }).appear()
	meant := newCamera(n, nil).appear()
	n.announce(robot, "test/color", func(a *negotiate.Announcement) { a.Stream.Publisher = "99" })
	n.announce(arm, "test/color", func(a *negotiate.Announcement) { a.Stream.Publisher = meant.entity.ZID })
	events := newTold()
	s, err := Subscribe(bounded(t), "arm:test/color", quiet(), n.option(), WithRuntimeDir(t.TempDir()), eager, events.option())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other.seq = 100
	other.publish(nil)
	meant.publish(nil)
	other.publish(nil)
	want(t, s, 1).Release()
	if st := s.Stats(); st.Ignored[IgnoredPublisher] != 2 {
		t.Errorf("%+v", st)
	}
	// The other one goes on alone.
	meant.vanish()
	events.wait(t, EventDisconnected, "nobody publishes /cam/image_raw any more")
	events.wait(t, EventWaiting, "but the router at tcp/test:7447 does not show it")
}

// A camd that shows its stream but does not say what it is: the topic's usual
// name is tried.
func TestStreamThatSaysNothing(t *testing.T) {
	n := newRouter(t)
	n.tokens[negotiate.AnnouncedKey{BootID: "zz", Stream: "test/color"}.String()] = true
	events := newTold()
	s, err := Subscribe(bounded(t), "test/color", quiet(), n.option(), WithRuntimeDir(t.TempDir()), brisk, events.option())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	events.wait(t, EventWaiting, "nobody says what it is or publishes /test/color/image_raw")
	c := newCamera(n, func(e *graph.Entity) { e.Topic = "/test/color/image_raw" }).appear()
	events.wait(t, EventConnected, "")
	c.publish(nil)
	want(t, s, 1).Release()
	if got := negotiate.Summary(s.Path().Rejected); got != "cuda: not_accepted, shm: different_host" {
		t.Errorf("not %s", got)
	}
}
