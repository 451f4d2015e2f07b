// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import "fmt"

// model computes the successors of a state. It is used by one goroutine.
type model struct {
	cfg Config

	next   []state  // successors of the last state
	faults []string // per successor: the property that the step breaks, or ""
	fault  string   // of the step being taken

	raw     bool // leave the numbers of slots and generations as they come
	tracing bool
	notes   []string // per successor, when tracing: what was done
	note    string
}

func (m *model) mutant(x Mutant) bool { return m.cfg.Mutant == x }

// say describes the step being taken. Callers ask m.tracing first: the search
// itself must not format.
func (m *model) say(format string, args ...any) {
	if m.note != "" {
		m.note += "; "
	}
	m.note += fmt.Sprintf(format, args...)
}

// fail records the first property that a step breaks.
func (m *model) fail(format string, args ...any) {
	if m.fault == "" {
		m.fault = fmt.Sprintf(format, args...)
	}
}

// emit takes n as a successor.
func (m *model) emit(n *state) {
	m.inspectGrant(n)
	if m.raw {
		m.inspect(n)
	} else {
		n.canonical()
	}
	m.next = append(m.next, *n)
	m.faults = append(m.faults, m.fault)
	m.fault = ""
	if m.tracing {
		m.notes = append(m.notes, m.note)
		m.note = ""
	}
}

// initial is the state before the first frame.
func (m *model) initial() state {
	s := state{left: uint8(m.cfg.Frames), joins: uint8(m.cfg.Joins)}
	for i := range m.cfg.Readers {
		if i+1 < m.cfg.Readers || m.cfg.Joins == 0 {
			s.rd[i].flags = alive | present
		}
	}
	return s
}

// successors fills m.next with every state that one atomic step of anybody
// leads to.
func (m *model) successors(s *state) {
	m.next, m.faults, m.notes = m.next[:0], m.faults[:0], m.notes[:0]
	if s.down == 0 {
		m.publisher(s)
		if op := s.pub.op; (op == opPixels0 || op == opPixels1) && !m.cfg.Evict {
			// Nobody may look at the slot now, so that no step of anybody
			// depends on this one: all of them can as well come after it.
			return
		}
		m.controller(s)
		if m.cfg.DaemonDies {
			n := *s
			n.down, n.pub, n.ctl = 1, thread{}, thread{}
			if m.tracing {
				m.say("daemon: killed")
			}
			m.emit(&n)
		}
	}
	for i := range s.rd {
		if !s.rd[i].is(alive) {
			continue
		}
		m.taker(s, i)
		m.releaser(s, i)
		if m.cfg.Kills || s.down != 0 {
			m.kill(s, i)
		}
	}
}

// kill ends reader i; its page stays until the daemon notices.
func (m *model) kill(s *state, i int) {
	n := *s
	r := &n.rd[i]
	r.flags &^= alive | fresh
	r.hold, r.took, r.take, r.tv, r.rel, r.rv = 0, 0, 0, 0, 0, 0
	if !r.is(present) || n.down != 0 {
		*r = reader{}
	}
	if m.tracing {
		m.say("reader %d: dies", i)
	}
	m.emit(&n)
}

// inspectGrant checks that no frame is granted again. It needs the numbers
// that canonical takes away.
func (m *model) inspectGrant(s *state) {
	for i := range s.rd {
		if r := &s.rd[i]; r.mail != 0 && r.mail <= r.took && s.down == 0 {
			m.fail("newest wins: generation %d is granted to reader %d, which has taken %d", r.mail, i, r.took)
		}
	}
}

// inspect checks the properties that hold in every state. The search calls it
// once for each new state.
func (m *model) inspect(s *state) {
	for i := range s.rd {
		r := &s.rd[i]
		if r.is(alive) && !r.is(evicted) {
			for g := uint8(1); g <= maxGen; g++ {
				if r.hold&bit(g) != 0 && !s.slotOf(g).intact(g) {
					m.fail("torn frame: reader %d reads generation %d while its slot is written again", i, g)
				}
			}
		}
		if s.down != 0 {
			continue
		}
		if n := count(r.held); n > m.cfg.Credit+1 {
			m.fail("bound: reader %d is booked with %d leases, credit is %d", i, n, m.cfg.Credit)
		}
		if r.is(alive) && r.served() {
			m.inspectWake(s, i)
		}
	}
	if s.down == 0 {
		m.inspectSlots(s)
	}
}

// inspectWake checks that nobody sleeps over a frame, and that when everything
// has been said and done a reader with credit has the newest frame.
func (m *model) inspectWake(s *state, i int) {
	r := &s.rd[i]
	coming := s.pub.willWake(i) || s.ctl.willWake(i)
	if r.take == takeAsleep && r.mail != 0 && !coming {
		m.fail("lost wake-up: reader %d sleeps with generation %d in its mailbox, and nobody is about to wake it", i, r.mail)
	}
	quiet := s.pub.op == opIdle && s.ctl.op == opIdle && r.kicks == 0 && r.rel == relIdle && r.take != takeStore
	if quiet && count(r.hold) < m.cfg.Credit && r.mail != s.newest && r.took != s.newest {
		m.fail("newest wins: all is quiet, reader %d has credit, but generation %d was neither taken nor waits for it", i, s.newest)
	}
}

// inspectSlots checks the daemon's private truth.
func (m *model) inspectSlots(s *state) {
	var held [maxSlots]uint8
	for i := range s.rd {
		for g := uint8(1); g <= maxGen; g++ {
			if s.rd[i].held&bit(g) != 0 && s.at[g] != 0 {
				held[s.at[g]-1] |= 1 << i
			}
		}
	}
	for i := range s.slots {
		sl := &s.slots[i]
		newest := s.newest != 0 && int(s.at[s.newest]) == i+1
		if sl.leases() != held[i] {
			m.fail("leases: slot of generation %d has leases %02b, the readers are booked with %02b", sl.gen, sl.leases(), held[i])
		}
		switch sl.kind() {
		case slotFree:
			if newest {
				m.fail("leases: the slot of the retained generation %d is free", sl.gen)
			}
			if sl.leases() != 0 {
				m.fail("leases: the slot of generation %d is free and leased", sl.gen)
			}
		case slotPublished:
			if !newest && sl.leases() == 0 {
				m.fail("leases: the slot of generation %d is lost, neither leased nor retained nor free", sl.gen)
			}
		}
	}
}
