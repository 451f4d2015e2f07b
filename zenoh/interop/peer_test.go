// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"slices"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// alone is the settings of a peer of ours that finds nobody by itself.
func alone(endpoints ...string) *config.Config {
	c := config.Peer(endpoints...)
	c.Scout.Multicast = false
	c.Listen = []string{"tcp/127.0.0.1:0"}
	return c
}

// reach is where a session of ours listens.
func reach(t testing.TB, s *zenoh.Session) string {
	t.Helper()
	l := s.Info().Listening
	if len(l) == 0 {
		t.Fatal("it does not listen")
	}
	return l[0]
}

func connecting(mode, endpoint string, more ...string) string {
	s := fmt.Sprintf("{mode: %q, connect: {endpoints: [%q]}, %s", mode, endpoint, quiet)
	if mode != "client" {
		s += ", listen: {endpoints: ['tcp/127.0.0.1:0']}"
	}
	for _, m := range more {
		s += ", " + m
	}
	return s + "}"
}

// linked waits until the session has as many connections.
func linked(t testing.TB, s *zenoh.Session, n int) []zenoh.Link {
	t.Helper()
	until(t, fmt.Sprintf("%d connections", n), func() bool { return len(s.Info().Links) == n })
	return s.Info().Links
}

// everything exchanges all kinds of messages with a node that is connected
// already, with us or with a node that passes on. That one is to wait for room
// rather than drop. Samples are of the sizes; without any, of up to 3 MB.
func everything(t *testing.T, n *node, s *zenoh.Session, sizes ...int) {
	t.Helper()
	if len(sizes) == 0 {
		sizes = []int{1, 70_000, 3_000_000}
	}
	// Samples both ways, of all sizes; each arrives once.
	sub, err := s.Subscribe("y/**", nil)
	if err != nil {
		t.Fatal(err)
	}
	n.do(command{"op": "sub", "name": "x", "key": "x/**"}, "declared")
	block := zenoh.QoS{Congestion: zenoh.CongestionBlock}
	pub, err := s.Publisher("x/pub", &zenoh.PublisherOptions{QoS: block})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the node's subscriber is known", pub.Matching)
	for _, size := range sizes {
		b := noise(size)
		if err := pub.Put(ctx(t), b, &zenoh.PutOptions{Attachment: []byte("a")}); err != nil {
			t.Fatal(err)
		}
		if e := n.want("sample"); e.SHA256 != sum(b) || e.Key != "x/pub" || e.Attachment != "a" {
			t.Errorf("%d bytes arrived as %+v", size, e)
		}
		if err := s.Put(ctx(t), "x/put", b, &zenoh.PutOptions{QoS: block}); err != nil {
			t.Fatal(err)
		}
		if e := n.want("sample"); e.SHA256 != sum(b) || e.Key != "x/put" {
			t.Errorf("%d bytes arrived as %+v", size, e)
		}
	}
	n.publisher("p", "y/pub")
	for _, size := range sizes {
		e := n.do(command{"op": "put", "key": "y/put", "size": size, "congestion": "BLOCK"}, "put")
		if got, err := sub.Receive(ctx(t)); err != nil || got.Key != "y/put" || sum(got.Payload) != e.SHA256 {
			t.Errorf("%d bytes received as %d under %q, %v", size, len(got.Payload), got.Key, err)
		}
		n.do(command{"op": "pubput", "name": "p", "text": "numbered"}, "put")
		if got, err := sub.Receive(ctx(t)); err != nil || got.Key != "y/pub" || string(got.Payload) != "numbered" {
			t.Errorf("received %+v, %v", got, err)
		}
	}
	n.do(command{"op": "delete", "key": "y/gone"}, "put")
	if got, err := sub.Receive(ctx(t)); err != nil || got.Kind != zenoh.Delete {
		t.Errorf("received %+v, %v", got, err)
	}
	if err := sub.Close(); err != nil {
		t.Error(err)
	}
	n.matching("p", false)
	n.do(command{"op": "undeclare", "name": "x"}, "undeclared")
	until(t, "the node's subscriber is gone", func() bool { return !pub.Matching() })
	n.do(command{"op": "undeclare", "name": "p"}, "undeclared")

	questions(t, n, s)
	lives(t, n, s)
}

// questions exchanges queries both ways.
func questions(t *testing.T, n *node, s *zenoh.Session) {
	t.Helper()
	q, err := s.Queryable("ask/us", &zenoh.QueryableOptions{Complete: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(ctx(t)); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		one, err := q.Receive(ctx(t))
		if err == nil {
			err = one.Reply(ctx(t), "ask/us", append([]byte("you said "), one.Payload...), nil)
			_ = one.Close()
		}
		answered <- err
	}()
	until(t, "the node gets our answer", func() bool {
		n.tell(command{"op": "get", "key": "ask/**", "text": "why", "target": "ALL"})
		e := n.next()
		if e.Ev == "done" { // it does not know of our queryable yet
			return false
		}
		if e.Ev != "reply" || e.Text != "you said why" || e.Key != "ask/us" {
			t.Errorf("the node got %+v", e)
		}
		if e := n.want("done"); e.Count != 1 {
			t.Errorf("%d replies", e.Count)
		}
		return true
	})
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	n.do(command{"op": "queryable", "name": "q", "key": "node/q", "replies": []command{{"key": "node/q", "text": "yes"}, {"key": "node/q", "error": true, "text": "no"}}}, "declared")
	until(t, "the node's queryable is known", func() bool {
		r, err := s.Get(ctx(t), "node/*?a=1", &zenoh.GetOptions{Target: zenoh.All, Consolidation: zenoh.ConsolidationNone})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for v := range r.All(ctx(t)) {
			got = append(got, string(v.Payload))
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			return false
		}
		if !slices.Equal(got, []string{"yes", "no"}) {
			t.Errorf("the node replied %q", got)
		}
		return true
	})
	if e := n.want("query"); e.Parameters != "a=1" {
		t.Errorf("the node was asked %+v", e)
	}
	n.do(command{"op": "undeclare", "name": "q"}, "undeclared")
}

// lives exchanges liveliness tokens both ways.
func lives(t *testing.T, n *node, s *zenoh.Session) {
	t.Helper()
	ours, err := s.Token("live/ours")
	if err != nil {
		t.Fatal(err)
	}
	n.do(command{"op": "token", "name": "t", "key": "live/theirs"}, "declared")
	w, err := s.SubscribeLiveliness("live/**", &zenoh.LivelinessOptions{History: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	seen := map[string]bool{}
	for range 2 {
		v, err := w.Receive(ctx(t))
		if err != nil || v.Kind != zenoh.Put {
			t.Fatalf("%+v, %v", v, err)
		}
		seen[v.Key] = true
	}
	if !seen["live/ours"] || !seen["live/theirs"] {
		t.Errorf("alive are %v", seen)
	}
	keys, err := s.Liveliness(ctx(t), "live/**")
	slices.Sort(keys)
	if err != nil || !slices.Equal(keys, []string{"live/ours", "live/theirs"}) {
		t.Errorf("alive are %q, %v", keys, err)
	}
	// Not while it also watches them: clients from 1.9 on mix up the answers.
	until(t, "the node sees our token", func() bool {
		n.tell(command{"op": "liveget", "key": "live/ours"})
		e := n.next()
		if e.Ev == "done" {
			return false
		}
		if e.Ev != "reply" || e.Key != "live/ours" {
			t.Errorf("the node sees %+v", e)
		}
		if e := n.want("done"); e.Count != 1 {
			t.Errorf("the node sees %d tokens", e.Count)
		}
		return true
	})
	n.tell(command{"op": "livesub", "name": "w", "key": "live/ours", "history": true})
	n.both(func(e event) bool { return e.Ev == "declared" }, func(e event) bool { return e.Ev == "live" && e.Kind == "PUT" })
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	// A node that we reach in two ways may be told of both, and tell twice.
	n.both(func(e event) bool { return e.Ev == "live" && e.Kind == "DELETE" })
	if v, err := w.Receive(ctx(t)); err != nil || v.Kind != zenoh.Delete || v.Key != "live/ours" {
		t.Errorf("%+v, %v", v, err)
	}
	n.tell(command{"op": "undeclare", "name": "t"})
	n.both(func(e event) bool { return e.Ev == "undeclared" })
	if v, err := w.Receive(ctx(t)); err != nil || v.Kind != zenoh.Delete || v.Key != "live/theirs" {
		t.Errorf("%+v, %v", v, err)
	}
	n.tell(command{"op": "undeclare", "name": "w"})
	n.both(func(e event) bool { return e.Ev == "undeclared" })
}

// Real clients, peers and routers connect to a peer of ours.
func TestPeerServes(t *testing.T) {
	t.Parallel()
	for _, v := range versions {
		for role, mode := range map[wire.WhatAmI]string{wire.Client: "client", wire.Peer: "peer", wire.Router: "router"} {
			t.Run(v+"/"+mode, func(t *testing.T) {
				t.Parallel()
				s := open(t, alone())
				n := start(t, v, connecting(mode, reach(t, s)))
				if l := linked(t, s, 1); l[0].Remote.String() != n.zid || l[0].Role != role || !l[0].Accepted || !l[0].QoS {
					t.Errorf("linked with %+v", l)
				}
				everything(t, n, s)
			})
		}
	}
}

// A peer of ours connects to real routers and peers.
func TestPeerDials(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := open(t, alone(endpoint))
		if l := linked(t, s, 1); l[0].Remote.String() != n.zid || l[0].Accepted {
			t.Errorf("linked with %+v", l)
		}
		everything(t, n, s)
	})
}
