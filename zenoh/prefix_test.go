// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// What a put has before its payload arrives with it as one value, elsewhere and
// in the session, in one piece and in many.
func TestPrefix(t *testing.T) {
	l, err := fakenode.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	values := make(chan []byte, 8)
	go func() {
		defer close(values)
		n, err := l.Accept()
		if err != nil {
			return
		}
		defer n.Close()
		for {
			g, err := n.Next()
			if err != nil || g.Close {
				return
			}
			for _, m := range g.Messages {
				if m.ID == wire.IDPush {
					values <- bytes.Clone(m.Push.Data.Payload)
				}
			}
		}
	}()
	s, err := Open(bounded(t), config.Client(l.Endpoint()), silent())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(bounded(t))
	sub, err := s.Subscribe("a/b", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Publisher("a/b", &PublisherOptions{Cache: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 100, 5 << 10, 200 << 10} {
		prefix, payload := []byte("before "), bytes.Repeat([]byte{7}, size)
		want := append(bytes.Clone(prefix), payload...)
		done := make(chan bool, 1)
		if err := p.Put(bounded(t), payload, &PutOptions{Prefix: prefix, Done: func(sent bool) { done <- sent }}); err != nil {
			t.Fatal(err)
		}
		if !<-done {
			t.Errorf("%d bytes: not sent", size)
		}
		if got := <-values; !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d came", len(want), len(got))
		}
		smp, err := sub.Receive(bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(smp.Payload, want) {
			t.Errorf("%d bytes: %d came within the session", len(want), len(smp.Payload))
		}
		if got := p.cache.vals[0].Payload; !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d are kept", len(want), len(got))
		}
	}
}

// Of samples that wait for a node that does not read, the sender learns which
// gave way.
func TestDoneOfConflated(t *testing.T) {
	l, err := fakenode.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if n, err := l.Accept(); err == nil {
			<-t.Context().Done()
			_ = n.Close()
		}
	}()
	s, err := Open(bounded(t), config.Client(l.Endpoint()), silent())
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Publisher("a/b", nil)
	if err != nil {
		t.Fatal(err)
	}
	var sent, lost atomic.Int64
	o := &PutOptions{Prefix: []byte("head"), Done: func(ok bool) {
		if ok {
			sent.Add(1)
		} else {
			lost.Add(1)
		}
	}}
	payload := make([]byte, 4<<20)
	const puts = 40
	for range puts {
		if err := p.Put(bounded(t), payload, o); err != nil {
			t.Fatal(err)
		}
	}
	if s.Info().Stats.Conflated != uint64(lost.Load()) || lost.Load() == 0 {
		t.Errorf("%d gave way, %d were reported", s.Info().Stats.Conflated, lost.Load())
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Close(gone)
	if got := sent.Load() + lost.Load(); got != puts {
		t.Errorf("%d of %d were given back", got, puts)
	}
}
