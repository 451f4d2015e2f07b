// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/ring"
)

// hold keeps a frame in its slot for as long as somebody here or in the kernel
// reads it.
type hold struct {
	local *ring.Local
	lease ring.Lease
	users atomic.Int32
	home  chan *hold
}

// epoch is a ring, and what becomes of its frames.
type epoch struct {
	local *ring.Local
	plan  *plan
	tight bool       // the ring has no slots to spare: none is held while the network is slow
	holds chan *hold // that hold nothing
}

func newEpoch(r *ring.Ring, p *plan, tight bool, wake chan<- struct{}) (*epoch, error) {
	credit := Credit
	if tight {
		credit = 1
	}
	l, err := r.AddLocal(credit, wake)
	if err != nil {
		return nil, err
	}
	e := &epoch{local: l, plan: p, tight: tight, holds: make(chan *hold, credit)}
	for range credit {
		e.holds <- &hold{local: l, home: e.holds}
	}
	return e, nil
}

// take leases the newest frame; nil if there is no new one, or no credit. It
// belongs to one goroutine.
func (e *epoch) take() *hold {
	select {
	case h := <-e.holds:
		if e.local.Take(&h.lease) {
			h.users.Store(1)
			return h
		}
		e.holds <- h
		return nil
	default:
		return e.ask()
	}
}

// ask asks the ring although all the credit was out: having refused, it wakes
// us with the next release. One may have come just now, and then this is the
// frame: the ring does not give it a second time.
func (e *epoch) ask() *hold {
	var lease ring.Lease
	if !e.local.Take(&lease) {
		return nil
	}
	h := <-e.holds // which went home before its lease did
	h.lease = lease
	h.users.Store(1)
	return h
}

func (h *hold) retain() *hold {
	h.users.Add(1)
	return h
}

// release ends one use. The hold goes home before the lease does: whoever is
// woken by the ring finds it.
func (h *hold) release() {
	if h.users.Add(-1) > 0 {
		return
	}
	local, word := h.local, h.lease.Word
	h.home <- h // there is room for all of them
	local.Release(word)
}
