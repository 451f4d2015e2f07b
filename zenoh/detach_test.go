// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/transport"
)

// reader is a peer that takes one sample of a/b when it is told to.
func reader(t *testing.T, p *Session) (*Session, *Subscriber) {
	t.Helper()
	s := opened(t, apart(at(p)))
	sub, err := s.Subscribe("a/b", &SubscriberOptions{Handler: Handler[Sample]{FIFO: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return s, sub
}

// What stands still in the middle of a sample goes on out of a copy as if
// nothing had been: each sample arrives whole, and the payload is the caller's
// again at once, who writes over it.
func TestDetach(t *testing.T) {
	const size = 8 << 20
	from := opened(t, apart())
	p, err := from.Publisher("a/b", nil)
	if err != nil {
		t.Fatal(err)
	}
	var subs []*Subscriber
	for range 3 {
		_, sub := reader(t, from)
		subs = append(subs, sub)
	}
	eventually(t, "all are known", func() bool { return len(p.to().faces) == 3 })
	var back atomic.Int32
	put := func(i int) []byte {
		payload := bytes.Repeat([]byte{byte(i)}, size)
		if err := p.Put(context.Background(), payload, &PutOptions{Done: func(bool) { back.Add(1) }}); err != nil {
			t.Fatal(err)
		}
		return payload
	}
	const n = 8
	var payloads [][]byte
	for i := range n {
		payloads = append(payloads, put(i))
	}
	copies := 0
	for _, payload := range payloads {
		if p.Detach(payload) > 0 {
			copies++
		}
		clear(payload) // nobody reads it any more
	}
	if back.Load() != n || copies == 0 || from.copied.Load() > n*size {
		t.Errorf("%d of %d payloads are back after %d copies, of %d bytes", back.Load(), n, copies, from.copied.Load())
	}
	for i, sub := range subs {
		last := -1
		for last < n-1 {
			s, err := sub.Receive(bounded(t))
			if err != nil {
				t.Fatalf("subscriber %d after %d: %v", i, last, err)
			}
			at := int(s.Payload[0])
			if len(s.Payload) != size || !bytes.Equal(s.Payload, bytes.Repeat([]byte{byte(at)}, size)) || at <= last {
				t.Fatalf("subscriber %d: %d bytes of sample %d after %d are torn or out of order", i, len(s.Payload), at, last)
			}
			last = at
			s.Release()
		}
	}
	eventually(t, "the copies are gone", func() bool { return from.copied.Load() == 0 })
	if got := p.Detach(payloads[0]); got != 0 {
		t.Errorf("%d bytes copied for nobody", got)
	}
}

// Where copies are at their limit, a connection that stands still ends, and
// comes back; the others go on.
func TestCopiesAreBounded(t *testing.T) {
	const size = 8 << 20
	c := apart()
	c.Transport.QueueBytes = size + size/2
	from := opened(t, c)
	p, err := from.Publisher("a/b", nil)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 3 {
		reader(t, from)
		eventually(t, fmt.Sprint(k, " is known"), func() bool { return len(p.to().faces) == k+1 })
	}
	faces := from.open()
	var under [][]byte
	for i := range 12 {
		payload := bytes.Repeat([]byte{byte(i)}, size)
		under = append(under, payload)
		if err := p.Put(context.Background(), payload, &PutOptions{Done: func(bool) {}}); err != nil {
			t.Fatal(err)
		}
	}
	held := func(payload []byte) bool {
		for _, f := range faces {
			if f.t.Holds("a/b", payload) {
				return true
			}
		}
		return false
	}
	for _, payload := range under {
		p.Detach(payload)
	}
	if n := from.copied.Load(); n > int64(c.Transport.QueueBytes) {
		t.Errorf("copies have %d bytes", n)
	}
	for i, payload := range under {
		eventually(t, fmt.Sprint("payload ", i, " is back"), func() bool { return !held(payload) })
	}
	for _, f := range faces {
		if err := f.t.Err(); err != nil && !errors.Is(err, transport.ErrBehind) {
			t.Errorf("a connection ended with %v", err)
		}
	}
}
