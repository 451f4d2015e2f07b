// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
)

// ErrTooLarge reports that Config.MaxStates was reached before the end.
var ErrTooLarge = errors.New("too many states")

// Result says how much was explored.
type Result struct {
	States int // distinct states
	Steps  int // steps taken between them
	Depth  int // most steps from the first state to any, by the shortest way
}

// Violation is a property that a reachable state or step breaks, with the
// shortest way there.
type Violation struct {
	Property string
	Trace    []string // one line a step, what was done and the state after it
}

// Error gives property and trace.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s, after %d steps:\n%s", v.Property, len(v.Trace), strings.Join(v.Trace, "\n"))
}

// Run explores every state that cfg can reach, breadth first, and returns a
// *Violation for the first one that breaks a property. Other errors:
// ErrConfig, ErrTooLarge, and that of ctx.
func Run(ctx context.Context, cfg Config) (Result, error) {
	cfg, err := cfg.normal()
	if err != nil {
		return Result{}, err
	}
	m := &model{cfg: cfg}
	seen := newStore()
	first := m.initial()
	seen.add(&first, 0)
	level, following := []state{first}, []state(nil)

	res := Result{}
	done := 0 // states of earlier levels
	for len(level) > 0 {
		for k := range level {
			if k%4096 == 0 && ctx.Err() != nil {
				return res, ctx.Err()
			}
			m.successors(&level[k])
			res.Steps += len(m.next)
			for j := range m.next {
				fault := m.faults[j]
				if seen.add(&m.next[j], done+k) {
					following = append(following, m.next[j])
					if fault == "" {
						m.inspect(&m.next[j])
						fault, m.fault = m.fault, ""
					}
				}
				if fault != "" {
					res.States = seen.len()
					return res, &Violation{Property: fault, Trace: m.trace(seen, done+k)}
				}
			}
			if seen.len() > cfg.MaxStates {
				res.States = seen.len()
				return res, fmt.Errorf("%w: %d reached at depth %d", ErrTooLarge, seen.len(), res.Depth)
			}
		}
		done += len(level)
		level, following = following, level[:0]
		res.Depth++
	}
	res.Depth--
	res.States = seen.len()
	return res, nil
}

// trace tells the way from the first state to state i and the step after it
// that breaks a property. It goes the way again with the numbers of slots and
// generations as they come.
func (m *model) trace(seen *store, i int) []string {
	var way []int
	for ; i != 0; i = seen.parent(i) {
		way = append(way, i)
	}
	m.raw, m.tracing = true, true
	defer func() { m.raw, m.tracing = false, false }()
	var lines []string
	s := m.initial()
	for k := len(way) - 1; k >= -1; k-- {
		if s.newest >= maxGen-1 {
			s.canonical()
			lines = append(lines, "     (generations are numbered anew)")
		}
		m.successors(&s)
		for j := range m.next {
			c := m.next[j]
			c.canonical()
			if (k >= 0 && seen.key(&c) == seen.keys[way[k]/chunk][way[k]%chunk]) || (k < 0 && m.faults[j] != "") {
				lines = append(lines, fmt.Sprintf("%3d  %-78s  [%s]", len(lines)+1, m.notes[j], m.next[j].String()))
				s = m.next[j]
				break
			}
		}
	}
	return lines
}

const chunk = 1 << 14

// key stands for a state: 128 bits of hash. Among 10^8 states the chance that
// two share a key is below 10^-22.
type key [2]uint64

// store is the set of states seen, in the order of discovery, each with the
// number of the state that it was reached from.
type store struct {
	seeds   [2]maphash.Seed
	n       int
	keys    [][]key
	parents [][]uint32
	table   []uint64 // upper half of the key's first word, then number+1
}

func newStore() *store {
	return &store{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		table: make([]uint64, 1<<12),
	}
}

func (s *store) len() int         { return s.n }
func (s *store) parent(i int) int { return int(s.parents[i/chunk][i%chunk]) }

func (s *store) key(x *state) key {
	return key{maphash.Comparable(s.seeds[0], *x), maphash.Comparable(s.seeds[1], *x)}
}

// add takes x unless it is there already, and says whether it was new.
func (s *store) add(x *state, from int) bool {
	k := s.key(x)
	h := k[0] >> 32
	mask := uint64(len(s.table) - 1)
	p := h & mask
	for ; s.table[p] != 0; p = (p + 1) & mask {
		if s.table[p]>>32 == h {
			if i := int(uint32(s.table[p])) - 1; s.keys[i/chunk][i%chunk] == k {
				return false
			}
		}
	}
	if s.n%chunk == 0 {
		s.keys = append(s.keys, make([]key, chunk))
		s.parents = append(s.parents, make([]uint32, chunk))
	}
	s.keys[s.n/chunk][s.n%chunk] = k
	s.parents[s.n/chunk][s.n%chunk] = uint32(from)
	s.n++
	s.table[p] = h<<32 | uint64(s.n)
	if 8*s.n > 7*len(s.table) {
		s.grow()
	}
	return true
}

func (s *store) grow() {
	old := s.table
	s.table = make([]uint64, 2*len(old))
	mask := uint64(len(s.table) - 1)
	for _, e := range old {
		if e == 0 {
			continue
		}
		p := e >> 32 & mask
		for s.table[p] != 0 {
			p = (p + 1) & mask
		}
		s.table[p] = e
	}
}
