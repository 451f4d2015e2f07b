// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// What is for the session alone is declared to nobody: not at once, not on a
// new connection, and not to who asks.
func TestLocalIsNotDeclared(t *testing.T) {
	l, err := fakenode.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accept := func() chan *fakenode.Node {
		c := make(chan *fakenode.Node, 1)
		go func() {
			n, err := l.Accept()
			if err != nil {
				t.Error(err)
			}
			c <- n
		}()
		return c
	}
	first := accept()
	c := config.Client(l.Endpoint())
	c.Connect.RetryInit = time.Millisecond
	s, err := Open(bounded(t), c, silent())
	if err != nil {
		t.Fatal(err)
	}
	n := <-first
	for key, origin := range map[string]Locality{"any": LocalityAny, "others": LocalityRemote, "own": LocalitySession} {
		_, errSub := s.Subscribe(key, &SubscriberOptions{Origin: origin})
		_, errQuery := s.Queryable("q/"+key, &QueryableOptions{Origin: origin})
		if err := errors.Join(errSub, errQuery); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Publisher("alone", &PublisherOptions{Destination: LocalitySession})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if err := n.Tell(&wire.Interest{ID: 1, Mode: wire.ModeCurrent, Options: wire.WantSubscribers | wire.WantQueryables}); err != nil {
			t.Fatal(err)
		}
		var told []string
		for final := false; !final; {
			g, err := n.Next()
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range g.Messages {
				switch {
				case m.ID == wire.IDInterest:
					told = append(told, "interest in "+string(m.Interest.Key.Suffix))
				case m.Declare.Body == wire.DeclFinal:
					final = true
				case m.Declare.Body == wire.DeclSubscriber || m.Declare.Body == wire.DeclQueryable:
					told = append(told, string(m.Declare.Key.Suffix))
				}
			}
		}
		slices.Sort(told)
		if want := []string{"any", "any", "others", "others", "q/any", "q/any", "q/others", "q/others"}; !slices.Equal(told, want) {
			t.Errorf("round %d: declared and answered %q, want %q", round, told, want)
		}
		if round == 0 {
			next := accept()
			_ = n.Close()
			n = <-next
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close(bounded(t)) }()
	for {
		if _, err := n.Next(); err != nil {
			break
		}
	}
	_ = n.Close()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// Numbers that are declared again cost nothing, whatever they name: what is
// remembered of the other side is what it declares now.
func TestDeclaredAgain(t *testing.T) {
	s, n := joined(t, nil)
	var gone []string
	live, err := s.SubscribeLiveliness("live/*", &LivelinessOptions{Handler: Handler[Sample]{Callback: func(v Sample) {
		if v.Kind == Delete {
			gone = append(gone, v.Key)
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Publisher("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	f := s.open()[0]
	const rounds = 1000
	for i := range rounds {
		err := n.Tell(
			&wire.Declare{Body: wire.DeclKeyExpr, ID: 1, Key: sender("k")},
			&wire.Declare{Body: wire.DeclSubscriber, ID: 2, Key: sender("a")},
			&wire.Declare{Body: wire.DeclToken, ID: 3, Key: sender(fmt.Sprintf("live/%d", i))},
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	flush := func() { // what was told before has been taken
		t.Helper()
		sub, err := s.Subscribe("end", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Tell(&wire.Push{Key: sender("end")}); err != nil {
			t.Fatal(err)
		}
		if _, err := sub.Receive(bounded(t)); err != nil {
			t.Fatal(err)
		}
		if err := sub.Close(); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	if len(gone) != rounds-1 {
		t.Errorf("%d tokens were reported gone, want %d", len(gone), rounds-1)
	}
	live.mu.Lock()
	if len(live.seen) != 1 {
		t.Errorf("%d tokens are remembered as alive, want 1", len(live.seen))
	}
	live.mu.Unlock()
	if want := len("k") + len("a") + 2*len("live/999"); f.held != want || len(f.alive) != 1 {
		t.Errorf("%d bytes and %d tokens are booked, want %d and 1", f.held, len(f.alive), want)
	}
	if !p.Matching() {
		t.Error("the subscriber is not seen")
	}
	// The subscriber's number now names one that does not match.
	if err := n.Tell(&wire.Declare{Body: wire.DeclSubscriber, ID: 2, Key: sender("b")}); err != nil {
		t.Fatal(err)
	}
	flush()
	if p.Matching() {
		t.Error("a subscriber is seen whose number names another")
	}
}

// Replies that are held back until the last has come are bounded like a
// message is: the query ends with what came before, and says why.
func TestRepliesAreBounded(t *testing.T) {
	const each = 1000
	s, _ := joined(t, func(n *fakenode.Node, g fakenode.Got) {
		for _, m := range g.Messages {
			if m.ID != wire.IDRequest {
				continue
			}
			for i := range 20 {
				r := &wire.Response{ID: m.Request.ID, Key: sender(fmt.Sprintf("r/%d", i%10)), QoS: 0x0D, Data: wire.Data{Payload: make([]byte, each)}}
				_ = n.Tell(r) // the session may have gone by then
			}
			_ = n.Tell(&wire.ResponseFinal{ID: m.Request.ID})
		}
	})
	for _, c := range []struct {
		limit, want int
		err         error
	}{{10*each + 1000, 10, nil}, {5*each + 100, 5, ErrReplies}} {
		s.cfg.Transport.MaxMessage = c.limit
		r, err := s.Get(bounded(t), "r/*", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for v := range r.All(bounded(t)) {
			v.Release()
			got++
		}
		if got != c.want || !errors.Is(r.Err(), c.err) {
			t.Errorf("limit %d: %d replies, %v, want %d and %v", c.limit, got, r.Err(), c.want, c.err)
		}
	}
}
