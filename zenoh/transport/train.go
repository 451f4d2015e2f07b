// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// train plans the next fragments of the lane's large message, straight out of
// the sender's memory. What is not written in the end is planned again, with
// the same numbers.
func (w *writer) train() {
	t, m := w.t, w.lane.train
	w.room = w.unit()
	room := w.room
	off := m.sent
	w.from = time.Now()
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
	m := l.train
	t.mu.Lock()
	before := m.sent
	m.sent = min(m.sent+units*w.room, m.size())
	w.measure(m.sent-before, time.Since(w.from))
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
		m.done(true)
		t.recycle(m)
	}
}

// unitTime is how long a fragment should take at most: what is urgent waits for
// one.
const unitTime = 20 * time.Millisecond

// minUnit is the least that a fragment holds, if the message has it.
const minUnit = 4 << 10

// unit is what a fragment holds: a full batch on a fast link, less on one that
// was slow lately.
func (w *writer) unit() int {
	room := w.t.s.batch - headRoom
	if w.perSecond == 0 {
		return room
	}
	return min(max(int(w.perSecond*unitTime.Seconds()), minUnit), room)
}

// measure learns how fast the link is, from writes that had to wait. Others say
// nothing: the kernel took them at once.
func (w *writer) measure(bytes int, took time.Duration) {
	switch {
	case bytes == 0:
	case took < unitTime:
		w.perSecond *= 2 // up to a full batch
		if w.unit() == w.t.s.batch-headRoom {
			w.perSecond = 0
		}
	case w.perSecond == 0:
		w.perSecond = float64(bytes) / took.Seconds()
	default:
		w.perSecond += (float64(bytes)/took.Seconds() - w.perSecond) / 4
	}
}
