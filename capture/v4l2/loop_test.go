// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestCounter(t *testing.T) {
	for _, c := range []struct {
		name    string
		numbers []uint32
		lost    int
		last    uint64
	}{
		{"in order", []uint32{0, 1, 2}, 0, 2},
		{"begins anywhere", []uint32{7, 8}, 0, 8},
		{"gap", []uint32{0, 5}, 4, 5},
		{"wraps", []uint32{0xffffffff, 0, 1}, 0, 0x100000001},
		{"gap over the wrap", []uint32{0xfffffffe, 1}, 2, 0x100000001},
		{"repeats", []uint32{3, 3, 4}, 0, 4},
		{"steps back", []uint32{5, 4, 6}, 1, 6},
		{"begins anew", []uint32{1000, 0, 1}, 0, 1},
		{"steps back below zero", []uint32{0, 0xffffffff}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n counter
			lost := 0
			for _, x := range c.numbers {
				lost += n.next(x)
			}
			if lost != c.lost || n.value != c.last {
				t.Errorf("%d lost, value %d; want %d and %d", lost, n.value, c.lost, c.last)
			}
		})
	}
}

func TestStamp(t *testing.T) {
	const now = 5_000_000_000
	for _, c := range []struct {
		name   string
		b      buffer
		stream frame.Clock
		at     int64
		clock  frame.Clock
	}{
		{"monotonic", buffer{Flags: bufFlagMonotonic, Seconds: 4, Micros: 7}, frame.ClockMonotonic, 4_000_007_000, frame.ClockUnknown},
		{"monotonic in a stream of arrivals", buffer{Flags: bufFlagMonotonic, Seconds: 4}, frame.ClockArrival, 4_000_000_000, frame.ClockMonotonic},
		{"in the future", buffer{Flags: bufFlagMonotonic, Seconds: 5, Micros: 1}, frame.ClockMonotonic, now, frame.ClockArrival},
		{"none", buffer{Flags: bufFlagMonotonic}, frame.ClockMonotonic, now, frame.ClockArrival},
		{"negative", buffer{Flags: bufFlagMonotonic, Seconds: -1}, frame.ClockMonotonic, now, frame.ClockArrival},
		{"of another clock", buffer{Seconds: 4}, frame.ClockMonotonic, now, frame.ClockArrival},
		{"of another clock, as always", buffer{Seconds: 4}, frame.ClockArrival, now, frame.ClockUnknown},
		{"copied from an output buffer", buffer{Flags: 0x4000, Seconds: 4}, frame.ClockArrival, now, frame.ClockUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, clock := stamp(&c.b, now, c.stream)
			if at != c.at || clock != c.clock {
				t.Errorf("%d of %v, want %d of %v", at, clock, c.at, c.clock)
			}
		})
	}
}
