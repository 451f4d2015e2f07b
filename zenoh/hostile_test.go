// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

func sender(key string) wire.WireExpr { return wire.WireExpr{Suffix: []byte(key), Sender: true} }

// traffic is what a router says to a session that uses everything.
func traffic(n *fakenode.Node) [][]byte {
	big := make([]byte, 3000)
	whole := (&wire.Push{Key: sender("a/large"), QoS: wire.QoSDefault, Data: wire.Data{Payload: big}}).Append(nil)
	return [][]byte{
		{wire.IDKeepAlive},
		n.Frame(5, &wire.Declare{Body: wire.DeclKeyExpr, ID: 1, Key: sender("a/b")}, &wire.Push{Key: wire.WireExpr{Scope: 1, Sender: true}, QoS: 5}),
		n.Frame(0,
			&wire.Declare{HasInterest: true, Interest: 3, Body: wire.DeclSubscriber, ID: 9, Key: wire.WireExpr{Scope: 1, Suffix: []byte("/c"), Sender: true}},
			&wire.Declare{HasInterest: true, Interest: 3, Body: wire.DeclFinal},
			&wire.Declare{Body: wire.DeclToken, ID: 4, Key: sender("live/x")},
			&wire.Declare{Body: wire.UndeclToken, ID: 4, HasKey: true, Key: sender("live/x")},
			&wire.Declare{Body: wire.UndeclSubscriber, ID: 9}, &wire.Declare{Body: wire.UndeclKeyExpr, ID: 1},
		),
		n.Frame(5, &wire.Push{Key: sender("a/x"), QoS: 0x1D, Data: wire.Data{
			Timestamp: wire.Timestamp{NTP64: 1 << 62, ID: wire.ZID{3}}, Encoding: wire.Encoding{ID: 4, Schema: "utf-8"},
			Source: wire.SourceInfo{ZID: wire.ZID{5}, EID: 1, SN: 2}, Attachment: []byte("att"), Payload: []byte("hello"),
		}}),
		n.Frame(5, &wire.Request{ID: 5, Key: sender("a/**"), QoS: 0x0D, Target: 1, TimeoutMillis: 1000, Query: wire.Query{
			Parameters: []byte("a=1;_anyke"), HasBody: true, Payload: []byte("body"), Attachment: []byte("x"),
		}}),
		n.Frame(5, &wire.Response{ID: 2, Key: sender("a/r"), QoS: 0x0D, Data: wire.Data{Payload: []byte("reply")}}, &wire.ResponseFinal{ID: 2}),
		n.Frame(5, &wire.Interest{ID: 7, Mode: wire.ModeCurrentFuture, Options: 0x0F, Restricted: true, Key: sender("**")}),
		n.Fragment(true, true, whole[:1000]), n.Fragment(false, true, whole[1000:2000]), n.Fragment(false, false, whole[2000:]),
	}
}

// Real traffic with bytes changed, cut and doubled goes into live sessions that
// have everything declared: nothing panics or hangs, each session connects
// again when its connection dies of it, and memory stays where it was.
func TestMutatedTraffic(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	l, err := fakenode.Listen()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Client(l.Endpoint())
	c.Connect.RetryInit, c.Connect.RetryMax = time.Millisecond, time.Millisecond
	c.Transport.MaxMessage = 1 << 20
	accepted := make(chan *fakenode.Node)
	go func() {
		defer close(accepted)
		for {
			n, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- n
		}
	}()
	type opened struct {
		s   *Session
		err error
	}
	open := make(chan opened, 1)
	go func() {
		s, err := Open(bounded(t), c, silent())
		open <- opened{s, err}
	}()
	node := <-accepted
	o := <-open
	if o.err != nil {
		t.Fatal(o.err)
	}
	s := o.s
	samples := 0
	all := SubscriberOptions{Handler: Handler[Sample]{Callback: func(v Sample) { samples++; v.Release() }}}
	_, errSub := s.Subscribe("**", &all)
	_, errQuery := s.Queryable("a/**", &QueryableOptions{Handler: Handler[*Query]{Callback: func(q *Query) {
		_ = q.Reply(context.Background(), "a/1", q.Payload, nil)
	}}})
	_, errLive := s.SubscribeLiveliness("**", &LivelinessOptions{Handler: Handler[Sample]{Callback: func(Sample) {}}})
	_, errPub := s.Publisher("a/b/c", nil)
	for _, err := range []error{errSub, errQuery, errLive, errPub} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const rounds = 400
	var before, after runtime.MemStats
	for i := range rounds {
		if i == rounds/4 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
		batches := traffic(node)
		for range r.IntN(4) {
			b := batches[r.IntN(len(batches))]
			switch r.IntN(4) {
			case 0:
				b[r.IntN(len(b))] ^= byte(1 << r.IntN(8))
			case 1:
				b[r.IntN(len(b))] = byte(r.Uint32())
			case 2:
				j := r.IntN(len(batches))
				batches[j] = b[:r.IntN(len(b)+1)]
			case 3:
				batches = append(batches, b)
			}
		}
		go func(n *fakenode.Node) { // takes what the session says
			for {
				if _, err := n.Next(); err != nil {
					_ = n.Close()
					return
				}
			}
		}(node)
		for _, b := range batches {
			if node.Send(b) != nil {
				break
			}
		}
		_ = node.Send((&wire.Close{}).Append(nil))
		node = <-accepted
	}
	go func() {
		for {
			if _, err := node.Next(); err != nil {
				_ = node.Close()
				return
			}
		}
	}()
	if err := s.WaitConnected(bounded(t)); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if samples < rounds {
		t.Errorf("only %d samples in %d rounds: the test tests little", samples, rounds)
	}
	if n := s.Info().Losses; n != rounds {
		t.Errorf("%d connections were lost, want %d", n, rounds)
	}
	if err := s.Close(bounded(t)); err != nil {
		t.Error(err)
	}
	_ = l.Close()
	for range accepted { // the listener's goroutine has ended
	}
}
