// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

// step does the next step of a daemon thread inside the mutex or in its
// wake-up.
func (m *model) step(n *state, t *thread) {
	i := int(t.r)
	switch t.op {
	case opDrain:
		m.drained(n, t, m.drain(n, i))
	case opGrant:
		m.grant(n, t)
	case opStore:
		r := &n.rd[i]
		if m.tracing {
			m.say("grant: store(mail of %d, %d)", i, n.newest)
		}
		r.mail = n.newest
		m.book(n, i, n.newest)
		m.drop(n, i, r.granted)
		m.accepted(n, t)
	case opKick:
		m.setKick(n, t)
	case opRedrain:
		m.drain(n, i)
		switch {
		case m.credit(&n.rd[i]):
			t.op = opGrant
		case m.mutant(RedrainBeforeKickFlag):
			t.op = opKick
		default:
			m.nextReader(n, t)
		}
	default:
		m.wake(n, t)
	}
}

// drained decides what follows the first drain of a reader.
func (m *model) drained(n *state, t *thread, freed bool) {
	r := &n.rd[t.r]
	newer := n.newest > r.last
	switch {
	case t.phase == phaseAcquire && freed && newer:
		t.op = opGrant
	case t.phase == phaseAcquire:
		m.nextReader(n, t)
	case m.mutant(NoGrantOnKick) || (m.mutant(KickNotRearmed) && !m.credit(r)):
		m.unlock(n, t)
	case newer || (m.mutant(GrantAgain) && n.newest != 0 && m.credit(r)):
		t.op = opGrant
	default:
		m.unlock(n, t)
	}
}

// credit says whether the daemon may give the reader a word beside the one
// that waits.
func (m *model) credit(r *reader) bool {
	if m.mutant(CreditCountsMailbox) {
		return count(r.held) < m.cfg.Credit+1
	}
	if m.cfg.Eager && r.granted == 0 {
		return count(r.held) <= m.cfg.Credit
	}
	return r.taken() < m.cfg.Credit
}

// grant is one attempt to hand the newest frame to reader t.r.
func (m *model) grant(n *state, t *thread) {
	i, w := int(t.r), n.newest
	r := &n.rd[i]
	switch {
	case m.credit(r), m.mutant(ExchangeWithoutCredit) && r.granted != 0:
		m.exchange(n, t)
	case r.granted == 0, m.mutant(CreditCountsMailbox):
		m.skip(n, t)
	case r.mail == r.granted:
		if m.mutant(CASByLoadAndStore) {
			if m.tracing {
				m.say("grant: load(mail of %d) = %d", i, r.mail)
			}
			t.op = opStore
			return
		}
		m.book(n, i, w)
		if m.tracing {
			m.say("grant: no credit: cas(mail of %d, %d, %d) succeeds", i, r.granted, w)
		}
		r.mail = w
		if !m.mutant(CASSuccessKeepsOld) {
			m.drop(n, i, r.granted)
		}
		m.accepted(n, t)
	default:
		if m.tracing {
			m.say("grant: no credit: cas(mail of %d, %d, %d) fails", i, r.granted, w)
		}
		if r.mail != 0 {
			m.fail("honest reader %d cut off: the mailbox holds %d, granted was %d", i, r.mail, r.granted)
		}
		if m.mutant(CASFailureKeepsNew) {
			m.book(n, i, w)
		}
		r.granted = 0
		t.op = opKick
		if m.mutant(NoKickFlag) || m.mutant(RedrainBeforeKickFlag) {
			t.op = opRedrain
		}
	}
}

// exchange books the newest frame, then hands it over.
func (m *model) exchange(n *state, t *thread) {
	i, w := int(t.r), n.newest
	r := &n.rd[i]
	if m.mutant(BookAfterExchange) {
		t.late |= 1 << i
	} else {
		m.book(n, i, w)
	}
	old := r.mail
	r.mail = w
	if m.tracing {
		m.say("grant: exchange(mail of %d, %d) = %d", i, w, old)
	}
	switch {
	case r.granted != 0 && (old == r.granted || m.mutant(DropOldUnseen)):
		m.drop(n, i, r.granted)
	case old != 0:
		m.fail("honest reader %d cut off: exchange returned %d, granted was %d", i, old, r.granted)
	}
	m.accepted(n, t)
}

// accepted ends a grant that put the newest frame into the mailbox.
func (m *model) accepted(n *state, t *thread) {
	r := &n.rd[t.r]
	r.granted, r.last = n.newest, n.newest
	t.granted |= 1 << t.r
	m.nextReader(n, t)
}

// skip asks a reader without credit for a kick.
func (m *model) skip(n *state, t *thread) {
	switch {
	case m.mutant(NoKickFlag), m.mutant(RedrainBeforeKickFlag):
		t.op = opRedrain
		m.step(n, t)
	default:
		m.setKick(n, t)
	}
}

func (m *model) setKick(n *state, t *thread) {
	if m.cfg.Eager && !m.cfg.Greedy && count(n.rd[t.r].held) <= m.cfg.Credit {
		m.fail("newest wins: reader %d is skipped although one more word may wait for it", t.r)
	}
	n.rd[t.r].flags |= kick
	if m.tracing {
		m.say("grant: store(kick of %d, 1)", t.r)
	}
	t.op = opRedrain
	if m.mutant(NoRedrain) || m.mutant(RedrainBeforeKickFlag) {
		m.nextReader(n, t)
	}
}

// nextReader goes on to the next reader of the same phase.
func (m *model) nextReader(n *state, t *thread) {
	switch t.phase {
	case phaseAcquire, phasePublish:
		t.r = uint8(n.nextServed(int(t.r) + 1))
		switch {
		case t.r < readers && t.phase == phaseAcquire:
			t.op = opDrain
		case t.r < readers:
			t.op = opGrant
		case t.phase == phaseAcquire:
			t.r, t.op = 0, opGenerate
		default:
			m.unlock(n, t)
		}
	default:
		m.unlock(n, t)
	}
}

// drain pops reader i's return ring and says whether anything came.
func (m *model) drain(n *state, i int) bool {
	r := &n.rd[i]
	if m.tracing {
		m.say("drain of %d: %v", i, r.ring)
	}
	freed := false
	for k, w := range r.ring {
		if w == 0 {
			break
		}
		r.ring[k] = 0
		if r.held&bit(w) == 0 {
			m.fail("honest reader %d cut off: it returned %d, booked is %s", i, w, set(r.held))
			continue
		}
		m.drop(n, i, w)
		if r.granted == w {
			r.granted = 0
		}
		freed = true
	}
	return freed
}

// book leases the slot of word w to reader i.
func (m *model) book(n *state, i int, w uint8) {
	r := &n.rd[i]
	if r.held&bit(w) != 0 {
		m.fail("leases: generation %d is booked twice for reader %d", w, i)
	}
	if w == 0 || n.at[w] == 0 {
		m.fail("leases: generation %d is booked for reader %d when its slot has gone", w, i)
		return
	}
	r.held |= bit(w)
	n.slotOf(w).state |= 16 << i
}

// drop ends reader i's lease of word w.
func (m *model) drop(n *state, i int, w uint8) {
	r := &n.rd[i]
	if r.held&bit(w) == 0 || n.slotOf(w).leases()&(1<<i) == 0 {
		m.fail("leases: the lease of reader %d on generation %d ends twice", i, w)
		return
	}
	r.held &^= bit(w)
	sl := n.slotOf(w)
	sl.state &^= 16 << i
	if sl.leases() != 0 && !m.mutant(FreeThoughLeased) {
		return
	}
	if w != n.newest || m.mutant(RetainedUnprotected) {
		m.free(n, w)
	}
}

// free returns the slot of generation g to the free ones.
func (m *model) free(n *state, g uint8) {
	sl := n.slotOf(g)
	if sl.kind() == slotFree {
		m.fail("leases: the slot of generation %d is freed twice", g)
	}
	sl.set(slotFree)
}

// dropAll ends all leases of reader i.
func (m *model) dropAll(n *state, i int) {
	for g := uint8(1); g <= maxGen; g++ {
		switch {
		case n.rd[i].held&bit(g) == 0:
		case m.mutant(DeathKeepsLeases):
			n.rd[i].held &^= bit(g)
		case m.mutant(DeathFreesOthers):
			n.slotOf(g).state &= 15 | 16<<i
			m.drop(n, i, g)
		default:
			m.drop(n, i, g)
		}
	}
}
