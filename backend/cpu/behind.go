// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

// makeRoom sees to it that a new frame can go out, however many links are
// behind: each of these has a message of its own under way, for as long as it
// takes, and all of them together more than there are parcels or slots. What has
// been on its way for longest is copied out then, once for all the links that
// have it, and its parcel and slot are back. So is what a slot was kept for too
// long for.
func (w *worker) makeRoom(e *epoch, topics ...*Topic) {
	full := len(e.holds) == 0
	for _, t := range topics {
		full = full || t != nil && len(t.parcels) == 0
	}
	late := w.overdue(e)
	if !full && !late || !e.local.Fresh() {
		return
	}
	for _, t := range topics {
		if t != nil && len(t.parcels) == 0 {
			t.detach(false)
		}
	}
	if late || len(e.holds) == 0 {
		for _, t := range topics {
			if t != nil && t.detach(true) {
				break
			}
		}
	}
}

// overdue says whether the network has sat on a slot for too long.
func (w *worker) overdue(e *epoch) bool {
	limit := w.b.o.HoldFor
	return limit > 0 && e.local.Oldest() > limit/2
}

// detach has the oldest message that slow links have go on out of a copy, and
// says whether there was one. inSlot: only messages that lie in a slot count.
func (t *Topic) detach(inSlot bool) bool {
	t.put.Lock()
	defer t.put.Unlock()
	for after := uint64(0); ; {
		p := t.oldest(after, inSlot)
		if p == nil {
			return false
		}
		h, payload, place := p.borrow()
		n := 0
		if payload != nil {
			n = t.endpoint.publisher.Detach(payload)
		}
		if h != nil {
			h.release()
		}
		if n > 0 {
			t.counts.copies.Add(1)
			return true
		}
		after = place
	}
}

// oldest is the message that has been on its way for longest of those put after
// one; nil: there is none.
func (t *Topic) oldest(after uint64, inSlot bool) (out *parcel) {
	first := uint64(0)
	for _, p := range t.all {
		p.mu.Lock()
		if p.under && p.place > after && (p.hold != nil || !inSlot) && (out == nil || p.place < first) {
			out, first = p, p.place
		}
		p.mu.Unlock()
	}
	return out
}

// borrow is what the parcel has on its way, if it still is; the slot stays until
// the hold is released once more.
func (p *parcel) borrow() (h *hold, payload []byte, place uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold != nil {
		h = p.hold.retain()
	}
	return h, p.payload, p.place
}

func (p *parcel) keep(h *hold) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = h
}
