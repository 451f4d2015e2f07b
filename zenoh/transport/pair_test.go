// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return c
}

// inbox keeps what arrives.
type inbox struct {
	got chan wire.Push
}

func (h *inbox) HandleMessage(m *wire.Message, _ Arrival, _ *Buffer) {
	if m.ID == wire.IDPush {
		p := m.Push
		p.Data.Payload = append([]byte(nil), p.Data.Payload...)
		p.Key.Suffix = append([]byte(nil), p.Key.Suffix...)
		h.got <- p
	}
}

type pair struct {
	t    *Transport
	node *fakenode.Node
	in   *inbox
	ran  chan error // what Run returned
}

// connect opens a transport to a fake node; change may be nil.
func connect(t testing.TB, change func(*Params, *fakenode.Listener)) *pair {
	t.Helper()
	l, err := fakenode.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := Defaults()
	p.ZID = wire.ZID{1, 2, 3}
	if change != nil {
		change(&p, l)
	}
	accepted := make(chan *fakenode.Node, 1)
	go func() {
		n, err := l.Accept()
		if err != nil {
			t.Error(err)
		} else {
			// What the kernel takes for a node that does not read is small.
			_ = n.Conn.(*net.TCPConn).SetReadBuffer(16 << 10)
		}
		accepted <- n
	}()
	ep, err := link.ParseEndpoint(l.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	c, err := link.Dial(ctx(t), ep, &link.Options{NotSentBytes: 16 << 10, MaxBatch: p.BatchSize})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Open(ctx(t), c, p, new(Pool))
	if err != nil {
		t.Fatal(err)
	}
	x := &pair{t: tr, node: <-accepted, in: &inbox{got: make(chan wire.Push, 4096)}, ran: make(chan error, 1)}
	if x.node == nil {
		t.FailNow()
	}
	go func() { x.ran <- tr.Run(context.Background(), x.in) }()
	var once sync.Once
	t.Cleanup(func() {
		once.Do(func() {
			_ = x.node.Close()
			bounded, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = tr.Close(bounded)
		})
	})
	return x
}

// send queues a sample.
func (x *pair) send(t testing.TB, key string, payload []byte, change func(*Message)) error {
	m := x.t.Get()
	m.Priority, m.Reliable, m.Key = 5, true, key
	p := wire.Push{Key: wire.WireExpr{Suffix: []byte(key), Sender: true}, QoS: wire.QoSDefault, Data: wire.Data{Payload: payload}}
	m.Head, m.Payload = p.AppendHead(m.Head[:0]), payload
	if change != nil {
		change(m)
	}
	return x.t.Send(ctx(t), m)
}

// pushes reads until the node has seen n samples.
func (x *pair) pushes(t testing.TB, n int) (out []wire.Push) {
	t.Helper()
	for len(out) < n {
		g, err := x.node.Next()
		if err != nil {
			t.Fatalf("after %d samples: %v", len(out), err)
		}
		for _, m := range g.Messages {
			p := m.Push
			p.Data.Payload = append([]byte(nil), p.Data.Payload...)
			p.Key.Suffix = append([]byte(nil), p.Key.Suffix...)
			out = append(out, p)
		}
	}
	return out
}

// dial opens a transport within a short time.
func dial(t testing.TB, a net.Addr) (*Transport, error) {
	t.Helper()
	ep, err := link.ParseEndpoint("tcp/" + a.String())
	if err != nil {
		t.Fatal(err)
	}
	c, cancel := context.WithTimeout(ctx(t), 300*time.Millisecond)
	defer cancel()
	conn, err := link.Dial(c, ep, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := Defaults()
	p.ZID = wire.ZID{1, 2, 3}
	return Open(c, conn, p, new(Pool))
}
