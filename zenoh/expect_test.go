// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"bytes"
	"context"
	"testing"
	"time"
)

// A session takes what it has asked for: whoever only answers small questions
// never has a large one together, and the connection goes on.
func TestExpectedSize(t *testing.T) {
	const large = 20 << 20
	s := opened(t, apart())
	q, err := s.Queryable("q", &QueryableOptions{MaxQuery: 4096})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Publisher("p", &PublisherOptions{Cache: 1})
	if err != nil {
		t.Fatal(err)
	}
	incomplete := func() (n uint64) {
		for _, f := range s.open() {
			n += f.t.Stats().Incomplete
		}
		return n
	}
	const others = 4
	payload := bytes.Repeat([]byte{1}, large)
	var asking []*Session
	for range others {
		asking = append(asking, opened(t, apart(at(s))))
	}
	linked(t, others, append(asking, s)...) // they find each other
	settled(t, append(asking, s)...)
	most := 0
	for _, o := range asking {
		if _, err := o.Get(bounded(t), "q", &GetOptions{Payload: payload, Timeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are dropped", func() bool {
		most = max(most, s.budget.Used())
		return incomplete() == others
	})
	if most > others*minExpected || s.budget.Used() != 0 {
		t.Errorf("%d bytes were kept of questions, and %d still are", most, s.budget.Used())
	}
	// What may be, comes.
	if _, err := asking[0].Get(bounded(t), "q", &GetOptions{Payload: payload[:4096]}); err != nil {
		t.Fatal(err)
	}
	got, err := q.Receive(bounded(t))
	if err != nil || len(got.Payload) != 4096 {
		t.Fatalf("%v, want the small question", err)
	}
	_ = got.Close()
	if err := p.Put(context.Background(), payload[:100], nil); err != nil {
		t.Error(err)
	}
	// Who subscribes takes what is large, until it no longer does.
	sub, err := s.Subscribe("p/large", nil)
	if err != nil {
		t.Fatal(err)
	}
	settled(t, asking[0], s)
	if err := asking[0].Put(bounded(t), "p/large", payload, &PutOptions{QoS: QoS{Congestion: CongestionBlock}}); err != nil {
		t.Fatal(err)
	}
	smp, err := sub.Receive(bounded(t))
	if err != nil || len(smp.Payload) != large {
		t.Fatalf("%d bytes: %v", len(smp.Payload), err)
	}
	smp.Release()
	_ = sub.Close()
	if l := s.params.Budget; l.Used() != 0 || len(s.expected) != 2 {
		t.Errorf("%d bytes in use; expected %v", l.Used(), s.expected)
	}
}
