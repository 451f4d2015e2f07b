// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

func push(key string, payload []byte) *wire.Push {
	return &wire.Push{Key: wire.WireExpr{Suffix: []byte(key), Sender: true}, QoS: wire.QoSDefault, Data: wire.Data{Payload: payload}}
}

func (x *pair) expect(t *testing.T, keys ...string) {
	t.Helper()
	for _, k := range keys {
		select {
		case p := <-x.in.got:
			if string(p.Key.Suffix) != k {
				t.Fatalf("%s arrived, want %s", p.Key.Suffix, k)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s did not arrive", k)
		}
	}
}

func TestSeveralMessagesInABatch(t *testing.T) {
	x := connect(t, nil)
	b := []byte{wire.IDKeepAlive}
	b = append(b, x.node.Frame(5, push("a", nil), push("b", nil))...)
	b = append(b, x.node.Frame(1, push("c", nil))...)
	b = append(b, wire.IDKeepAlive)
	b = append(b, x.node.Frame(5, push("d", nil))...)
	b = (&wire.Close{}).Append(b)
	for _, piece := range [][]byte{{byte(len(b)), byte(len(b) >> 8)}, b[:5], b[5:]} {
		if _, err := x.node.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	x.expect(t, "a", "b", "c", "d")
	if err := <-x.ran; !errors.Is(err, ErrClosed) {
		t.Errorf("the connection ended with %v", err)
	}
}

// Lost, dropped and repeated pieces lose their message and nothing else.
func TestFragments(t *testing.T) {
	x := connect(t, func(p *Params, _ *fakenode.Listener) { p.MaxMessage = 4000 })
	n := x.node
	tell := func(b []byte) {
		t.Helper()
		if err := n.Send(b); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(key string, size int) []byte { return push(key, bytes.Repeat([]byte{7}, size)).Append(nil) }
	cut := func(m []byte) {
		for first := true; len(m) > 0; first = false {
			k := min(100, len(m))
			tell(n.Fragment(first, k < len(m), m[:k]))
			m = m[k:]
		}
	}
	cut(whole("ok1", 1000))
	x.expect(t, "ok1")
	m := whole("gap", 250)
	tell(n.Fragment(true, true, m[:100]))
	n.SN[5][1]++ // a piece is missing
	tell(n.Fragment(false, true, m[200:210]))
	tell(n.Fragment(false, false, m[210:]))
	cut(whole("ok2", 500))
	x.expect(t, "ok2")
	tell(n.Fragment(true, true, m[:100]))
	drop := wire.Frame{Fragment: true, Reliable: true, SN: n.SN[5][1], Priority: 5, Drop: true}
	n.SN[5][1]++
	tell(drop.Append(nil))
	tell(n.Fragment(true, true, m[:100])) // given up without a word
	cut(whole("ok3", 300))
	x.expect(t, "ok3")
	cut(whole("large", 5000))
	tell(n.Fragment(false, false, m)) // the end of nothing
	n.SN[5][1]++                      // real nodes skip one after a message
	cut(whole("ok4", 3900))
	x.expect(t, "ok4")
	again := n.Frame(5, push("once", nil))
	tell(again)
	tell(again)
	if err := n.Tell(push("end", nil)); err != nil {
		t.Fatal(err)
	}
	x.expect(t, "once", "end")
	if s := x.t.Stats(); s.Incomplete != 4 || s.Stale != 1 {
		t.Errorf("%d incomplete, %d stale, want 4 and 1", s.Incomplete, s.Stale)
	}
}

func TestViolationsEndTheConnection(t *testing.T) {
	for name, b := range map[string][]byte{
		"unknown message":    {0x0F},
		"init again":         {0x01, 9, 0, 1},
		"bad network":        {0x25, 7, 0x1D},
		"network at the top": {0x1D, 0, 2},
		"priority":           {0xA5, 7, 0x31, 9},
		"number":             {0x25, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F},
		"mandatory":          {0xA5, 7, 0x1E},
	} {
		t.Run(name, func(t *testing.T) {
			x := connect(t, nil)
			if err := x.node.Send(b); err != nil {
				t.Fatal(err)
			}
			if err := <-x.ran; !errors.Is(err, ErrProtocol) {
				t.Errorf("the connection ended with %v, want ErrProtocol", err)
			}
		})
	}
	t.Run("batch larger than agreed", func(t *testing.T) {
		x := connect(t, func(p *Params, _ *fakenode.Listener) { p.BatchSize = 100 })
		if _, err := x.node.Write([]byte{99, 0}); err != nil {
			t.Fatal(err)
		}
		if err := <-x.ran; !errors.Is(err, ErrProtocol) {
			t.Errorf("the connection ended with %v, want ErrProtocol", err)
		}
	})
}

func TestSilentNode(t *testing.T) {
	x := connect(t, func(_ *Params, l *fakenode.Listener) { l.Open.LeaseMillis = 150 })
	if err := <-x.ran; !errors.Is(err, ErrExpired) {
		t.Errorf("the connection ended with %v, want ErrExpired", err)
	}
}

func TestKeepAlive(t *testing.T) {
	x := connect(t, func(p *Params, _ *fakenode.Listener) { p.Lease, p.KeepAlive = 200*time.Millisecond, 4 })
	for i := range 5 {
		g, err := x.node.Next()
		if err != nil || !g.KeepAlive {
			t.Fatalf("message %d: %+v, %v, want a keep-alive", i, g, err)
		}
	}
}

// A node that takes no bytes is given up after our lease.
func TestNodeThatTakesNothing(t *testing.T) {
	x := connect(t, func(p *Params, _ *fakenode.Listener) { p.Lease, p.KeepAlive = 300*time.Millisecond, 4 })
	if err := x.send(t, "a", numbered(1, 30<<20), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-x.ran; !errors.Is(err, ErrUnresponsive) {
		t.Errorf("the connection ended with %v, want ErrUnresponsive", err)
	}
}

func TestCloseSendsWhatWaits(t *testing.T) {
	x := connect(t, nil)
	for i := range 10 {
		if err := x.send(t, "k", numbered(i, 1<<20), func(m *Message) { m.Key = "" }); err != nil {
			t.Fatal(err)
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- x.t.Close(ctx(t)) }()
	if got := x.pushes(t, 10); number(t, got[9].Data.Payload) != 9 {
		t.Error("the last is not the last")
	}
	if g, err := x.node.Next(); err != nil || !g.Close {
		t.Errorf("%+v, %v, want a goodbye", g, err)
	}
	if _, err := x.node.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the goodbye: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := <-x.ran; err != nil {
		t.Error(err)
	}
}

func TestHandshakeRefusals(t *testing.T) {
	for name, change := range map[string]func(l *fakenode.Listener){
		"own id":            func(l *fakenode.Listener) { l.Init.ZID = wire.ZID{1, 2, 3} },
		"version":           func(l *fakenode.Listener) { l.Init.Version = 8 },
		"no acknowledgment": func(l *fakenode.Listener) { l.Init.Ack = false },
		"tiny batch":        func(l *fakenode.Listener) { l.Init.BatchSize = 10 },
		"first number":      func(l *fakenode.Listener) { l.Open.InitialSN = 1 << 40 },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := fakenode.Listen()
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			change(l)
			done := make(chan struct{})
			go func() {
				defer close(done)
				if n, err := l.Accept(); err == nil {
					_, _ = io.Copy(io.Discard, n)
					_ = n.Close()
				}
			}()
			if tr, err := dial(t, l.Addr()); err == nil {
				_ = tr.Close(ctx(t))
				t.Error("accepted")
			} else if !errors.Is(err, ErrProtocol) && !errors.Is(err, ErrRefused) {
				t.Errorf("%v", err)
			}
			<-done
		})
	}
	t.Run("says nothing", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := dial(t, l.Addr()); !errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrRefused) {
			t.Errorf("a node that says nothing: %v, want ErrNoAnswer", err)
		}
	})
}
