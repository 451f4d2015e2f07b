// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

// Program counter of a reader's taking thread: the access that comes next.
const (
	takeTry    uint8 = iota // exchange(mail, 0), when it has credit of its own
	takeStore               // mutant: store(mail, 0)
	takeCount               // load(wake counter)
	takeFlag                // store(waiting, 1)
	takeAgain               // exchange(mail, 0) once more
	takeSleep               // futex_wait(wake counter, value loaded)
	takeAsleep              // sleeping
	takeClear               // store(waiting, 0)
)

// Program counter of a reader's releasing thread.
const (
	relIdle    uint8 = iota // check the generation, write the entry, store the head
	relKick                 // exchange(kick, 0), send the message
	relEntry                // mutant: write the entry
	relLast                 // mutant: last read of the pixels
	relHead                 // mutant: store the head, after the kick flag was clear
	relHeadMsg              // mutant: store the head, after the kick flag was set
)

// taker does the next step of reader i's taking thread.
func (m *model) taker(s *state, i int) {
	n := *s
	r := &n.rd[i]
	switch r.take {
	case takeTry:
		if count(r.hold) >= m.cfg.Credit && (!m.cfg.Greedy || count(r.hold) > m.cfg.Credit) {
			return
		}
		if m.mutant(TakeByLoadAndStore) && r.mail != 0 {
			r.tv, r.take = r.mail, takeStore
			if m.tracing {
				m.say("reader %d: load(mail) = %d", i, r.tv)
			}
			break
		}
		if m.exchangeMail(&n, i) {
			break
		}
		r.take = takeCount
		if m.mutant(CounterAfterRecheck) || m.mutant(WaitingAfterRecheck) {
			r.take = takeFlag
		}
		if m.mutant(WaitingAfterRecheck) {
			r.take = takeCount
		}
	case takeStore:
		if m.tracing {
			m.say("reader %d: store(mail, 0)", i)
		}
		v := r.tv
		r.mail, r.tv, r.take = 0, 0, takeTry
		m.received(&n, i, v)
	case takeCount:
		r.flags |= fresh
		r.take = takeFlag
		switch {
		case m.mutant(CounterAfterRecheck):
			r.take = takeSleep
		case m.mutant(WaitingAfterRecheck):
			r.take = takeAgain
		}
		if m.tracing {
			m.say("reader %d: load(wake counter)", i)
		}
	case takeFlag:
		r.flags |= waiting
		r.take = takeAgain
		if m.mutant(SleepWithoutRecheck) || m.mutant(WaitingAfterRecheck) {
			r.take = takeSleep
		}
		if m.tracing {
			m.say("reader %d: store(waiting, 1)", i)
		}
	case takeAgain:
		switch {
		case m.exchangeMail(&n, i):
			r.flags &^= fresh
			r.take = takeClear
		case m.mutant(CounterAfterRecheck):
			r.take = takeCount
		case m.mutant(WaitingAfterRecheck):
			r.take = takeFlag
		default:
			r.take = takeSleep
		}
	case takeSleep:
		r.take = takeClear
		if r.is(fresh) {
			r.take = takeAsleep
		}
		if m.tracing {
			m.say("reader %d: futex_wait: %s", i, map[bool]string{true: "sleeps", false: "counter changed, returns"}[r.is(fresh)])
		}
		r.flags &^= fresh
	case takeAsleep:
		r.take = takeClear
		if m.tracing {
			m.say("reader %d: futex_wait returns early (signal, time limit)", i)
		}
	case takeClear:
		r.flags &^= waiting
		r.take = takeTry
		if m.tracing {
			m.say("reader %d: store(waiting, 0)", i)
		}
	}
	m.emit(&n)
}

// exchangeMail is v = exchange(mail, 0) and says whether a word came.
func (m *model) exchangeMail(n *state, i int) bool {
	r := &n.rd[i]
	v := r.mail
	r.mail = 0
	if m.tracing {
		m.say("reader %d: exchange(mail, 0) = %d", i, v)
	}
	if v == 0 {
		return false
	}
	m.received(n, i, v)
	return true
}

// received books word v with the reader and checks that it is the newest.
func (m *model) received(n *state, i int, v uint8) {
	r := &n.rd[i]
	if !r.is(evicted) && n.down == 0 {
		// While Publish works through the readers, those it has not come to
		// yet may still take the frame before.
		granting := n.pub.phase == phasePublish && n.pub.locked() && int(n.pub.r) <= i
		if v != n.newest && (!granting || v != n.before) {
			m.fail("newest wins: reader %d takes generation %d when %d is published", i, v, n.newest)
		}
	}
	r.hold |= bit(v)
	r.took = v
}

// releaser does the next step of reader i's releasing thread.
func (m *model) releaser(s *state, i int) {
	switch s.rd[i].rel {
	case relIdle:
		for v := uint8(1); v <= maxGen; v++ {
			if s.rd[i].hold&bit(v) != 0 {
				n := *s
				m.release(&n, i, v)
				m.emit(&n)
			}
		}
		return
	case relKick:
		n := *s
		set := m.exchangeKick(&n, i)
		n.rd[i].rel = relIdle
		if set {
			m.sendKick(&n, i)
		}
		m.emit(&n)
	case relEntry:
		n := *s
		r := &n.rd[i]
		for k, w := range r.ring {
			if w == garbage {
				r.ring[k] = r.rv
			}
		}
		r.rv, r.rel = 0, relKick
		if m.tracing {
			m.say("reader %d: write the entry", i)
		}
		m.emit(&n)
	case relLast:
		n := *s
		r := &n.rd[i]
		r.hold &^= bit(r.rv)
		r.rv, r.rel = 0, relKick
		if m.tracing {
			m.say("reader %d: last read", i)
		}
		m.emit(&n)
	case relHead, relHeadMsg:
		n := *s
		r := &n.rd[i]
		v, msg := r.rv, r.rel == relHeadMsg
		r.rv, r.rel = 0, relIdle
		r.hold &^= bit(v)
		m.push(&n, i, v)
		if msg {
			m.sendKick(&n, i)
		}
		m.emit(&n)
	}
}

// release ends the reading of word v and returns it.
func (m *model) release(n *state, i int, v uint8) {
	r := &n.rd[i]
	switch {
	case m.mutant(ReleaseBeforeLastRead):
		m.push(n, i, v)
		r.rv, r.rel = v, relLast
		return
	case m.mutant(KickBeforeHead):
		r.rv, r.rel = v, relHead
		if m.exchangeKick(n, i) {
			r.rel = relHeadMsg
		}
		return
	case m.mutant(HeadBeforeEntry):
		r.hold &^= bit(v)
		r.rv, r.rel = v, relEntry
		m.push(n, i, garbage)
		return
	}
	good := n.slotOf(v).gen == v || m.mutant(ReleaseUnchecked)
	if m.tracing {
		m.say("reader %d: generation of %d at release: %s", i, v, map[bool]string{true: "good", false: "stale"}[good])
	}
	if good && !n.slotOf(v).intact(v) {
		m.fail("torn frame: reader %d accepts generation %d, which was written over", i, v)
	}
	r.hold &^= bit(v)
	m.push(n, i, v)
	r.rel = relKick
	if m.mutant(NoKick) || !r.served() {
		r.rel = relIdle
	}
}

// push writes an entry of the return ring and stores the head. An evicted
// reader's ring has no more reader.
func (m *model) push(n *state, i int, v uint8) {
	r := &n.rd[i]
	if m.tracing {
		m.say("reader %d: push %d, store head", i, v)
	}
	if !r.served() {
		return
	}
	for k := 0; k <= m.cfg.Credit; k++ {
		if r.ring[k] == 0 {
			r.ring[k] = v
			return
		}
	}
	m.fail("bound: the return ring of reader %d is full", i)
}

func (m *model) exchangeKick(n *state, i int) bool {
	r := &n.rd[i]
	set := r.is(kick)
	r.flags &^= kick
	if m.tracing {
		m.say("reader %d: exchange(kick, 0) = %t", i, set)
	}
	return set
}

func (m *model) sendKick(n *state, i int) {
	n.rd[i].kicks = 1
	if m.tracing {
		m.say("reader %d: sends a kick", i)
	}
}
