// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

func dialed(t testing.TB, s *Session) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(at(s), "tcp/"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// closed waits until the other side hangs up.
func closed(t testing.TB, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		var n net.Error
		if errors.As(err, &n) && n.Timeout() {
			t.Fatal("it does not hang up")
		}
	}
}

// Many who connect and say nothing, or garbage, or half of a handshake cost a
// bounded number of places for a bounded time; those who come properly are let
// in afterwards, up to the number that the settings allow.
func TestIntruders(t *testing.T) {
	c := apart()
	c.Transport.AcceptTimeout = 300 * time.Millisecond
	c.Transport.AcceptPending = 8
	c.Transport.MaxSessions = 2
	s := opened(t, c)
	before := runtime.NumGoroutine()
	var conns []net.Conn
	r := rand.New(rand.NewPCG(1, 2))
	half := (&wire.Init{Version: wire.Version, WhatAmI: wire.Peer, ZID: wire.ZID{3}, Resolution: wire.DefaultResolution, BatchSize: 65535}).Append([]byte{18, 0})
	half[0] = byte(len(half) - 2)
	for i := range 200 {
		n := dialed(t, s)
		switch i % 4 {
		case 1:
			b := make([]byte, 100)
			for j := range b {
				b[j] = byte(r.Uint32())
			}
			_, _ = n.Write(b)
		case 2:
			_, _ = n.Write(half[:len(half)-3])
		case 3:
			_, _ = n.Write(half)
		}
		conns = append(conns, n)
	}
	if n := runtime.NumGoroutine(); n > before+10*c.Transport.AcceptPending {
		t.Errorf("%d goroutines for those who are not in, %d before", n, before)
	}
	for _, n := range conns {
		closed(t, n)
	}
	eventually(t, "all were refused", func() bool { return s.Info().Refused == uint64(len(conns)) })
	if n := len(s.Info().Links); n != 0 {
		t.Errorf("%d of them are in", n)
	}
	a, b := opened(t, config.Client(at(s))), opened(t, apart(at(s)))
	linked(t, 2, s)
	if _, err := Open(bounded(t), config.Client(at(s)), silent()); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), wire.MaxSessions.String()) {
		t.Errorf("one more than may be: %v", err)
	}
	if err := a.Close(bounded(t)); err != nil {
		t.Error(err)
	}
	linked(t, 1, s, b)
	opened(t, config.Client(at(s)))
	linked(t, 2, s)
}

// A second connection of a node that is connected is refused, and the first
// stays.
func TestTwins(t *testing.T) {
	s := opened(t, apart())
	c := config.Client(at(s))
	c.ID = "abcdef"
	first := opened(t, c)
	if _, err := Open(bounded(t), c, silent()); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), wire.MaxLinks.String()) {
		t.Errorf("a second one: %v", err)
	}
	sub, err := first.Subscribe("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first is told", func() bool {
		if err := s.Put(bounded(t), "a", []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
		sub.q.mu.Lock()
		defer sub.q.mu.Unlock()
		return sub.q.n > 0
	})
	self := apart()
	self.ID = s.zid.String()
	self.Connect.Endpoints, self.Connect.ExitOnFailure, self.Connect.Timeout = []string{at(s)}, true, 0
	if _, err := Open(bounded(t), self, silent()); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), wire.ConnectionToSelf.String()) {
		t.Errorf("itself: %v", err)
	}
}

// TestMutatedPeer lets a peer that has come in say whatever it likes about
// itself and others, with bytes changed: the session stays, and others are
// served.
func TestMutatedPeer(t *testing.T) {
	c := apart()
	c.Scout.Gossip.Autoconnect.Roles = nil // nobody shall be dialled
	s := opened(t, c)
	declareEverything(t, s, func() {})
	r := rand.New(rand.NewPCG(4, 7))
	for i := range 200 {
		n, err := fakenode.Dial(strings.TrimPrefix(at(s), "tcp/"), wire.Init{WhatAmI: wire.WhatAmI(i % 3), ZID: wire.ZID{byte(i), 1, 1}})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range said(n) {
			if r.IntN(3) == 0 {
				b[r.IntN(len(b))] ^= byte(1 << r.IntN(8))
			}
			if n.Send(b) != nil {
				break
			}
		}
		_ = n.Send((&wire.Close{}).Append(nil))
		closed(t, n)
		_ = n.Close()
	}
	linked(t, 0, s)
	good := opened(t, apart(at(s)))
	settled(t, s, good)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.gossip.neighbour) + len(s.gossip.ids) + len(s.claims); n > 4 {
		t.Errorf("%d entries are left of those who have gone", n)
	}
}

// said is what a peer says at the beginning.
func said(n *fakenode.Node) [][]byte {
	list := wire.AppendLinkStates(nil, []wire.LinkState{
		{PSID: 1, SN: 2, ZID: n.Own, WhatAmI: wire.Peer, Located: true, Locators: []string{"tcp/127.0.0.1:1"}, Links: []uint64{2}},
		{PSID: 2, SN: 1, ZID: wire.ZID{0xEE, 1}, WhatAmI: wire.Peer},
	})
	return [][]byte{
		n.Frame(0, &wire.OAM{ID: wire.OAMLinkState, QoS: wire.QoSControl, Body: list}),
		n.Frame(0, &wire.Declare{Body: wire.DeclSubscriber, ID: 1, Key: sender("a/**")}, &wire.Declare{Body: wire.DeclQueryable, ID: 2, Key: sender("a/**"), Complete: true},
			&wire.Declare{HasInterest: true, Body: wire.DeclToken, ID: 3, Key: sender("a/x")}, &wire.Declare{HasInterest: true, Body: wire.DeclFinal}),
		n.Frame(0, &wire.Interest{ID: 4, Mode: wire.ModeCurrentFuture, Options: wire.WantSubscribers | wire.WantQueryables | wire.Aggregate, Restricted: true, Key: sender("a/**")},
			&wire.Interest{ID: 5, Mode: wire.ModeFuture, Options: 0x0F}, &wire.Interest{ID: 4}),
		n.Frame(5, &wire.Push{Key: sender("a/b"), QoS: wire.QoSDefault, Data: wire.Data{Payload: []byte("x")}}, &wire.Request{ID: 6, Key: sender("a/**"), QoS: 0x0D, TimeoutMillis: 1000}),
		n.Frame(0, &wire.Declare{Body: wire.UndeclSubscriber, ID: 1}, &wire.Declare{Body: wire.UndeclQueryable, ID: 2}, &wire.Declare{Body: wire.UndeclToken, ID: 3}),
	}
}
