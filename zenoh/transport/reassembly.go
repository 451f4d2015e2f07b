// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/seed-3c7e7623/camd/zenoh/wire"

// firstBuffer is what the first message in fragments gets; later ones get what
// those before needed.
const firstBuffer = 256 << 10

// fragment adds a piece to the lane's message. A missing piece loses the
// message, never the connection.
func (r *reader) fragment(l *inLane, f wire.Frame, gap uint64, b []byte) {
	t := r.t
	switch {
	case f.Drop:
		r.lose(l)
		return
	case f.First, l.buf == nil && !t.s.patch && !l.skip:
		if l.buf != nil {
			r.lose(l)
		}
		if !r.begin(l) {
			t.stats.incomplete.Add(1)
			l.skip = f.More
			return
		}
	case l.buf == nil:
		l.skip = l.skip && f.More
		return
	case gap != 1:
		r.lose(l)
		l.skip = f.More
		return
	}
	most := t.p.most()
	if r.held+len(b) > most || !r.extend(l, len(l.buf.B)+len(b), most) {
		r.lose(l)
		l.skip = f.More
		return
	}
	l.buf.B = append(l.buf.B, b...)
	r.held += len(b)
	if f.More {
		r.ahead.expect(l, f, r.batchLen-len(b), r.batchLen)
	} else {
		r.finish(l, Arrival{f.Priority, f.Reliable})
	}
}

// begin gives the lane memory for a message, if there is some.
func (r *reader) begin(l *inLane) bool {
	n, most := max(l.most, firstBuffer), r.t.p.most()
	if r.room+n > most {
		// The bound holds for messages that began and do not go on, too.
		n = min(firstBuffer, most)
	}
	if !r.t.p.take(roomFor(n)) {
		return false
	}
	l.buf = r.t.pool.Get(n)
	l.taken = roomFor(n)
	r.room += cap(l.buf.B)
	l.skip = false
	return true
}

// extend gives the lane's message room for need bytes, if there is.
func (r *reader) extend(l *inLane, need, most int) bool {
	if need <= cap(l.buf.B) {
		return true
	}
	n := min(2*need, max(need, most))
	if !r.t.p.take(roomFor(n) - l.taken) {
		return false
	}
	l.taken = roomFor(n)
	r.room -= cap(l.buf.B)
	l.buf = r.t.pool.Grow(l.buf, n)
	r.room += cap(l.buf.B)
	return true
}

// finish hands over the lane's message, which is whole.
func (r *reader) finish(l *inLane, from Arrival) {
	t, buf := r.t, l.buf
	l.size = len(buf.B)
	if l.most > maxKeptBytes { // what was that large once is forgotten soon
		l.most /= 2
	}
	l.most = max(l.size, l.most-l.most/8)
	l.buf = nil
	r.held -= len(buf.B)
	r.room -= cap(buf.B)
	t.p.give(l.taken)
	l.taken = 0
	var in wire.Reader
	in.Reset(buf.B)
	if err := r.msg.Decode(&in); err != nil {
		t.stats.incomplete.Add(1)
	} else {
		t.stats.messagesIn.Add(1)
		r.h.HandleMessage(&r.msg, from, buf)
	}
	buf.Release()
}

func (r *reader) lose(l *inLane) {
	if l.buf != nil {
		r.t.stats.incomplete.Add(1)
	}
	r.clear(l)
}

func (r *reader) clear(l *inLane) {
	if l.buf != nil {
		r.held -= len(l.buf.B)
		r.room -= cap(l.buf.B)
		r.t.p.give(l.taken)
		l.taken = 0
		l.buf.Release()
		l.buf = nil
	}
}
