// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The bound is far above the error of the anchor (about 100 ns) and far below
// that of a wrong clock.
const clockSlack = int64(time.Millisecond)

func TestMonotonicIsTheKernels(t *testing.T) {
	for range 1000 {
		before := clock(unix.CLOCK_MONOTONIC)
		now := Monotonic()
		after := clock(unix.CLOCK_MONOTONIC)
		if now < before-clockSlack || now > after+clockSlack {
			t.Fatalf("Monotonic %d is not between %d and %d", now, before, after)
		}
	}
}

func TestMonotonicNeverGoesBack(t *testing.T) {
	last := Monotonic()
	for range 1000 {
		now := Monotonic()
		if now < last {
			t.Fatalf("%d after %d", now, last)
		}
		last = now
	}
}

func TestRealtimeIsTheKernels(t *testing.T) {
	before := clock(unix.CLOCK_REALTIME)
	now := Realtime()
	after := clock(unix.CLOCK_REALTIME)
	if now < before-clockSlack || now > after+clockSlack {
		t.Errorf("Realtime %d is not between %d and %d", now, before, after)
	}
}
