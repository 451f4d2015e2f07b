// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// apart is the settings of a peer that finds others only by what it is told.
func apart(endpoints ...string) *config.Config {
	c := config.Peer(endpoints...)
	c.Listen = []string{"tcp/127.0.0.1:0"}
	c.Scout.Multicast = false
	c.Connect.RetryInit, c.Connect.RetryMax = 10*time.Millisecond, 100*time.Millisecond
	return c
}

func opened(t testing.TB, c *config.Config) *Session {
	t.Helper()
	s, err := Open(bounded(t), c, silent())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(bounded(t)) })
	return s
}

// at is where a session listens.
func at(s *Session) string { return s.Info().Listening[0] }

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond) // not without a pause: who is waited for needs the processor
	defer look.Stop()
	for c := bounded(t); !cond(); <-look.C {
		if c.Err() != nil {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func linked(t testing.TB, n int, sessions ...*Session) {
	t.Helper()
	for i, s := range sessions {
		eventually(t, fmt.Sprintf("session %d has %d connections", i, n), func() bool { return len(s.Info().Links) == n })
	}
}

// settled waits until each has told each other all that it declared before.
func settled(t testing.TB, sessions ...*Session) {
	t.Helper()
	for i, s := range sessions {
		mark, err := s.Queryable(fmt.Sprintf("settled/%d", i), &QueryableOptions{Handler: Handler[*Query]{Callback: func(q *Query) {
			_ = q.Reply(context.Background(), q.Key, nil, nil)
		}}})
		if err != nil {
			t.Fatal(err)
		}
		defer mark.Close()
		for _, o := range sessions {
			if o == s {
				continue
			}
			eventually(t, mark.Key(), func() bool { return len(answers(t, o, mark.Key())) == 1 })
		}
	}
}

func answers(t testing.TB, s *Session, selector string) (out []string) {
	t.Helper()
	r, err := s.Get(bounded(t), selector, &GetOptions{Target: All, Consolidation: ConsolidationNone})
	if err != nil {
		t.Fatal(err)
	}
	for {
		v, err := r.Receive(bounded(t))
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(v.Payload))
	}
}

// Three peers of which each knows one: gossip makes a mesh of them, in which
// everything goes to everybody it concerns, once. The first leaves; the others
// stay connected.
func TestMesh(t *testing.T) {
	first := opened(t, apart())
	second := opened(t, apart(at(first)))
	third := opened(t, apart(at(first)))
	all := []*Session{first, second, third}
	linked(t, 2, all...)

	got := make(chan string, 100)
	for i, s := range all {
		_, err := s.Subscribe("demo/*", &SubscriberOptions{Handler: Handler[Sample]{Callback: func(v Sample) {
			got <- fmt.Sprintf("%d %s %s", i, v.Key, v.Payload)
			v.Release()
		}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Queryable("ask/**", &QueryableOptions{Handler: Handler[*Query]{Callback: func(q *Query) {
			_ = q.Reply(context.Background(), "ask/it", fmt.Appendf(nil, "from %d", i), nil)
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Token(fmt.Sprintf("live/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, all...)
	for i, s := range all {
		big := make([]byte, 300_000) // fragments, and a buffer that the connections share
		big[0] = byte('a' + i)
		if err := s.Put(bounded(t), fmt.Sprintf("demo/%d", i), big[:1], nil); err != nil {
			t.Fatal(err)
		}
		var seen []string
		for range all {
			seen = append(seen, <-got)
		}
		slices.Sort(seen)
		if want := []string{fmt.Sprintf("0 demo/%d %c", i, big[0]), fmt.Sprintf("1 demo/%d %c", i, big[0]), fmt.Sprintf("2 demo/%d %c", i, big[0])}; !slices.Equal(seen, want) {
			t.Errorf("received %q, want %q", seen, want)
		}
		if a := answers(t, s, "ask/it"); !slices.Equal(a, []string{"from 0", "from 1", "from 2"}) {
			t.Errorf("%d was answered %q", i, a)
		}
		keys, err := s.Liveliness(bounded(t), "live/*")
		if slices.Sort(keys); err != nil || !slices.Equal(keys, []string{"live/0", "live/1", "live/2"}) {
			t.Errorf("%d sees %q, %v", i, keys, err)
		}
		var ends, sent atomic.Int32
		done := make(chan struct{})
		err = s.Put(bounded(t), "other/nobody", big, &PutOptions{Done: func(bool) { ends.Add(1) }})
		if err != nil || ends.Load() != 1 {
			t.Errorf("what nobody wants was given back %d times, %v", ends.Load(), err)
		}
		err = s.Put(bounded(t), "demo/x", big, &PutOptions{Done: func(ok bool) {
			if ok {
				sent.Add(1)
			}
			if ends.Add(1) == 2 {
				close(done)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for range all {
			<-got
		}
		<-done
		if ends.Load() != 2 || sent.Load() != 1 {
			t.Errorf("a payload for two was given back %d times, sent %d", ends.Load()-1, sent.Load())
		}
	}
	for _, s := range all {
		for range 3 { // nothing came twice: the next is what is put now
			if err := s.Put(bounded(t), "demo/last", nil, nil); err != nil {
				t.Fatal(err)
			}
			for range all {
				if v := <-got; v[2:] != "demo/last " {
					t.Errorf("received %q again", v)
				}
			}
		}
	}

	w, err := third.SubscribeLiveliness("live/*", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(bounded(t)); err != nil {
		t.Error(err)
	}
	if v, err := w.Receive(bounded(t)); err != nil || v.Kind != Delete || v.Key != "live/0" {
		t.Errorf("%+v, %v", v, err)
	}
	linked(t, 1, second, third)
	if a := answers(t, second, "ask/it"); !slices.Equal(a, []string{"from 1", "from 2"}) {
		t.Errorf("after the first has left: %q", a)
	}
}

// A publisher knows of subscribers in several sessions, and OnMatching ends with
// what is so.
func TestMatchingOfSeveral(t *testing.T) {
	a := opened(t, apart())
	b, c := opened(t, apart(at(a))), opened(t, config.Client(at(a)))
	linked(t, 2, a)
	var now atomic.Bool
	p, err := a.Publisher("demo/p", &PublisherOptions{OnMatching: now.Store})
	if err != nil {
		t.Fatal(err)
	}
	settled(t, a, b)
	if p.Matching() {
		t.Error("somebody subscribes already")
	}
	of := func(s *Session) *Subscriber {
		sub, err := s.Subscribe("demo/*", nil)
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	x, y := of(b), of(c)
	eventually(t, "it matches", now.Load)
	// The client's publisher asks, and is told of what comes and goes.
	var theirs atomic.Bool
	if _, err := c.Publisher("other/p", &PublisherOptions{OnMatching: theirs.Store}); err != nil {
		t.Fatal(err)
	}
	sub, err := a.Subscribe("other/**", nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the client sees the peer's subscriber", theirs.Load)
	if err := sub.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "the client sees it go", func() bool { return !theirs.Load() })
	_ = x.Close()
	if err := p.Put(bounded(t), []byte("still"), nil); err != nil {
		t.Error(err)
	}
	if v, err := y.Receive(bounded(t)); err != nil || string(v.Payload) != "still" {
		t.Errorf("%+v, %v", v, err)
	}
	if err := c.Close(bounded(t)); err != nil {
		t.Error(err)
	}
	eventually(t, "nobody is left", func() bool { return !now.Load() && !p.Matching() })
}

// Peers that dial each other at once, and by several addresses, end with one
// connection that both think is it.
func TestBothDial(t *testing.T) {
	for range 10 {
		c := apart()
		a := opened(t, c)
		d := apart(at(a), at(a))
		d.Listen = []string{"tcp/127.0.0.1:0", "tcp/127.0.0.1:0"}
		b := opened(t, d)
		a.heardOf(b.zid, wire.Peer, b.Info().Listening, config.Autoconnect{Roles: []string{"peer"}})
		linked(t, 1, a, b)
		settled(t, a, b)
		i, j := a.Info().Links[0], b.Info().Links[0]
		if i.Remote != b.zid || j.Remote != a.zid || i.Accepted == j.Accepted {
			t.Errorf("linked as %+v and %+v", i, j)
		}
		if n := len(a.Info().Links) + len(b.Info().Links); n != 2 {
			t.Errorf("%d ends of connections", n)
		}
		_ = a.Close(bounded(t))
		_ = b.Close(bounded(t))
	}
}

// By the strategy greater-zid only one of two connects.
func TestGreaterZID(t *testing.T) {
	a := opened(t, apart())
	policy := config.Autoconnect{Roles: []string{"peer"}, Strategy: config.Strategy{Peer: "greater-zid"}}
	smaller, greater := ZID{0, 9}, ZID{1}
	c, d := apart(), apart()
	c.ID, d.ID = smaller.String(), greater.String()
	s, g := opened(t, c), opened(t, d)
	s.heardOf(g.zid, wire.Peer, g.Info().Listening, policy)
	s.heardOf(a.zid, wire.Router, a.Info().Listening, policy)
	s.mu.Lock()
	dialling := len(s.dialling)
	s.mu.Unlock()
	if dialling != 0 {
		t.Error("the smaller one dials, or a role that it shall not")
	}
	g.heardOf(s.zid, wire.Peer, s.Info().Listening, policy)
	linked(t, 1, s, g)
	// Who is not whom it should be is not connected with.
	a.heardOf(ZID{7}, wire.Peer, g.Info().Listening, policy)
	if n := len(a.Info().Links); n != 0 {
		t.Errorf("%d connections with a stranger", n)
	}
}
