// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"bufio"
	"context"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

// recorded is what a real node said to a session that had declared the same as
// [declareEverything] does: from its OPEN on.
type recorded struct {
	name    string
	firstSN uint64
	batches [][]byte
}

// recordings reads what the tests with real nodes recorded (CAMD_RECORD there).
func recordings(t testing.TB) (out []recorded) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.hex")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r := recorded{name: name}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			b, err := hex.DecodeString(lines.Text())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			r.batches = append(r.batches, b)
		}
		var open wire.Open
		if err := open.Decode(wire.NewReader(r.batches[0])); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r.firstSN, r.batches = open.InitialSN, r.batches[1:]
		out = append(out, r)
	}
	return out
}

// declareEverything is what a session of the tests has; received is called with
// each sample.
func declareEverything(t testing.TB, s *Session, received func()) {
	t.Helper()
	_, errPub := s.Publisher("a/b/c", nil)
	all := SubscriberOptions{Handler: Handler[Sample]{Callback: func(v Sample) { received(); v.Release() }}}
	_, errSub := s.Subscribe("**", &all)
	_, errQuery := s.Queryable("a/**", &QueryableOptions{Handler: Handler[*Query]{Callback: func(q *Query) {
		_ = q.Reply(context.Background(), "a/1", q.Payload, nil)
	}}})
	_, errLive := s.SubscribeLiveliness("**", &LivelinessOptions{Handler: Handler[Sample]{Callback: func(Sample) {}}})
	for _, err := range []error{errSub, errQuery, errLive, errPub} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What real nodes said, and more that they may say, goes with bytes changed,
// cut and doubled into a live session that has everything declared: nothing panics or hangs, each session connects
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
	real := recordings(t)
	accepted := make(chan *fakenode.Node)
	go func() {
		defer close(accepted)
		for i := 0; ; i++ {
			if k := i % (len(real) + 1); k < len(real) {
				l.Open.InitialSN = real[k].firstSN
			}
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
	declareEverything(t, s, func() { samples++ })
	const rounds = 400
	var before, after runtime.MemStats
	for i := range rounds {
		if i == rounds/4 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
		batches := traffic(node)
		if k := i % (len(real) + 1); k < len(real) {
			batches = slices.Clone(real[k].batches)
		}
		for range r.IntN(4) {
			at := r.IntN(len(batches))
			b := slices.Clone(batches[at])
			batches[at] = b
			if len(b) == 0 {
				continue
			}
			switch r.IntN(4) {
			case 0:
				b[r.IntN(min(len(b), 64))] ^= byte(1 << r.IntN(8))
			case 1:
				b[r.IntN(len(b))] = byte(r.Uint32())
			case 2:
				batches[r.IntN(len(batches))] = b[:r.IntN(len(b)+1)]
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
	if samples < 10*rounds {
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
