// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

// unlock ends what is done for the phase under the mutex. If anybody was
// granted a word, the waiting flags of all readers are cleared and the counter
// goes up, still under the mutex; the wake itself comes after it.
func (m *model) unlock(n *state, t *thread) {
	if t.phase == phasePublish {
		n.before = 0
	}
	switch {
	case t.granted == 0, t.phase == phasePublish && m.mutant(WakeBeforeExchange):
		m.finish(n, t)
	case m.mutant(ClearAfterCount), m.mutant(ClearAfterWake), t.phase == phasePublish && m.mutant(WaitingBeforeExchange):
		t.op = opCount
	default:
		m.eachReader(n, t, opClear)
	}
}

// eachReader starts op at the first reader.
func (m *model) eachReader(n *state, t *thread, op uint8) {
	t.op, t.r = op, uint8(n.nextPresent(0))
	if t.r == readers {
		m.finish(n, t)
	}
}

// willWake says whether the thread has yet to look after reader i, or to wake
// all.
func (t *thread) willWake(i int) bool {
	return t.granted&(1<<i) != 0 || t.woken != 0
}

// nextPresent is the first reader at or after r that the daemon has, evicted or
// not, or readers.
func (s *state) nextPresent(r int) int {
	for r < readers && !s.rd[r].is(present) {
		r++
	}
	return r
}

// wake does one step of the wake-up.
func (m *model) wake(n *state, t *thread) {
	switch t.op {
	case opClear, opPeek:
		r := &n.rd[t.r]
		if r.is(waiting) {
			t.woken = 1
		}
		if m.tracing {
			m.say("wake: waiting of %d is %t", t.r, r.is(waiting))
		}
		if t.op == opClear {
			r.flags &^= waiting
		}
		if next := n.nextPresent(int(t.r) + 1); next < readers {
			t.r = uint8(next)
			return
		}
		switch {
		case t.op == opPeek && t.woken != 0, m.mutant(ClearAfterCount) && t.woken != 0:
			t.op = opWake
		case t.op == opPeek, m.mutant(ClearAfterCount), m.mutant(ClearAfterWake):
			m.finish(n, t)
		case t.phase == phaseEarly && m.mutant(WaitingBeforeExchange):
			t.op = opPublish
		default:
			t.op = opCount
		}
	case opCount:
		if !m.mutant(NoCount) {
			for i := range n.rd {
				n.rd[i].flags &^= fresh
			}
		}
		if m.tracing {
			m.say("wake: counter++")
		}
		switch {
		case m.mutant(ClearAfterCount):
			m.eachReader(n, t, opClear)
		case m.mutant(ClearAfterWake):
			m.eachReader(n, t, opPeek)
		case t.woken != 0:
			t.op = opWake
		default:
			m.finish(n, t)
		}
	case opWake:
		for i := range n.rd {
			if n.rd[i].take == takeAsleep {
				n.rd[i].take = takeClear
			}
		}
		if m.tracing {
			m.say("wake: futex_wake of all")
		}
		if m.mutant(ClearAfterWake) {
			m.eachReader(n, t, opClear)
			return
		}
		m.finish(n, t)
	case opBook:
		for i := range n.rd {
			if t.late&(1<<i) != 0 {
				m.book(n, i, n.rd[i].granted)
			}
		}
		if m.tracing {
			m.say("books what was granted")
		}
		t.late = 0
		m.finish(n, t)
	}
}

// finish ends a phase.
func (m *model) finish(n *state, t *thread) {
	switch {
	case t.late != 0:
		t.op = opBook
	case t.phase == phaseEarly:
		*t = thread{op: opPublish}
	case t.phase == phaseAcquire && n.writing != 0:
		*t = thread{op: opPixels0}
	default:
		*t = thread{}
	}
}
