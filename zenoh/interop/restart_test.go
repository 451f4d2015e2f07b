// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
)

// quick connects again without long pauses.
func quick(endpoint string) *config.Config {
	c := config.Client(endpoint)
	c.Connect.RetryInit, c.Connect.RetryMax = 20*time.Millisecond, 100*time.Millisecond
	return c
}

// The node is killed and started again: everything that was declared works as
// before, without a word from the program.
func TestNodeRestarted(t *testing.T) {
	for _, mode := range []string{"router", "peer"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			v := versions[0]
			e := fmt.Sprintf("tcp/127.0.0.1:%d", port(t))
			n := start(t, v, listening(mode, e))
			s := open(t, quick(e))
			sub, err := s.Subscribe("demo/**", nil)
			if err != nil {
				t.Fatal(err)
			}
			changes := make(chan bool, 10)
			pub, err := s.Publisher("from/us", &zenoh.PublisherOptions{OnMatching: func(m bool) { changes <- m }})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Queryable("ask/us", &zenoh.QueryableOptions{Handler: zenoh.Handler[*zenoh.Query]{Callback: func(q *zenoh.Query) {
				if err := q.Reply(context.Background(), "ask/us", []byte("here"), nil); err != nil {
					t.Error(err)
				}
			}}}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Token("alive/us"); err != nil {
				t.Fatal(err)
			}
			live, err := s.SubscribeLiveliness("alive/node", nil)
			if err != nil {
				t.Fatal(err)
			}
			round(t, s)
			for round := range 2 {
				n.do(command{"op": "token", "name": "t", "key": "alive/node"}, "declared")
				if got, err := live.Receive(ctx(t)); err != nil || got.Kind != zenoh.Put {
					t.Fatalf("round %d: token %+v, %v", round, got, err)
				}
				n.do(command{"op": "sub", "name": "s", "key": "from/*"}, "declared")
				if !<-changes {
					t.Fatalf("round %d: not matching", round)
				}
				if err := pub.Put(ctx(t), []byte("pub"), nil); err != nil {
					t.Fatal(err)
				}
				if e := n.want("sample"); e.Key != "from/us" || e.Text != "pub" {
					t.Errorf("round %d: the node received %+v", round, e)
				}
				n.do(command{"op": "put", "key": "demo/x", "text": "node"}, "put")
				if got, err := sub.Receive(ctx(t)); err != nil || string(got.Payload) != "node" {
					t.Fatalf("round %d: received %+v, %v", round, got, err)
				}
				n.tell(command{"op": "get", "key": "ask/*"})
				if e := n.want("reply"); e.Text != "here" {
					t.Errorf("round %d: reply %+v", round, e)
				}
				n.want("done")
				n.tell(command{"op": "liveget", "key": "alive/us"})
				if e := n.want("reply"); e.Key != "alive/us" {
					t.Errorf("round %d: alive %+v", round, e)
				}
				n.want("done")
				if round == 1 {
					break
				}
				n.kill()
				if <-changes {
					t.Error("matching while the node is dead")
				}
				if got, err := live.Receive(ctx(t)); err != nil || got.Kind != zenoh.Delete {
					t.Fatalf("token of the dead node: %+v, %v", got, err)
				}
				if err := pub.Put(ctx(t), []byte("to nobody"), nil); err == nil || !strings.Contains(err.Error(), "not connected") {
					t.Errorf("put while the node is dead: %v", err)
				}
				n = start(t, v, listening(mode, e))
				if err := s.WaitConnected(ctx(t)); err != nil {
					t.Fatal(err)
				}
				_, _ = s.Liveliness(ctx(t), "round/trip")
			}
			if i := s.Info(); i.Losses != 1 || i.LastErr == nil || i.Unsent != 1 {
				t.Errorf("%d losses, %v, %d unsent", i.Losses, i.LastErr, i.Unsent)
			}
		})
	}
}

// Two sessions of ours exchange everything through a real router.
func TestTwoThroughRouter(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			_, e := router(t, v)
			a, b := client(t, e), client(t, e)
			sub, err := b.Subscribe("both/**", &zenoh.SubscriberOptions{Handler: zenoh.Handler[zenoh.Sample]{FIFO: 2000}})
			if err != nil {
				t.Fatal(err)
			}
			round(t, b)
			p, err := a.Publisher("both/a", &zenoh.PublisherOptions{QoS: zenoh.QoS{Congestion: zenoh.CongestionBlock}})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 1000 {
				if err := p.Put(ctx(t), fmt.Appendf(nil, "%d", i), &zenoh.PutOptions{Timestamp: a.Timestamp()}); err != nil {
					t.Fatal(err)
				}
			}
			var last zenoh.Timestamp
			for i := range 1000 {
				got, err := sub.Receive(ctx(t))
				if err != nil || string(got.Payload) != fmt.Sprint(i) || !last.Before(got.Timestamp) {
					t.Fatalf("sample %d: %q at %v after %v, %v", i, got.Payload, got.Timestamp, last, err)
				}
				last = got.Timestamp
			}
			live, err := a.SubscribeLiveliness("both/**", &zenoh.LivelinessOptions{History: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Token("both/b"); err != nil {
				t.Fatal(err)
			}
			if got, err := live.Receive(ctx(t)); err != nil || got.Key != "both/b" {
				t.Errorf("token %+v, %v", got, err)
			}
			if err := b.Close(ctx(t)); err != nil {
				t.Error(err)
			}
			if got, err := live.Receive(ctx(t)); err != nil || got.Kind != zenoh.Delete {
				t.Errorf("token after its session closed: %+v, %v", got, err)
			}
		})
	}
}

// 40 MB both ways, and what is put is at the node when the session is closed.
func TestLarge(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			n, e := router(t, v)
			s := client(t, e)
			n.do(command{"op": "sub", "name": "s", "key": "large/*"}, "declared")
			sub, err := s.Subscribe("back/*", nil)
			if err != nil {
				t.Fatal(err)
			}
			round(t, s)
			b := noise(40_000_000)
			released := make(chan struct{})
			err = s.Put(ctx(t), "large/a", b, &zenoh.PutOptions{
				QoS: zenoh.QoS{Congestion: zenoh.CongestionBlock}, Release: func() { close(released) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if e := n.want("sample"); e.SHA256 != sum(b) {
				t.Errorf("%d bytes arrived, not the same", e.Len)
			}
			<-released
			put := n.do(command{"op": "put", "key": "back/a", "size": 40_000_000, "congestion": "BLOCK"}, "put")
			got, err := sub.Receive(ctx(t))
			if err != nil || sum(got.Payload) != put.SHA256 {
				t.Errorf("%d bytes received, not the same, %v", len(got.Payload), err)
			}
			got.Release()
			if err := s.Put(ctx(t), "large/last", b[:5_000_000], nil); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(ctx(t)); err != nil {
				t.Fatal(err)
			}
			if e := n.want("sample"); e.Key != "large/last" || e.SHA256 != sum(b[:5_000_000]) {
				t.Errorf("what was put before closing: %+v", e)
			}
		})
	}
}

// A node that is stopped, not killed, says nothing while its kernel still
// answers: the session gives it up after the lease and comes back.
func TestNodeStopped(t *testing.T) {
	t.Parallel()
	n, e := router(t, versions[0], "transport: {link: {tx: {lease: 1000, keep_alive: 4}}}")
	s := open(t, quick(e))
	sub, err := s.Subscribe("demo/*", nil)
	if err != nil {
		t.Fatal(err)
	}
	round(t, s)
	if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for s.Info().Connected {
		runtime.Gosched()
	}
	if err := s.Info().LastErr; !errors.Is(err, transport.ErrExpired) {
		t.Errorf("the connection ended with %v, want ErrExpired", err)
	}
	if err := n.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitConnected(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Liveliness(ctx(t), "round/trip"); err != nil {
		t.Fatal(err)
	}
	n.do(command{"op": "put", "key": "demo/x", "text": "back"}, "put")
	if got, err := sub.Receive(ctx(t)); err != nil || string(got.Payload) != "back" {
		t.Errorf("received %q, %v", got.Payload, err)
	}
}
