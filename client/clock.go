// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"time"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// Bounds of what is no step of the system clock: reading two clocks takes time,
// and NTP makes the clock faster or slower by up to one in 2000.
const (
	stepSlack  = 5 * time.Millisecond
	stepSlew   = 1000 // one in so many
	readSlack  = int64(20 * time.Microsecond)
	readTrials = 3
)

// wallClock turns times of the system clock, which other processes and hosts
// send, into those of CLOCK_MONOTONIC, by the difference of the two as it is
// now. It tells when the system clock was set.
type wallClock struct {
	monotonic, realtime func() int64

	offset int64 // realtime - monotonic
	read   int64 // CLOCK_MONOTONIC when it was read; 0: never
}

func newWallClock() wallClock { return wallClock{monotonic: linux.Monotonic, realtime: linux.Realtime} }

// now reads both clocks. step is by how much the system clock was set since
// the reading before; 0 if it was not.
func (c *wallClock) now() (monotonic int64, step time.Duration) {
	var offset, best int64
	for i := range readTrials {
		a := c.monotonic()
		wall := c.realtime()
		b := c.monotonic()
		if i == 0 || b-a < best {
			monotonic, offset, best = b, wall-a-(b-a)/2, b-a
		}
		if best <= readSlack {
			break
		}
	}
	if c.read != 0 {
		moved := offset - c.offset
		if slack := int64(stepSlack) + (monotonic-c.read)/stepSlew + best; moved > slack || moved < -slack {
			step = time.Duration(moved)
		}
	}
	c.offset, c.read = offset, monotonic
	return monotonic, step
}

// at turns nanoseconds of the system clock into those of CLOCK_MONOTONIC; 0, not
// known, stays.
func (c *wallClock) at(wallNanos int64) int64 {
	if wallNanos == 0 {
		return 0
	}
	return wallNanos - c.offset
}
