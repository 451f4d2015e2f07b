// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"math"
	"testing"
)

func TestSequences(t *testing.T) {
	s := NewSequences(2)
	a, b, c := GID{1}, GID{2}, GID{3}
	for i, step := range []struct {
		gid    GID
		number int64
		missed uint64
	}{
		{a, 17, 0}, // joined late
		{a, 18, 0},
		{b, 1, 0},
		{a, 21, 2},
		{b, 2, 0},
		{b, 2, 0}, // repeated
		{b, 1, 0}, // began anew under the same GID
		{b, 3, 1},
		{c, 100, 0}, // a takes its leave: it was silent the longest
		{b, 4, 0},
		{a, 500, 0}, // is new again, and c has gone
		{b, 5, 0},
		{b, math.MinInt64, 0},
		{b, math.MaxInt64, math.MaxUint64 - 1},
		{b, math.MinInt64, 0},
		{b, math.MaxInt64, math.MaxUint64 - 1},
	} {
		if got := s.Observe(Attachment{GID: step.gid, Sequence: step.number}); got != step.missed {
			t.Errorf("step %d: %d missed, want %d", i, got, step.missed)
		}
	}
	want := SequenceCounts{Messages: 16, Missed: math.MaxUint64, Repeated: 1, Restarts: 3, Publishers: 2, Forgotten: 2}
	if got := s.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if n := testing.AllocsPerRun(100, func() { s.Observe(Attachment{GID: b, Sequence: 1}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
