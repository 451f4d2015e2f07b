// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"time"

	"golang.org/x/sys/unix"
)

// Go's monotonic clock is CLOCK_MONOTONIC read through the vDSO, but only
// differences of it are public. anchor ties it to absolute values once, so that
// Monotonic costs no system call.
var anchor = newAnchor()

type clockAnchor struct {
	start time.Time
	nanos int64
}

func newAnchor() clockAnchor {
	best := clockAnchor{}
	width := time.Duration(1 << 62)
	for range 8 {
		before := time.Now()
		n := clock(unix.CLOCK_MONOTONIC)
		if w := time.Since(before); w < width {
			width = w
			best = clockAnchor{start: before, nanos: n - int64(w)/2}
		}
	}
	return best
}

func clock(id int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}

// Monotonic is CLOCK_MONOTONIC in nanoseconds: comparable between the
// processes of a host (within about 100 ns), without a system call.
func Monotonic() int64 { return anchor.nanos + int64(time.Since(anchor.start)) }

// Realtime is CLOCK_REALTIME in nanoseconds since 1970.
func Realtime() int64 { return time.Now().UnixNano() }

// Now is Monotonic and Realtime of one instant, for the price of one reading of
// each clock.
func Now() (monotonic, realtime int64) {
	t := time.Now()
	return anchor.nanos + int64(t.Sub(anchor.start)), t.UnixNano()
}
