// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"
	"time"
)

// stepNanos is how far wall clock and monotonic clock may drift apart within a
// phase. Both are slewed alike (adjtimex(2)); only a step parts them.
const stepNanos = int64(time.Millisecond)

// stepWatch finds steps of the wall clock, and time in which the host slept.
type stepWatch struct {
	clocks func() (monotonicNanos, wallNanos int64)
	base   int64 // wall - monotonic
	seen   bool
}

func newStepWatch(clocks func() (int64, int64)) *stepWatch {
	s := &stepWatch{clocks: clocks}
	s.base = s.offset()
	return s
}

// offset is wall - monotonic, the median of some readings: one can be
// interrupted between the two clocks.
func (s *stepWatch) offset() int64 {
	var all [5]int64
	for i := range all {
		m, w := s.clocks()
		all[i] = w - m
	}
	slices.Sort(all[:])
	return all[len(all)/2]
}

// look reports a step once.
func (s *stepWatch) look() (problem string) {
	d := s.offset() - s.base
	if s.seen || max(d, -d) < stepNanos {
		return ""
	}
	s.seen = true
	return fmt.Sprintf("the wall clock was stepped by %v against the monotonic clock", time.Duration(d))
}
