// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/ring"
)

func TestMemory(t *testing.T) {
	cases := map[string]struct {
		limits        limits
		held          int
		slots, budget int
	}{
		"default":                     {limits{subscribers: 8, credit: 2}, 1, 27, 24},
		"the source holds four":       {limits{subscribers: 8, credit: 2}, 4, 30, 24},
		"more than a ring can have":   {limits{subscribers: 64, credit: 16}, 4, ring.MaxSlots, ring.MaxSlots - 6},
		"chosen by hand":              {limits{subscribers: 8, credit: 2, slots: 5}, 1, 5, 24},
		"chosen so that all have it":  {limits{subscribers: 2, credit: 1, slots: 50}, 1, 50, 4},
		"source that says nothing":    {limits{subscribers: 1, credit: 1}, 0, 5, 2},
		"a source that holds a lot":   {limits{subscribers: 64, credit: 16}, 32, ring.MaxSlots, ring.MaxSlots - 34},
		"as many as just fit":         {limits{subscribers: 83, credit: 2}, 3, ring.MaxSlots, 249},
		"one more than would just do": {limits{subscribers: 84, credit: 2}, 3, ring.MaxSlots, 249},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			slots, budget, _ := c.limits.memory(c.held, 0)
			if slots != c.slots || budget != c.budget {
				t.Errorf("%d slots and a budget of %d, want %d and %d", slots, budget, c.slots, c.budget)
			}
			// A reader in the daemon takes nothing from the others, or knows that
			// it may not.
			const local = 3
			slots, budget, tight := c.limits.memory(c.held, local)
			if !tight && slots < ring.SlotsFor(c.held, 0, 0)+local+min(budget, c.limits.credit+1) {
				t.Errorf("beside %d of the daemon: %d slots and a budget of %d", local, slots, budget)
			}
		})
	}
}

func TestRoom(t *testing.T) {
	limit := func(max, inuse int64) []linux.Limit {
		return []linux.Limit{{Name: "wide", Max: 1 << 50}, {Name: "memory.max", Max: max, Inuse: inuse}}
	}
	cases := map[string]struct {
		limits []linux.Limit
		fits   bool
	}{
		"no limit":          {nil, true},
		"fits just":         {limit(reserve+3*4096, 0), true},
		"a page too little": {limit(reserve+2*4096, 0), false},
		"in use":            {limit(reserve+3*4096, 1), false},
		"over it already":   {limit(1000, 2000), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := room("a/color", 2, 4000, 4096, c.limits)
			if c.fits != (err == nil) {
				t.Fatalf("got %v", err)
			}
			if err != nil && (!errors.Is(err, errMemory) || !strings.Contains(err.Error(), "memory.max")) {
				t.Errorf("error %q does not name the limit", err)
			}
		})
	}
}

func TestMemoryError(t *testing.T) {
	cases := map[string]struct {
		err       error
		first     bool
		want      error
		permanent bool
	}{
		"no room at first":  {errMemory, true, capture.ErrUnsupported, true},
		"no room later":     {errMemory, false, errMemory, false},
		"no memory at all":  {linux.ErrNoMemory, true, capture.ErrUnsupported, true},
		"too many files":    {unix.EMFILE, true, unix.EMFILE, false},
		"impossible ring":   {ring.ErrConfig, true, capture.ErrConfig, true},
		"impossible, later": {ring.ErrConfig, false, capture.ErrConfig, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := memoryError("a/color", c.first, c.err)
			permanent := errors.Is(err, capture.ErrUnsupported) || errors.Is(err, capture.ErrConfig)
			if !errors.Is(err, c.want) || !errors.Is(err, c.err) || permanent != c.permanent {
				t.Errorf("got %v, given up %v", err, permanent)
			}
		})
	}
}

func TestCheckFiles(t *testing.T) {
	cameras := []*camera{{limits: limits{subscribers: 8}}, {limits: limits{subscribers: 1}}}
	need := int64(filesBase + 2*filesCamera + 9*filesSubscriber)
	if err := checkFiles(cameras, need); err != nil {
		t.Errorf("with just enough: %v", err)
	}
	err := checkFiles(cameras, need-1)
	if !errors.Is(err, ErrLimits) || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("with one too few: %v", err)
	}
}

// What one subscriber can cost the others is evict_after twice.
func TestForceAfter(t *testing.T) {
	for _, c := range []struct{ evict, want time.Duration }{
		{0, 5 * time.Second}, // never evicted for that
		{time.Millisecond, 100 * time.Millisecond},
		{100 * time.Millisecond, 100 * time.Millisecond},
		{500 * time.Millisecond, 500 * time.Millisecond},
		{5 * time.Second, 5 * time.Second},
		{time.Hour, 5 * time.Second},
	} {
		if got := (limits{evictAfter: c.evict}).forceAfter(); got != c.want {
			t.Errorf("evict_after=%v: taken back after %v, want %v", c.evict, got, c.want)
		}
	}
	c, err := newCamera(&Daemon{log: slog.New(slog.DiscardHandler)}, spec(t, "a=pattern,evict_after=300ms"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.stream("color").shm.ForceAfter; got != 300*time.Millisecond {
		t.Errorf("the stream takes frames back after %v", got)
	}
}

func TestTakeLimits(t *testing.T) {
	s := spec(t, "a=pattern,64x64@10,credit=3,slots=9,evict_after=2s,required=true,max_subscribers=4,style=bars")
	l, err := takeLimits(&s)
	if err != nil {
		t.Fatal(err)
	}
	if want := (limits{subscribers: 4, credit: 3, slots: 9, evictAfter: 2e9, required: true}); l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	if len(s.Options) != 1 || s.Options["style"] != "bars" {
		t.Errorf("left for the source: %v", s.Options)
	}
	for _, bad := range []string{"credit=17", "credit=0", "slots=255", "max_subscribers=0", "evict_after=soon", "required=perhaps"} {
		s := spec(t, "a=pattern,"+bad)
		if _, err := takeLimits(&s); !errors.Is(err, capture.ErrConfig) {
			t.Errorf("%s: %v, want %v", bad, err, capture.ErrConfig)
		}
	}
}
