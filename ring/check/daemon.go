// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

// Why a daemon thread does what it does.
const (
	phaseNone uint8 = iota
	phaseAcquire
	phasePublish
	phaseKick
	phaseJoin
	phaseEarly // mutants: before Publish
)

// The next step of a daemon thread. From opDrain to opCount it has the mutex.
const (
	opIdle     uint8 = iota
	opDrain          // load(head), pop the entries
	opGrant          // exchange(mail, w) or compare-and-swap(mail, W, w) or store(kick, 1)
	opStore          // mutant: store(mail, w)
	opKick           // store(kick, 1)
	opRedrain        // load(head), pop the entries, after the kick flag was set
	opGenerate       // choose a slot, store(record.gen)
	opClear          // exchange(waiting, 0)
	opPeek           // mutant: load(waiting)
	opCount          // wake counter++
	opWake           // futex_wake of all sleepers
	opBook           // mutant: book what was granted
	opPixels0        // write the first half of the pixels
	opPixels1        // write the second half
	opPublish        // take the mutex, retain the frame, first grant
)

func (t *thread) locked() bool { return t.op >= opDrain && t.op <= opCount }

// nextServed is the first served reader at or after r, or readers.
func (s *state) nextServed(r int) int {
	for r < readers && !s.rd[r].served() {
		r++
	}
	return r
}

// publisher does the next step of the thread that grabs frames.
func (m *model) publisher(s *state) {
	n := *s
	t := &n.pub
	switch t.op {
	case opIdle:
		if (m.cfg.Frames > 0 && n.left == 0) || n.ctl.locked() || (m.cfg.OneThread && n.ctl.op != opIdle) {
			return
		}
		if m.cfg.Frames > 0 {
			n.left--
		}
		t.phase, t.op, t.r = phaseAcquire, opGenerate, uint8(n.nextServed(0))
		if t.r < readers {
			t.op = opDrain
			if m.tracing {
				m.say("publisher: Acquire")
			}
			m.step(&n, t)
			break
		}
		m.generate(&n)
		return
	case opGenerate:
		m.generate(&n)
		return
	case opPixels0, opPixels1:
		sl := n.slotOf(n.writing)
		if t.op == opPixels0 {
			sl.pix = sl.pix&0xf0 | n.writing
			t.op = opPixels1
			if m.tracing {
				m.say("publisher: write first half of %d", n.writing)
			}
			break
		}
		sl.pix = sl.pix&15 | n.writing<<4
		t.op = opPublish
		if m.tracing {
			m.say("publisher: write second half of %d", n.writing)
		}
		if m.mutant(WakeBeforeExchange) || m.mutant(WaitingBeforeExchange) {
			if n.nextServed(0) < readers {
				t.phase = phaseEarly
				m.eachReader(&n, t, opClear)
			}
		}
	case opPublish:
		if n.ctl.locked() {
			return
		}
		m.retain(&n)
		t.phase, t.op, t.r = phasePublish, opGrant, uint8(n.nextServed(0))
		if t.r == readers {
			m.unlock(&n, t)
			break
		}
		m.step(&n, t)
	default:
		m.step(&n, t)
	}
	m.emit(&n)
}

// retain makes the frame just written the newest.
func (m *model) retain(n *state) {
	old := n.newest
	n.newest, n.before, n.writing = n.writing, old, 0
	sl := n.slotOf(n.newest)
	sl.set(slotPublished)
	sl.gen = n.newest
	if m.tracing {
		m.say("publisher: Publish %d", n.newest)
	}
	if old != 0 && n.slotOf(old).leases() == 0 {
		m.free(n, old)
	}
}

// generate chooses a slot for the next frame: every free one in turn. Free
// slots to which nobody refers are alike.
func (m *model) generate(s *state) {
	used, stale := 0, uint8(0) // stale: free slots that an evicted reader still names
	refs := s.references()
	for g := uint8(1); g <= maxGen; g++ {
		if refs&bit(g) != 0 && s.at[g] != 0 && s.slotOf(g).kind() == slotFree {
			stale |= 1 << (s.at[g] - 1)
		}
	}
	blank := -1
	for i := range s.slots {
		if s.slots[i].kind() != slotFree || stale&(1<<i) != 0 {
			used++
		} else {
			blank = i
		}
	}
	found := false
	for i := range s.slots {
		if stale&(1<<i) != 0 || (i == blank && used < m.cfg.Slots) {
			found = true
			m.write(s, i)
		}
	}
	if !found {
		m.noSlot(s)
	}
}

func (m *model) write(s *state, i int) {
	n := *s
	t := &n.pub
	n.writing = n.newest + 1
	if n.writing > maxGen {
		m.fail("model: more than %d generations at one time", maxGen)
		m.emit(&n)
		return
	}
	n.at[n.writing] = uint8(i) + 1
	n.slots[i].set(slotWriting)
	if m.tracing {
		m.say("publisher: choose slot %d", i)
	}
	if !m.mutant(GenerationAtPublish) {
		n.slots[i].gen = n.writing
		if m.tracing {
			m.say("store(record.gen, %d)", n.writing)
		}
	}
	m.unlock(&n, t)
	m.emit(&n)
}

// noSlot drops the frame and, where that is explored, evicts a reader.
func (m *model) noSlot(s *state) {
	n := *s
	if m.tracing {
		m.say("publisher: no free slot, frame dropped")
	}
	if !m.cfg.Evict {
		m.fail("starvation: no free slot among %d", m.cfg.Slots)
	}
	m.unlock(&n, &n.pub)
	m.emit(&n)
	if !m.cfg.Evict {
		return
	}
	for i := range s.rd {
		if s.rd[i].served() && s.rd[i].held != 0 {
			n := *s
			r := &n.rd[i]
			if m.tracing {
				m.say("publisher: no free slot, frame dropped, reader %d evicted: cas(mail, %d, 0) with %d there", i, r.granted, r.mail)
			}
			if r.granted != 0 && r.mail == r.granted {
				r.mail = 0
				m.drop(&n, i, r.granted)
			}
			r.granted = 0
			r.flags |= evicted
			if m.tracing {
				m.say("quarantine of %s", set(r.held))
			}
			m.unlock(&n, &n.pub)
			m.emit(&n)
		}
	}
}

// controller does the next step of the thread that serves the sockets: it
// takes up any message, death, end of quarantine or join, or goes on with the
// one it has.
func (m *model) controller(s *state) {
	if s.ctl.op != opIdle {
		n := *s
		m.step(&n, &n.ctl)
		m.emit(&n)
		return
	}
	if s.pub.locked() || (m.cfg.OneThread && s.pub.op != opIdle) {
		return
	}
	for i := range s.rd {
		r := &s.rd[i]
		if r.is(present) && r.kicks > 0 {
			n := *s
			n.rd[i].kicks--
			if m.tracing {
				m.say("controller: kick of reader %d", i)
			}
			if r.served() {
				n.ctl = thread{phase: phaseKick, op: opDrain, r: uint8(i)}
				m.step(&n, &n.ctl)
			}
			m.emit(&n)
		}
		if r.is(present) && !r.is(alive) {
			n := *s
			if m.tracing {
				m.say("controller: notices the death of reader %d", i)
			}
			m.dropAll(&n, i)
			n.rd[i] = reader{}
			m.emit(&n)
		}
		if r.is(present | evicted | alive) {
			n := *s
			if m.tracing {
				m.say("controller: quarantine of reader %d ends by force", i)
			}
			m.dropAll(&n, i)
			p := &n.rd[i]
			p.flags &^= present | kick
			p.held, p.granted, p.last, p.kicks = 0, 0, 0, 0
			p.ring = [maxCredit + 1]uint8{}
			m.emit(&n)
		}
		if i < m.cfg.Readers && !r.is(present) && !r.is(alive) && s.joins > 0 {
			n := *s
			if m.cfg.Joins != Endless {
				n.joins--
			}
			n.rd[i] = reader{flags: alive | present}
			if m.tracing {
				m.say("controller: reader %d joins", i)
			}
			if n.newest != 0 && !m.mutant(JoinWithoutGrant) {
				n.ctl = thread{phase: phaseJoin, op: opGrant, r: uint8(i)}
				m.step(&n, &n.ctl)
			}
			m.emit(&n)
		}
	}
}
