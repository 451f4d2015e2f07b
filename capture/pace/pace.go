// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package pace lets sources of made or recorded frames keep time: absolute
// deadlines on CLOCK_MONOTONIC, so that errors never add up. Devices pace
// themselves and do not need it.
package pace

import (
	"context"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// slice bounds how long a wait goes on after its context is done.
const slice = 100 * time.Millisecond

// Until returns nil at deadline, CLOCK_MONOTONIC in nanoseconds, or ctx.Err()
// within 100 ms after ctx is done. It sleeps in the kernel by an absolute high
// resolution timer, because Go's own timers are late by about a millisecond. It
// does not allocate.
func Until(ctx context.Context, deadline int64) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := linux.Monotonic()
		if now >= deadline {
			return nil
		}
		ts := unix.NsecToTimespec(min(deadline, now+int64(slice)))
		if err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil); err != nil && err != unix.EINTR {
			return err
		}
	}
}

// Schedule is a row of deadlines at a fixed rate.
type Schedule struct {
	Start int64   // CLOCK_MONOTONIC of tick 0, ns
	Rate  float64 // ticks per second, > 0
}

// At is the deadline of tick n, CLOCK_MONOTONIC in nanoseconds, computed from
// the start each time, so that rounding does not add up.
func (s Schedule) At(n uint64) int64 {
	return s.Start + int64(math.Round(float64(n)*(1e9/s.Rate)))
}

// Interval is the nominal time from tick to tick.
func (s Schedule) Interval() time.Duration {
	return time.Duration(math.Round(1e9 / s.Rate))
}

// Late is how many whole ticks have passed since the deadline of tick n.
func (s Schedule) Late(n uint64, now int64) uint64 {
	behind := now - s.At(n)
	if behind <= 0 {
		return 0
	}
	return uint64(float64(behind) * s.Rate / 1e9)
}
