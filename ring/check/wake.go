// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import "math/bits"

// unlock ends the part under the mutex. What follows is the wake-up of the
// readers that were granted: clear their waiting flags, count, wake.
func (m *model) unlock(n *state, t *thread) {
	if t.phase == phasePublish {
		n.before = 0
	}
	switch {
	case t.phase == phasePublish && m.mutant(WakeBeforeExchange):
		m.finish(n, t)
	case t.phase == phasePublish && (m.mutant(WaitingBeforeExchange) || t.granted == 0):
		t.op = opCount
	case t.granted == 0:
		m.finish(n, t)
	case m.mutant(ClearAfterCount), m.mutant(ClearAfterWake):
		t.op = opCount
	default:
		m.eachGranted(t, opClear)
	}
}

// eachGranted starts op at the first granted reader.
func (m *model) eachGranted(t *thread, op uint8) {
	t.op, t.r = op, uint8(bits.TrailingZeros8(t.granted))
}

// more goes on to the next granted reader and says whether there is one.
func (t *thread) more() bool {
	rest := t.granted >> (t.r + 1)
	if rest == 0 {
		return false
	}
	t.r += 1 + uint8(bits.TrailingZeros8(rest))
	return true
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
		if t.more() {
			return
		}
		switch {
		case t.op == opPeek && t.woken != 0, m.mutant(ClearAfterCount) && t.woken != 0:
			t.op = opWake
		case t.op == opPeek, m.mutant(ClearAfterCount), m.mutant(ClearAfterWake):
			m.finish(n, t)
		case t.phase == phaseEarly && m.mutant(WaitingBeforeExchange):
			t.granted, t.op = 0, opPublish
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
		case m.mutant(ClearAfterCount) && t.granted != 0:
			m.eachGranted(t, opClear)
		case m.mutant(ClearAfterWake) && t.granted != 0:
			m.eachGranted(t, opPeek)
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
			m.eachGranted(t, opClear)
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
