// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// peerAt is a connection with a peer that has told all that it has.
func peerAt(t testing.TB, zid, endpoint string) zenoh.Link {
	t.Helper()
	z, err := wire.ParseZID(zid)
	if err != nil {
		t.Fatal(err)
	}
	return zenoh.Link{Remote: z, Role: wire.Peer, Endpoint: endpoint, Told: true}
}

// Whoever answers nothing hides nobody: what arrived is shown, and who is missing
// is told.
func TestSilentPeerHidesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, events := newRouter(t), newTold()
		bad := peerAt(t, "bad0", "tcp/bad:1")
		n.links, n.silent = []zenoh.Link{bad, peerAt(t, "600d", "tcp/good:1")}, []zenoh.Link{bad}
		n.announce(place{"robot", "aaaaaaaa-0001"}, "test/color", nil)
		n.tokens[negotiate.AnnouncedKey{BootID: "aa-first", Stream: "test/shy"}.String()] = true
		newCamera(n, nil).appear()
		all, err := Announced(t.Context(), quiet(), n.option(), events.option())
		if err != nil || len(all) != 2 || all[0].Host != "robot" || all[1].Stream.Name != "test/shy" {
			t.Errorf("%+v, %v", all, err)
		}
		events.wait(t, EventIncomplete, "the list of streams is incomplete: no answer in time from the peer at tcp/bad:1")
		topics, err := Topics(t.Context(), quiet(), n.option(), events.option())
		if err != nil || len(topics) != 1 {
			t.Errorf("%+v, %v", topics, err)
		}
		events.wait(t, EventIncomplete, "the list of topics is incomplete: no answer in time from the peer at tcp/bad:1")
		s, err := Subscribe(t.Context(), "robot:test/color", quiet(), n.option(), WithRuntimeDir(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		_, err = Subscribe(t.Context(), "dog:test/color", quiet(), n.option(), WithRuntimeDir(t.TempDir()), WithRequire("cpu"))
		if !errors.Is(err, ErrUnknownStream) {
			t.Errorf("%v", err)
		}
		n.nothing()
	})
}

// One stream is waited for while somebody has still to say what there is, also
// somebody who is not connected yet.
func TestFindWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, events := newRouter(t), newTold()
		late := peerAt(t, "1a7e", "tcp/late:1")
		late.Told = false
		n.links = []zenoh.Link{late}
		time.AfterFunc(3*time.Second, func() { n.announce(place{"robot", "aaaaaaaa-0001"}, "test/color", nil) })
		began := time.Now()
		all, err := Find(t.Context(), "test/color", quiet(), n.option(), events.option())
		if took := time.Since(began); err != nil || len(all) != 1 || all[0].Host != "robot" || took < 3*time.Second || took >= findWait {
			t.Errorf("%+v, %v after %v", all, err, took)
		}
		if len(events.all) > 0 {
			t.Errorf("told of %v", <-events.all)
		}
		_, err = Subscribe(t.Context(), "test/depth", quiet(), n.option(), WithRuntimeDir(t.TempDir()))
		if !errors.Is(err, ErrUnknownStream) {
			t.Errorf("%v", err)
		}
		n.announced, n.tokens = nil, map[string]bool{}
		_, err = Subscribe(t.Context(), "test/depth", quiet(), n.option(), WithRuntimeDir(t.TempDir()))
		if want := "nobody has announced test/depth yet: no answer in time from the peer at tcp/late:1 (asked: the peer at tcp/late:1)"; !contains(err, want) {
			t.Errorf("%v", err)
		}
	})
}

// Where the camera's own peer is at the other end of a connection, what others
// send in its name is no frame, and its end is told as that.
func TestSentInTheNameOfAnother(t *testing.T) {
	n, events := newRouter(t), newTold()
	c := newCamera(n, nil).appear()
	cam, other := peerAt(t, c.entity.ZID, "tcp/cam:1"), peerAt(t, "bad0", "tcp/other:1")
	n.links = []zenoh.Link{other, cam}
	n.announce(place{"robot", "aaaaaaaa-0001"}, "test/color", func(a *negotiate.Announcement) { a.Stream.Publisher = c.entity.ZID })
	s, err := Subscribe(bounded(t), "test/color", quiet(), n.option(), WithRuntimeDir(t.TempDir()), eager, events.option())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p := s.Path(); p.Router != "tcp/cam:1" {
		t.Errorf("%+v", p)
	}
	forged := c.sample(nil)
	forged.Peer = other.Remote
	n.put(forged)
	true2 := c.sample(nil)
	true2.Peer = cam.Remote
	n.put(true2)
	want(t, s, 2).Release()
	events.wait(t, EventIgnored, "the peer bad0 sends it in the name of the publisher "+c.gid.String())
	if st := s.Stats(); st.Ignored[IgnoredPublisher] != 1 {
		t.Errorf("%+v", st)
	}
	n.mu.Lock()
	n.links = []zenoh.Link{other}
	n.mu.Unlock()
	c.vanish()
	if e := events.wait(t, EventDisconnected, "connection to the peer at tcp/cam:1 lost"); strings.Contains(e.Text, "router") {
		t.Errorf("%q", e.Text)
	}
}

// The settings of the camera's host keep the stream from the network.
func TestHeldBack(t *testing.T) {
	g, err := frame.NewGeometry(frame.RGB8, 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []place{{"robot", "aaaaaaaa-0001"}, here()} {
		n := newRouter(t)
		n.announce(at, "test/color", func(a *negotiate.Announcement) {
			a.Stream.Topic, a.Stream.Withheld = "", negotiate.ReasonPolicy
			a.Stream.Geometry = g
		})
		_, err := Subscribe(bounded(t), "test/color", quiet(), n.option(), WithRuntimeDir(t.TempDir()), WithRequire("cpu"))
		var r *RefusedError
		if !errors.As(err, &r) || r.Refusal.Reason != negotiate.ReasonPolicy || !contains(err, "zenoh.access.publish") {
			t.Errorf("%v: %v", at, err)
		}
		n.nothing()
	}
}

// A domain that is none is told whichever path would be taken.
func TestWrongDomain(t *testing.T) {
	t.Setenv(EnvDomain, "abc")
	if _, err := Subscribe(bounded(t), "test/color", quiet(), WithRuntimeDir(t.TempDir()), WithRequire("shm")); !errors.Is(err, ErrConfig) || !contains(err, `"abc"`) {
		t.Errorf("%v", err)
	}
}
