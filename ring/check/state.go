// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math/bits"
	"strings"
)

// Limits of the fixed-size state.
const (
	readers   = 2
	maxSlots  = 8
	maxGen    = 14 // generations that can be told apart at one time
	maxCredit = 2
	garbage   = 15 // content of a return ring entry that was never written
)

// words is a set of words, a bit per generation.
type words uint16

// Bits of reader.flags. The first three live in the reader's shared page, the
// others are the model's own knowledge.
const (
	waiting uint8 = 1 << iota // reader is about to sleep
	kick                      // daemon wants a message on the next release
	evicted                   // daemon gave up on this reader
	fresh                     // the wake counter still has the value that the reader loaded
	alive                     // the process runs
	present                   // the daemon counts it as a subscriber
)

// Slot states.
const (
	slotFree uint8 = iota
	slotWriting
	slotPublished
)

// slot is one slot: its record and pixels as shared memory has them, its state
// and leases as the daemon's private memory has them.
type slot struct {
	state uint8 // low four bits: slotFree …; high four bits: lease bit per reader
	gen   uint8 // record.gen
	pix   uint8 // generation that wrote the first half (low four bits) and the second half of the pixels
}

// reader is one subscriber. A word is a generation here: a generation is
// written once, so it names its slot (state.at).
type reader struct {
	flags uint8

	// Shared.
	mail uint8
	ring [maxCredit + 1]uint8 // return ring from tail to head, 0 = nothing

	// Private to the daemon.
	granted uint8 // W: last granted word that is not known to be taken
	last    uint8 // generation of the last grant
	kicks   uint8 // kick messages on the way
	held    words // leases booked

	// Private to the reader.
	hold words // words being read
	took uint8 // last word taken
	take uint8 // program counter of the taking thread
	tv   uint8 // its local value
	rel  uint8 // program counter of the releasing thread
	rv   uint8 // its local value
}

// thread is one thread of the daemon: what it does for whom.
type thread struct {
	phase   uint8 // phaseNone …: why
	op      uint8 // opIdle …: next step
	r       uint8 // reader that the step is about
	granted uint8 // readers granted and not yet woken
	woken   uint8 // 1 when a waiting flag was seen
	late    uint8 // readers whose booking is still owed (mutant only)
}

// state is one state of the whole system; comparable, no pointers.
type state struct {
	slots   [maxSlots]slot
	at      [maxGen + 1]uint8 // generation -> slot+1, 0 = nobody refers to it
	rd      [readers]reader
	pub     thread // Acquire and Publish
	ctl     thread // kicks, deaths, joins
	left    uint8  // frames still to come
	newest  uint8  // retained generation, 0 = none
	before  uint8  // the one before, while Publish grants
	writing uint8  // generation being written, 0 = none
	joins   uint8  // joins still allowed
	down    uint8  // daemon was killed
}

// bit is the set of one word; of none when g is no word.
func bit(g uint8) words {
	if g == 0 || g > maxGen {
		return 0
	}
	return 1 << g
}

func count(set words) int { return bits.OnesCount16(uint16(set)) }

func (r *reader) is(f uint8) bool { return r.flags&f == f }

// served says whether the daemon grants to this reader.
func (r *reader) served() bool { return r.flags&(present|evicted) == present }

// taken is the number of leases that the reader has taken as far as the daemon
// knows (design §5 rule 1).
func (r *reader) taken() int {
	n := count(r.held)
	if r.granted != 0 {
		n--
	}
	return n
}

func (s *slot) leases() uint8 { return s.state >> 4 }
func (s *slot) kind() uint8   { return s.state & 15 }
func (s *slot) set(kind uint8) {
	s.state = s.state&^15 | kind
}

// intact says whether record and pixels are those of generation g.
func (s *slot) intact(g uint8) bool { return s.gen == g && s.pix == g|g<<4 }

// slotOf is the slot that generation g was written to.
func (s *state) slotOf(g uint8) *slot { return &s.slots[s.at[g]-1] }

// references is the set of generations that somebody may still name.
func (s *state) references() words {
	set := bit(s.newest) | bit(s.before) | bit(s.writing)
	for i := range s.rd {
		r := &s.rd[i]
		set |= r.held | r.hold | bit(r.mail) | bit(r.granted) | bit(r.tv) | bit(r.rv)
		for _, w := range r.ring {
			set |= bit(w)
		}
	}
	return set
}

// canonical makes states equal that differ only in what cannot matter: the
// numbers of slots, the remains in slots that nobody refers to, generations
// apart from their order, and how old something is that is not the newest.
func (s *state) canonical() {
	for i := range s.rd {
		r := &s.rd[i]
		if r.take == takeSleep && !r.is(fresh) {
			r.take = takeClear // futex_wait would return at once
		}
		if r.take == takeClear && !r.is(waiting) {
			r.take = takeTry // the store would change nothing
		}
		if !r.is(alive) {
			r.flags &^= waiting | kick // nobody will look
			r.kicks = 0
		}
		if r.took != s.newest || r.is(evicted) {
			r.took = 0
		}
		if r.last != s.newest || r.is(evicted) {
			r.last = 0
		}
	}
	refs := s.references()
	var named uint8
	for g := uint8(1); g <= maxGen; g++ {
		switch {
		case s.at[g] == 0:
		case refs&bit(g) == 0:
			s.at[g] = 0
		default:
			named |= 1 << (s.at[g] - 1)
		}
	}
	for i := range s.slots {
		if named&(1<<i) == 0 && s.slots[i].state == slotFree {
			s.slots[i] = slot{}
		}
	}
	s.renumber(refs)
	for i := 1; i < maxSlots; i++ {
		for j := i; j > 0 && s.slots[j-1].less(s.slots[j]); j-- {
			s.slots[j-1], s.slots[j] = s.slots[j], s.slots[j-1]
			a, b := uint8(j), uint8(j+1)
			for g := range s.at {
				switch s.at[g] {
				case a:
					s.at[g] = b
				case b:
					s.at[g] = a
				}
			}
		}
	}
}

// renumber gives the generations in refs the numbers 1, 2, … and all others 0.
func (s *state) renumber(refs words) {
	var to [16]uint8
	n := uint8(0)
	for g := uint8(1); g <= maxGen; g++ {
		if refs&bit(g) != 0 {
			n++
			to[g] = n
		}
	}
	to[garbage] = garbage
	for i := range s.slots {
		sl := &s.slots[i]
		sl.gen = to[sl.gen]
		sl.pix = to[sl.pix&15] | to[sl.pix>>4]<<4
	}
	if refs == words(1)<<(n+1)-2 {
		return // they have these numbers already
	}
	var at [maxGen + 1]uint8
	for g := uint8(1); g <= maxGen; g++ {
		if to[g] != 0 {
			at[to[g]] = s.at[g]
		}
	}
	s.at = at
	s.newest, s.before, s.writing = to[s.newest], to[s.before], to[s.writing]
	for i := range s.rd {
		r := &s.rd[i]
		r.mail, r.granted, r.tv, r.rv = to[r.mail], to[r.granted], to[r.tv], to[r.rv]
		r.last, r.took = to[r.last], to[r.took]
		r.held, r.hold = r.held.renumber(&to), r.hold.renumber(&to)
		for k := range r.ring {
			r.ring[k] = to[r.ring[k]]
		}
	}
}

func (w words) renumber(to *[16]uint8) words {
	var out words
	for ; w != 0; w &= w - 1 {
		out |= bit(to[bits.TrailingZeros16(uint16(w))])
	}
	return out
}

func (s slot) less(o slot) bool {
	a := uint32(s.gen)<<16 | uint32(s.state)<<8 | uint32(s.pix)
	b := uint32(o.gen)<<16 | uint32(o.state)<<8 | uint32(o.pix)
	return a < b
}

func set(w words) string {
	var b strings.Builder
	b.WriteByte('{')
	for g := uint8(1); g <= maxGen; g++ {
		if w&bit(g) != 0 {
			if b.Len() > 1 {
				b.WriteByte(' ')
			}
			fmt.Fprint(&b, g)
		}
	}
	b.WriteByte('}')
	return b.String()
}

// String shows what matters of a state on one line.
func (s *state) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "newest=%d", s.newest)
	for i := range s.rd {
		r := &s.rd[i]
		if r.flags&(alive|present) == 0 {
			continue
		}
		fmt.Fprintf(&b, " | r%d mail=%d W=%d held=%s reads=%s", i, r.mail, r.granted, set(r.held), set(r.hold))
		for f, name := range [...]string{"waiting", "kick", "evicted"} {
			if r.is(1 << f) {
				b.WriteString(" " + name)
			}
		}
		if r.take == takeAsleep {
			b.WriteString(" asleep")
		}
		if r.kicks > 0 {
			fmt.Fprintf(&b, " kicks=%d", r.kicks)
		}
		if !r.is(alive) {
			b.WriteString(" dead")
		}
	}
	return b.String()
}
