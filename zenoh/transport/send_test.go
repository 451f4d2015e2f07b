// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// numbered is a payload that says which it is, all over.
func numbered(i, size int) []byte {
	b := make([]byte, size)
	for o := 0; o+4 <= size; o += 4 {
		binary.LittleEndian.PutUint32(b[o:], uint32(i))
	}
	return b
}

func number(t testing.TB, b []byte) int {
	t.Helper()
	i := binary.LittleEndian.Uint32(b)
	if !bytes.Equal(b, numbered(int(i), len(b))) {
		t.Fatalf("sample %d is torn", i)
	}
	return int(i)
}

// A node that does not read gets, once it does, whole samples and the newest of
// each key; every other is counted, and every payload is given back once.
func TestNewestWins(t *testing.T) {
	x := connect(t, func(p *Params, _ *fakenode.Listener) { p.WaitBeforeDrop = 0 })
	const each, size = 60, 300_000
	var released atomic.Int64
	for i := range each {
		for _, key := range []string{"a", "b"} {
			if err := x.send(t, key, numbered(i, size), func(m *Message) { m.Release = func() { released.Add(1) } }); err != nil {
				t.Fatal(err)
			}
		}
	}
	flushed := make(chan error, 1)
	go func() { flushed <- x.t.Flush(ctx(t)) }()
	last := map[string]int{"a": -1, "b": -1}
	got := 0
	for last["a"] < each-1 || last["b"] < each-1 {
		for _, p := range x.pushes(t, 1) {
			key := string(p.Key.Suffix)
			n := number(t, p.Data.Payload)
			if n <= last[key] {
				t.Errorf("%s %d came after %d", key, n, last[key])
			}
			last[key] = n
			got++
		}
	}
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	s := x.t.Stats()
	if s.Conflated == 0 || got+int(s.Conflated) != 2*each || s.Dropped != 0 {
		t.Errorf("%d samples arrived, %d gave way, %d were dropped, of %d", got, s.Conflated, s.Dropped, 2*each)
	}
	if n := released.Load(); n != 2*each {
		t.Errorf("%d payloads given back, want %d", n, 2*each)
	}
}

// A burst on a link that takes it arrives whole.
func TestBurstIsNotConflated(t *testing.T) {
	x := connect(t, nil)
	go func() {
		for i := range 1000 {
			if err := x.send(t, "a", numbered(i, 40), nil); err != nil {
				t.Error(err)
			}
		}
	}()
	for i, p := range x.pushes(t, 1000) {
		if n := number(t, p.Data.Payload); n != i {
			t.Fatalf("sample %d instead of %d", n, i)
		}
	}
}

// An urgent small message passes a large one that is on its way.
func TestUrgentPasses(t *testing.T) {
	x := connect(t, nil)
	const size = 6 << 20
	if err := x.send(t, "large", numbered(1, size), nil); err != nil {
		t.Fatal(err)
	}
	for x.t.conn.CongestedFor() == 0 { // the large one is under way
		runtime.Gosched()
	}
	if err := x.send(t, "urgent", numbered(2, 8), func(m *Message) { m.Priority = 1 }); err != nil {
		t.Fatal(err)
	}
	first := x.pushes(t, 1)[0]
	if string(first.Key.Suffix) != "urgent" {
		t.Fatalf("%s came first", first.Key.Suffix)
	}
	if p := x.pushes(t, 1)[0]; number(t, p.Data.Payload) != 1 || len(p.Data.Payload) != size {
		t.Error("the large one did not arrive whole")
	}
}

func TestBlockIsBounded(t *testing.T) {
	x := connect(t, func(p *Params, _ *fakenode.Listener) { p.WaitBeforeClose = 200 * time.Millisecond })
	block := func(m *Message) { m.Congestion = Block }
	var err error
	sent := 0
	for ; err == nil && sent < 100; sent++ {
		err = x.send(t, "a", numbered(sent, 300_000), block)
	}
	if !errors.Is(err, ErrBlocked) {
		t.Fatalf("after %d samples: %v, want ErrBlocked", sent, err)
	}
	if err := <-x.ran; !errors.Is(err, ErrUnresponsive) {
		t.Errorf("the connection ended with %v, want ErrUnresponsive", err)
	}
	if err := x.send(t, "a", nil, block); !errors.Is(err, ErrUnresponsive) {
		t.Errorf("after the end: %v", err)
	}
}

func TestBlockEndsWithContext(t *testing.T) {
	x := connect(t, nil)
	c, cancel := context.WithCancel(ctx(t))
	ended := make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil; i++ {
			m := x.t.Get()
			m.Priority, m.Congestion = 5, Block
			m.Payload = numbered(i, 300_000)
			m.Head = (&wire.Push{Data: wire.Data{Payload: m.Payload}}).AppendHead(m.Head[:0])
			err = x.t.Send(c, m)
		}
		ended <- err
	}()
	for x.t.conn.CongestedFor() == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the cancellation", err)
	}
}

// Declarations are not lost to a queue that is full of samples, or small.
func TestDeclarationsAreKept(t *testing.T) {
	x := connect(t, func(p *Params, _ *fakenode.Listener) { p.QueueBytes = 1 << 16 })
	const samples, declarations = 20, 5000
	for i := range samples {
		if err := x.send(t, fmt.Sprint(i), numbered(i, 300_000), nil); err != nil && !errors.Is(err, ErrDropped) {
			t.Fatal(err)
		}
	}
	for i := range declarations {
		err := x.send(t, "declared", numbered(i, 100), func(m *Message) { m.Key, m.Priority = "", 0 })
		if err != nil {
			t.Fatalf("declaration %d: %v", i, err)
		}
	}
	for next := 0; next < declarations; {
		for _, p := range x.pushes(t, 1) {
			if string(p.Key.Suffix) != "declared" {
				continue
			}
			if n := number(t, p.Data.Payload); n != next {
				t.Fatalf("declaration %d instead of %d", n, next)
			}
			next++
		}
	}
	if s := x.t.Stats(); s.Dropped == 0 {
		t.Error("no sample was dropped: the test tests nothing")
	}
}

// Every size around the limits of batch and fragment arrives.
func TestSizes(t *testing.T) {
	for _, batch := range []int{64, 256, 2048, 65535} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			x := connect(t, func(p *Params, _ *fakenode.Listener) {
				p.BatchSize = batch
				p.QueueBytes = 1 << 30
			})
			var sizes []int
			for d := -70; d < 70; d++ {
				sizes = append(sizes, batch+d, 2*batch+d)
			}
			sizes = append(sizes, 0, 1, 5, 10*batch)
			go func() {
				for _, n := range sizes {
					if n < 0 {
						n = 0
					}
					if err := x.send(t, "k", numbered(n, n), func(m *Message) { m.Congestion = Block }); err != nil {
						t.Error(err)
					}
				}
			}()
			for i, p := range x.pushes(t, len(sizes)) {
				if want := max(sizes[i], 0); len(p.Data.Payload) != want || !bytes.Equal(p.Data.Payload, numbered(want, want)) {
					t.Fatalf("size %d arrived as %d", want, len(p.Data.Payload))
				}
			}
		})
	}
}

// Numbers go round: in 8 bits after 128 frames.
func TestNumbersWrap(t *testing.T) {
	x := connect(t, func(p *Params, _ *fakenode.Listener) {
		p.Resolution, p.Batching = 2<<2, false
	})
	go func() {
		for i := range 1000 {
			if err := x.send(t, "k", numbered(i, 8), func(m *Message) { m.Congestion = Block }); err != nil {
				t.Error(err)
			}
		}
	}()
	var frames uint64
	for frames < 1000 {
		g, err := x.node.Next()
		if err != nil {
			t.Fatal(err)
		}
		if want := (x.node.Open.InitialSN + frames) & 0x7F; g.Frame.SN != want {
			t.Fatalf("frame %d has number %d, want %d", frames, g.Frame.SN, want)
		}
		frames++
	}
	for i := range 1000 {
		if err := x.node.Tell(&wire.Push{Key: wire.WireExpr{Suffix: []byte("n")}, Data: wire.Data{Payload: numbered(i, 8)}}); err != nil {
			t.Fatal(err)
		}
		if p := <-x.in.got; number(t, p.Data.Payload) != i {
			t.Fatalf("sample %d came as %d", i, number(t, p.Data.Payload))
		}
	}
}

// Nothing is allocated for a sample, small or large, once things are warm.
func TestNoAllocations(t *testing.T) {
	for _, size := range []int{8, 8 << 10, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			x := connect(t, nil)
			if err := x.node.Conn.(*net.TCPConn).SetReadBuffer(4 << 20); err != nil {
				t.Fatal(err)
			}
			go func() {
				buf := make([]byte, 1<<20)
				for {
					if _, err := x.node.Read(buf); err != nil {
						return
					}
				}
			}()
			payload := numbered(1, size)
			sent := make(chan struct{}, 1)
			release := func() { sent <- struct{}{} }
			bg := context.Background()
			key := []byte("k")
			n := testing.AllocsPerRun(500, func() {
				m := x.t.Get()
				m.Priority, m.Reliable, m.Key, m.Payload, m.Release = 5, true, "k", payload, release
				p := wire.Push{Key: wire.WireExpr{Suffix: key, Sender: true}, QoS: wire.QoSDefault, Data: wire.Data{Payload: payload}}
				m.Head = p.AppendHead(m.Head[:0])
				if err := x.t.Send(bg, m); err != nil {
					t.Error(err)
				}
				<-sent
			})
			if n > 0 {
				t.Errorf("%v allocations a sample", n)
			}
		})
	}
}
