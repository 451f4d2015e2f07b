// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"math/bits"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// scatter reads the fragments of a large message straight to where they belong.
// A sender cuts a message into batches of one size, so it is known where the
// next heads will lie in the stream; each is held against what was foreseen
// before its fragment counts. From the first one on that is something else, the
// bytes are put together again as they came and taken apart as any others.
type scatter struct {
	lane  *inLane // whose next fragment should come next; nil: not known
	frame wire.Frame
	base  int // bytes of the length and the head without its number
	batch int // bytes of a full fragment with length and head

	// again says that the last message was read in place, so that the next one
	// likely will be too: not more than its first fragment is read ahead then.
	again bool

	pieces []piece
	heads  [maxPieces][2 + wire.MaxFrameHead]byte
	have   int // bytes of the first piece that arrived already
	bufs   [][]byte
}

// piece is a fragment that should come.
type piece struct {
	head int // bytes of the length and the head
	off  int // where it belongs in the message
	n    int // bytes of it
}

func (p piece) size() int { return p.head + p.n }

const (
	maxPieces = 32
	// minInPlace is the least that is worth foreseeing, or the least size of a
	// message whose end is foreseen.
	minInPlace = 256 << 10
)

// expect notes that after a fragment the next one of the same message should
// come. head and batch are the bytes of the fragment's head and of all of it.
func (s *scatter) expect(l *inLane, f wire.Frame, head, batch int) {
	s.base = head - numberLen(f.SN)
	if f.First {
		s.base-- // only the first one says so
	}
	if s.base < 3 || s.base+numberLen(1<<63) > len(s.heads[0]) {
		s.lane = nil
		return
	}
	s.lane, s.frame, s.batch = l, f, batch
}

// numberLen is how many bytes a number has in the stream.
func numberLen(n uint64) int { return min(max((bits.Len64(n)+6)/7, 1), 9) }

// spill is where in buf bytes go that come after those foreseen.
func (r *reader) spill() int { return len(r.buf) - firstRead }

// foresee lays out what should come next, and says whether it is worth it.
func (r *reader) foresee() bool {
	s := &r.ahead
	if s.lane == nil || !r.in.CanReadVec() || !r.layOut() {
		return false
	}
	if s.have > 0 {
		return true
	}
	begun := r.buf[r.from:r.to]
	if len(begun) >= s.pieces[0].size() || len(begun) >= 2 && int(binary.LittleEndian.Uint16(begun))+2 != s.pieces[0].size() {
		return false
	}
	n := copy(s.heads[0][:s.pieces[0].head], begun)
	copy(s.lane.buf.B[s.pieces[0].off:cap(s.lane.buf.B)], begun[n:])
	s.have = len(begun)
	r.from, r.to = 0, 0
	return true
}

// layOut fills pieces: up to the end of the message if it is as large as the
// one before, else as far as its memory goes.
func (r *reader) layOut() bool {
	s, t := &r.ahead, r.t
	s.pieces = s.pieces[:0]
	b := s.lane.buf.B
	off, end := len(b), cap(b)
	whole := s.lane.size > off
	if whole {
		end = min(end, s.lane.size)
	}
	end = min(end, off+t.p.most()-r.held)
	worth := s.have > 0 || end-off >= minInPlace || whole && end >= minInPlace
	if !worth || s.batch > t.p.ReadBytes {
		return false
	}
	r.grow(t.p.ReadBytes + firstRead)
	sn, total := s.lane.last, 0
	for len(s.pieces) < maxPieces && off < end {
		sn = (sn + 1) & t.s.mask
		head := s.base + numberLen(sn)
		n := s.batch - head
		if off+n > end && whole {
			n = end - off
		}
		if n <= 0 || off+n > end || total+head+n > r.spill() {
			break
		}
		s.pieces = append(s.pieces, piece{head, off, n})
		off += n
		total += head + n
	}
	return len(s.pieces) > 0
}

// readInPlace reads what was laid out, and what comes after it into buf.
func (r *reader) readInPlace() error {
	s := &r.ahead
	s.bufs = s.bufs[:0]
	skip := s.have
	for i, p := range s.pieces {
		for _, b := range [2][]byte{s.heads[i][:p.head], s.lane.buf.B[p.off : p.off+p.n : cap(s.lane.buf.B)]} {
			k := min(skip, len(b))
			skip -= k
			if k < len(b) {
				s.bufs = append(s.bufs, b[k:])
			}
		}
	}
	s.bufs = append(s.bufs, r.buf[r.spill():])
	n, err := r.in.ReadVec(s.bufs)
	clear(s.bufs)
	r.count(n)
	r.inPlace(s.have + n)
	return err
}

// inPlace takes what arrived of the pieces: so many bytes.
func (r *reader) inPlace(arrived int) {
	s, t := &r.ahead, r.t
	l := s.lane
	s.have = 0
	for i, p := range s.pieces {
		if arrived < p.head {
			r.keep(i, arrived)
			return
		}
		f, n, ok := r.foreseen(i)
		if !ok {
			r.gather(i, 0, arrived)
			return
		}
		if arrived < p.head+n {
			r.keep(i, arrived)
			return
		}
		arrived -= p.head + n
		t.stats.batchesIn.Add(1)
		l.last = f.SN
		l.buf.B = l.buf.B[:p.off+n]
		r.held += n
		if n < p.n || !f.More && i < len(s.pieces)-1 {
			r.gather(i, p.head+n, arrived)
			if !f.More {
				r.finish(l, Arrival{f.Priority, f.Reliable})
			}
			return
		}
		if !f.More {
			s.lane, s.again = nil, true
			r.finish(l, Arrival{f.Priority, f.Reliable})
		}
	}
	r.from = r.spill()
	r.to = r.from + arrived
}

// foreseen decodes the head of a piece and says whether it is the one that
// should be there, with at most as many bytes behind it: n.
func (r *reader) foreseen(i int) (f wire.Frame, n int, ok bool) {
	s := &r.ahead
	head := s.heads[i][:s.pieces[i].head]
	n = int(binary.LittleEndian.Uint16(head)) + 2 - len(head)
	r.r.Reset(head[2:])
	if err := f.Decode(&r.r); err != nil || r.r.Len() > 0 || n < 0 || n > s.pieces[i].n {
		return f, 0, false
	}
	next := (s.lane.last + 1) & r.t.s.mask
	ok = f.Fragment && !f.First && !f.Drop && f.SN == next && f.Priority == s.frame.Priority && f.Reliable == s.frame.Reliable
	return f, n, ok
}

// keep leaves what arrived of a piece where it is, for the next layout, which
// begins with it.
func (r *reader) keep(i, arrived int) {
	r.ahead.heads[0] = r.ahead.heads[i]
	r.ahead.have = arrived
}

// gather puts bytes back in a row, into buf: those from a place in a piece on.
func (r *reader) gather(i, skip, arrived int) {
	s := &r.ahead
	inPieces := -skip
	for _, p := range s.pieces[i:] {
		inPieces += p.size()
	}
	spill := r.spill()
	r.from = spill - min(arrived, inPieces)
	r.to = r.from + arrived
	at := r.from
	for j, p := range s.pieces[i:] {
		for _, b := range [2][]byte{s.heads[i+j][:p.head], s.lane.buf.B[p.off : p.off+p.n : cap(s.lane.buf.B)]} {
			k := min(skip, len(b))
			skip -= k
			at += copy(r.buf[at:spill], b[k:])
		}
	}
	s.lane = nil
}
