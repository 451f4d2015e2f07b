// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/proctest"
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
	for _, v := range versions {
		for _, mode := range []string{"router", "peer"} {
			t.Run(v+"/"+mode, func(t *testing.T) {
				t.Parallel()
				restarted(t, v, mode)
			})
		}
	}
}

func restarted(t *testing.T, v, mode string) {
	e := fmt.Sprintf("tcp/127.0.0.1:%d", proctest.Port(t))
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
	each(t, func(t *testing.T, n *node, e string) {
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

// until waits until something is so.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for limit := ctx(t); !so(); <-look.C {
		if limit.Err() != nil {
			t.Fatalf("not so in time: %s", what)
		}
	}
}

// stop stops a node, which is not killed: its kernel still answers.
func (n *node) stop() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		n.t.Fatal(err)
	}
}

// A node that is stopped says nothing: the session gives it up after the lease
// and comes back.
func TestNodeStopped(t *testing.T) {
	each(t, func(t *testing.T, n *node, e string) {
		s := open(t, quick(e))
		n.stop()
		until(t, "given up", func() bool { return !s.Info().Connected })
		if err := s.Info().LastErr; !errors.Is(err, transport.ErrExpired) {
			t.Errorf("the connection ended with %v, want ErrExpired", err)
		}
		goesOn(t, n, s)
	}, "transport: {link: {tx: {lease: 1500, keep_alive: 4}}}")
}

// A node that is stopped takes no bytes: its socket's buffer fills, and with it
// our queue. Who must not wait does not, who waits is told in time, and the node
// is given up after our lease, although it promised to say something only every
// minute.
func TestNodeTakesNothing(t *testing.T) {
	each(t, func(t *testing.T, n *node, e string) {
		c := quick(e)
		c.Transport.Lease, c.Transport.WaitBeforeClose = 1500*time.Millisecond, 300*time.Millisecond
		s := open(t, c)
		n.do(command{"op": "sink", "name": "s", "key": "full/**", "reply": "full/q"}, "declared")
		round(t, s)
		n.stop()
		b := noise(1 << 20)
		released := 0
		var mu sync.Mutex
		put := func(congestion zenoh.CongestionControl) error {
			return s.Put(ctx(t), "full/a", b, &zenoh.PutOptions{QoS: zenoh.QoS{Congestion: congestion}, Release: func() {
				mu.Lock()
				defer mu.Unlock()
				released++
			}})
		}
		const drops = 50
		for range drops {
			if err := put(zenoh.CongestionDrop); err != nil && !errors.Is(err, zenoh.ErrNotConnected) {
				t.Errorf("put without waiting: %v", err)
			}
		}
		puts := 0
		var err error
		for err == nil {
			puts++
			err = put(zenoh.CongestionBlock)
		}
		if !errors.Is(err, zenoh.ErrBlocked) && !errors.Is(err, zenoh.ErrNotConnected) {
			t.Errorf("put into what is full: %v", err)
		}
		until(t, "given up", func() bool { return !s.Info().Connected })
		if err := s.Info().LastErr; !errors.Is(err, transport.ErrUnresponsive) {
			t.Errorf("the connection ended with %v, want ErrUnresponsive", err)
		}
		mu.Lock()
		if released != drops+puts {
			t.Errorf("%d payloads were given back of %d", released, drops+puts)
		}
		mu.Unlock()
		goesOn(t, n, s)
	}, "transport: {link: {tx: {lease: 60000, keep_alive: 2}}}")
}

// goesOn lets a node that is stopped go on: everything works again.
func goesOn(t *testing.T, n *node, s *zenoh.Session) {
	t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	sub, err := s.Subscribe("demo/*", nil)
	if err != nil {
		t.Fatal(err)
	}
	comesBack(t, n, s, sub)
}

// comesBack waits until what the node puts reaches a subscriber of demo/* again.
// What waited at the node may end before it is of use, and the node may close the
// connection that came back together with the one that it lost.
func comesBack(t *testing.T, n *node, s *zenoh.Session, sub *zenoh.Subscriber) {
	t.Helper()
	until(t, "connected again", func() bool {
		if _, err := s.Liveliness(ctx(t), "round/trip"); err != nil {
			return false
		}
		n.do(command{"op": "put", "key": "demo/x", "text": "back"}, "put")
		soon, cancel := context.WithTimeout(ctx(t), time.Second)
		defer cancel()
		got, err := sub.Receive(soon)
		if err == nil && string(got.Payload) != "back" {
			t.Errorf("received %q", got.Payload)
		}
		return err == nil
	})
}
