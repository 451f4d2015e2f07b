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
		r.begin(l)
	case l.buf == nil:
		l.skip = l.skip && f.More
		return
	case gap != 1:
		r.lose(l)
		l.skip = f.More
		return
	}
	if r.held+len(b) > t.p.MaxMessage {
		r.lose(l)
		l.skip = f.More
		return
	}
	if need := len(l.buf.B) + len(b); need > cap(l.buf.B) {
		r.room -= cap(l.buf.B)
		l.buf = t.pool.Grow(l.buf, min(2*need, max(need, t.p.MaxMessage)))
		r.room += cap(l.buf.B)
	}
	l.buf.B = append(l.buf.B, b...)
	r.held += len(b)
	if f.More {
		r.ahead.expect(l, f, r.batchLen-len(b), r.batchLen)
	} else {
		r.finish(l, Arrival{f.Priority, f.Reliable})
	}
}

// begin gives the lane memory for a message.
func (r *reader) begin(l *inLane) {
	n := max(l.most, firstBuffer)
	if r.room+n > r.t.p.MaxMessage {
		// The bound holds for messages that began and do not go on, too.
		n = min(firstBuffer, r.t.p.MaxMessage)
	}
	l.buf = r.t.pool.Get(n)
	r.room += cap(l.buf.B)
	l.skip = false
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
		l.buf.Release()
		l.buf = nil
	}
}
