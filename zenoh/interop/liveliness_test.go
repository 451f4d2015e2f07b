// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"slices"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh"
)

func TestLivelinessFromNode(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := client(t, endpoint)
		n.do(command{"op": "token", "name": "old", "key": "live/old"}, "declared")
		n.do(command{"op": "token", "name": "hidden", "key": "live/@own/x"}, "declared")
		history, err := s.SubscribeLiveliness("live/**", &zenoh.LivelinessOptions{History: true})
		if err != nil {
			t.Fatal(err)
		}
		future, err := s.SubscribeLiveliness("live/**", nil)
		if err != nil {
			t.Fatal(err)
		}
		want := func(w *zenoh.LivelinessSubscriber, kind zenoh.Kind, key string) {
			t.Helper()
			got, err := w.Receive(ctx(t))
			if err != nil || got.Kind != kind || got.Key != key {
				t.Errorf("%v %s, %v, want %v %s", got.Kind, got.Key, err, kind, key)
			}
		}
		want(history, zenoh.Put, "live/old")
		keys, err := s.Liveliness(ctx(t), "live/**")
		if err != nil || !slices.Equal(keys, []string{"live/old"}) {
			t.Errorf("alive are %q, %v", keys, err)
		}
		n.do(command{"op": "token", "name": "new", "key": "live/new"}, "declared")
		want(history, zenoh.Put, "live/new")
		want(future, zenoh.Put, "live/new")
		n.do(command{"op": "undeclare", "name": "new"}, "undeclared")
		want(history, zenoh.Delete, "live/new")
		want(future, zenoh.Delete, "live/new")
		own, err := s.Token("live/own")
		if err != nil {
			t.Fatal(err)
		}
		want(history, zenoh.Put, "live/own")
		round(t, s) // what the node makes of our own token has arrived
		if err := own.Close(); err != nil {
			t.Error(err)
		}
		want(history, zenoh.Delete, "live/own")
		round(t, s)
		// Nothing came twice.
		n.do(command{"op": "undeclare", "name": "old"}, "undeclared")
		want(history, zenoh.Delete, "live/old")
	})
}

func TestLivelinessForNode(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := client(t, endpoint)
		if _, err := s.Token("live/go/old"); err != nil {
			t.Fatal(err)
		}
		round(t, s)
		n.tell(command{"op": "livesub", "name": "l", "key": "live/go/*", "history": true})
		n.both(
			func(e event) bool { return e.Ev == "declared" },
			func(e event) bool { return e.Ev == "live" && e.Kind == "PUT" && e.Key == "live/go/old" },
		)
		token, err := s.Token("live/go/new")
		if err != nil {
			t.Fatal(err)
		}
		if e := n.want("live"); e.Kind != "PUT" || e.Key != "live/go/new" {
			t.Errorf("join %+v", e)
		}
		n.tell(command{"op": "liveget", "key": "live/go/**"})
		var keys []string
		for e := n.next(); e.Ev != "done"; e = n.next() {
			keys = append(keys, e.Key)
		}
		slices.Sort(keys)
		if !slices.Equal(keys, []string{"live/go/new", "live/go/old"}) {
			t.Errorf("the node finds %q", keys)
		}
		if err := token.Close(); err != nil {
			t.Error(err)
		}
		if e := n.want("live"); e.Kind != "DELETE" || e.Key != "live/go/new" {
			t.Errorf("leave %+v", e)
		}
		if err := s.Close(ctx(t)); err != nil {
			t.Error(err)
		}
		if e := n.want("live"); e.Kind != "DELETE" || e.Key != "live/go/old" {
			t.Errorf("end of the session %+v", e)
		}
	})
}

func TestMatching(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := client(t, endpoint)
		changes := make(chan bool, 10)
		p, err := s.Publisher("match/a", &zenoh.PublisherOptions{OnMatching: func(m bool) { changes <- m }})
		if err != nil {
			t.Fatal(err)
		}
		round(t, s)
		if p.Matching() {
			t.Error("matching without a subscriber")
		}
		out := s.Info().Stats.MessagesOut
		if err := p.Put(ctx(t), []byte("to nobody"), nil); err != nil {
			t.Error(err)
		}
		if got := s.Info().Stats.MessagesOut; got != out {
			t.Errorf("%d messages went out for nobody", got-out)
		}
		n.do(command{"op": "sub", "name": "s", "key": "match/*"}, "declared")
		if !<-changes || !p.Matching() {
			t.Error("not matching with a subscriber")
		}
		for range 3 {
			if err := p.Put(ctx(t), []byte("x"), nil); err != nil {
				t.Error(err)
			}
			if e := n.want("sample"); e.Key != "match/a" || e.Text != "x" {
				t.Errorf("the node received %+v", e)
			}
		}
		n.do(command{"op": "undeclare", "name": "s"}, "undeclared")
		if <-changes || p.Matching() {
			t.Error("matching after the subscriber left")
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}
