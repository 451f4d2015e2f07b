// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// train plans the next fragments of the lane's large message, straight out of
// the sender's memory. What is not written in the end is planned again, with
// the same numbers.
func (w *writer) train() {
	t, m := w.t, w.lane.train
	room := t.s.batch - headRoom
	off := m.sent
	// The slices in vec point into scratch, which must not move.
	if need := maxUnits * headRoom; cap(w.scratch) < need {
		w.scratch = make([]byte, 0, need)
	}
	for u := 0; u < maxUnits && off < m.size(); u++ {
		n := min(room, m.size()-off)
		f := w.frame(wire.Frame{Fragment: true, Reliable: m.Reliable, More: off+n < m.size(), First: off == 0 && t.s.patch})
		from := len(w.scratch)
		w.scratch = append(w.scratch, 0, 0)
		w.scratch = f.Append(w.scratch)
		binary.LittleEndian.PutUint16(w.scratch[from:], uint16(len(w.scratch)-from-2+n))
		w.vec.Add(w.scratch[from:len(w.scratch):len(w.scratch)])
		if off < len(m.Head) {
			w.vec.Add(m.Head[off:min(len(m.Head), off+n)])
		}
		if end := off + n - len(m.Head); end > 0 {
			w.vec.Add(m.Payload[max(off-len(m.Head), 0):end])
		}
		w.vec.End()
		off += n
	}
}

// afterTrain books the fragments that were written.
func (w *writer) afterTrain(units int) {
	t, l := w.t, w.lane
	room := t.s.batch - headRoom
	m := l.train
	t.mu.Lock()
	m.sent = min(m.sent+units*room, m.size())
	i := 0
	if m.Reliable {
		i = 1
	}
	l.sn[i] = (l.sn[i] - uint64(w.vec.Units()-units)) & t.s.mask
	whole := m.sent == m.size()
	if whole {
		l.train = nil
		t.stats.messagesOut.Add(1)
	}
	w.settle()
	t.mu.Unlock()
	if whole {
		m.done()
		t.recycle(m)
	}
}
