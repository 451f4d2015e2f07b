// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

func TestUntilIsNeverEarly(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, 50 * time.Microsecond, time.Millisecond, 120 * time.Millisecond} {
		deadline := linux.Monotonic() + int64(d)
		if err := Until(t.Context(), deadline); err != nil {
			t.Fatal(err)
		}
		if now := linux.Monotonic(); now < deadline {
			t.Errorf("%v: %d ns early", d, deadline-now)
		}
	}
}

func TestUntilEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := Until(ctx, linux.Monotonic()+int64(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := Until(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("deadline in the past: %v", err)
	}
}

func TestUntilDoesNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(20, func() {
		if err := Until(t.Context(), linux.Monotonic()+1000); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		rate float64
		tick uint64
		at   int64
	}{
		{30, 0, 0},
		{30, 1, 33333333},
		{30, 3, 100000000},
		{30, 30 * 86400 * 365, 31536000e9}, // a year later to the nanosecond
		{1000, 5, 5e6},
		{30000.0 / 1001, 30000, 1001e9},
		{0.5, 1, 2e9},
	} {
		s := Schedule{Start: 7, Rate: c.rate}
		if got := s.At(c.tick) - 7; got-c.at > 4 || c.at-got > 4 {
			t.Errorf("%v/s: tick %d at %d, want %d", c.rate, c.tick, got, c.at)
		}
	}
	s := Schedule{Start: 1e9, Rate: 100}
	for _, c := range []struct {
		now  int64
		late uint64
	}{{0, 0}, {1e9 + 20e6, 0}, {1e9 + 20e6 + 9999999, 0}, {1e9 + 30e6, 1}, {1e9 + 59e6, 3}} {
		if got := s.Late(2, c.now); got != c.late {
			t.Errorf("tick 2 at %d: %d late, want %d", c.now, got, c.late)
		}
	}
	if s.Interval() != 10*time.Millisecond {
		t.Errorf("interval %v", s.Interval())
	}
}
