// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// routerAt lets a router answer at an address until stop is called. What it is
// told goes to seen.
func routerAt(t *testing.T, address string, seen func(wire.Message)) (l *fakenode.Listener, stop func()) {
	t.Helper()
	nl, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	l, err = fakenode.On(nl)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	nodes := make(chan *fakenode.Node, 16)
	go func() {
		defer close(ended)
		n, err := l.Accept()
		if err != nil {
			return
		}
		nodes <- n
		for {
			g, err := n.Next()
			if err != nil || g.Close {
				_ = n.Close()
				return
			}
			for _, m := range g.Messages {
				seen(m)
			}
		}
	}()
	return l, func() {
		_ = l.Close()
		select {
		case n := <-nodes:
			_ = n.Close()
		default:
		}
		<-ended
	}
}

// A session of mode auto is a peer until a router answers, its client while that
// lives, and a peer again. It never listens where a router would. What was
// declared is declared to whoever there is.
func TestAuto(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	c := config.Auto("tcp/" + address)
	c.Scout.Multicast = false
	c.Scout.Delay = time.Hour // for whom others are looked for
	c.Listen = []string{"tcp/127.0.0.1:0"}
	c.Connect.RetryInit, c.Connect.RetryMax = 10*time.Millisecond, 20*time.Millisecond
	s := opened(t, c)
	if i := s.Info(); i.Mode != wire.Peer || len(i.Listening) != 1 || strings.HasSuffix(i.Listening[0], ":7447") || "tcp/"+address == i.Listening[0] {
		t.Fatalf("without a router: %+v", i)
	}
	other := opened(t, apart(at(s)))
	linked(t, 1, s, other)
	sub, err := s.Subscribe("demo/*", nil)
	if err != nil {
		t.Fatal(err)
	}
	settled(t, s, other)
	if err := other.Put(bounded(t), "demo/x", []byte("from a peer"), nil); err != nil {
		t.Fatal(err)
	}
	if v, err := sub.Receive(bounded(t)); err != nil || string(v.Payload) != "from a peer" {
		t.Errorf("%+v, %v", v, err)
	}
	for range 2 {
		declared := make(chan wire.Declare, 100)
		_, stop := routerAt(t, address, func(m wire.Message) {
			if m.ID == wire.IDDeclare {
				declared <- m.Declare
			}
		})
		for d := range declared {
			if d.Body == wire.DeclSubscriber {
				break
			}
		}
		eventually(t, "it is a client", func() bool {
			i := s.Info()
			return i.Mode == wire.Client && len(i.Links) == 1 && i.Role == wire.Router && len(i.Listening) == 0
		})
		linked(t, 0, other)
		stop()
		eventually(t, "it is a peer again", func() bool { i := s.Info(); return i.Mode == wire.Peer && len(i.Listening) == 1 })
	}
	third := opened(t, apart(at(s)))
	linked(t, 1, s, third)
	settled(t, s, third)
	if err := third.Put(bounded(t), "demo/x", []byte("again"), nil); err != nil {
		t.Fatal(err)
	}
	if v, err := sub.Receive(bounded(t)); err != nil || string(v.Payload) != "again" {
		t.Errorf("%+v, %v", v, err)
	}
}

// A router that is there from the start.
func TestAutoClient(t *testing.T) {
	l, stop := routerAt(t, "127.0.0.1:0", func(wire.Message) {})
	s := opened(t, config.Auto(l.Endpoint()))
	if i := s.Info(); i.Mode != wire.Client || i.Role != wire.Router || len(i.Listening) != 0 {
		t.Errorf("with a router: %+v", i)
	}
	if err := s.Close(bounded(t)); err != nil {
		t.Error(err)
	}
	stop()
}
