// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/seed-3c7e7623/camd/zenoh/wire"

// firstBuffer is what the first message in fragments gets; later ones get the
// size of the one before.
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
		l.buf = t.pool.Get(max(l.hint, min(firstBuffer, t.p.MaxMessage)))
		l.skip = false
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
		l.buf = t.pool.Grow(l.buf, min(2*need, max(need, t.p.MaxMessage)))
	}
	l.buf.B = append(l.buf.B, b...)
	r.held += len(b)
	if f.More {
		return
	}
	l.hint = len(l.buf.B)
	buf := l.buf
	l.buf = nil
	r.held -= len(buf.B)
	var in wire.Reader
	in.Reset(buf.B)
	if err := r.msg.Decode(&in); err != nil {
		t.stats.incomplete.Add(1)
	} else {
		t.stats.messagesIn.Add(1)
		r.h.HandleMessage(&r.msg, Arrival{f.Priority, f.Reliable}, buf)
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
		l.buf.Release()
		l.buf = nil
	}
}
