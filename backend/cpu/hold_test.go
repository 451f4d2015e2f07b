// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"sync/atomic"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ring"
)

// A frame comes while all the credit is out, which then comes back in the middle
// of the question for it: the frame is there, and would not be given again.
func TestReleaseWhileAsking(t *testing.T) {
	g := geometry(t, frame.Mono8, 8, 8, 0)
	var gen atomic.Uint64
	r, err := ring.New(ring.Config{Name: "x", Epoch: 1, Geometry: g, Slots: 8, MaxReaders: 1, Generation: &gen})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Retire()
	wake := make(chan struct{}, 1)
	e, err := newEpoch(r, nil, true, wake)
	if err != nil {
		t.Fatal(err)
	}
	publish := func(n uint64) {
		slot, err := r.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		r.Publish(slot, &frame.Meta{Sequence: n, Bytes: g.Size()})
	}
	e.local.Want(true)
	publish(1)
	first := e.take()
	publish(2)
	if first == nil || e.take() != nil {
		t.Fatal("a credit of one is not held to")
	}
	<-wake
	publish(3)
	first.release()
	h := e.ask()
	if h == nil || h.lease.Meta.Sequence != 3 {
		t.Fatalf("%+v, want the newest frame", h)
	}
	if e.take() != nil || e.local.Held() != 1 {
		t.Error("it was taken twice")
	}
	h.release()
	if e.local.Held() != 0 || len(e.holds) != 1 {
		t.Errorf("%d leases, %d holds at home", e.local.Held(), len(e.holds))
	}
}
