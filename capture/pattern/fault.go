// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
)

// faults are what goes wrong on request.
type faults struct {
	drop      float64       // part of the frames that never come, 0 to 1
	duplicate float64       // part of the frames that come twice
	jitter    time.Duration // frames come up to so much later than their stamp says
	stallRun  time.Duration // after so much time ...
	stallFor  time.Duration // ... nothing comes for so long, again and again
	resize    time.Duration // the size changes after each such time; 0 = never
}

func parseFaults(o *capture.Options) faults {
	f := faults{
		drop:      o.Percent("fault.drop", 0),
		duplicate: o.Percent("fault.duplicate", 0),
		jitter:    o.Duration("fault.jitter", 0),
		resize:    o.Duration("fault.resize", 0),
	}
	if v := o.String("fault.stall", ""); v != "" {
		var err error
		if f.stallRun, f.stallFor, err = parseStall(v); err != nil {
			o.RefuseKey("fault.stall", "option fault.stall=%s: %w", v, err)
		}
	}
	return f
}

// parseStall reads EVERY/FOR.
func parseStall(v string) (every, length time.Duration, err error) {
	a, b, ok := strings.Cut(v, "/")
	if ok {
		every, err = capture.ParseDuration(a)
		if err == nil {
			length, err = capture.ParseDuration(b)
		}
	}
	if !ok || err != nil || every <= 0 || length <= 0 {
		return 0, 0, fmt.Errorf("want EVERY/FOR, for example 10s/2s")
	}
	return every, length, nil
}

// stallEnd says until when, since the start, frames due at t since the start
// are stalled; 0 if they are not.
func (f faults) stallEnd(t time.Duration) time.Duration {
	if f.stallFor == 0 || t < 0 {
		return 0
	}
	period := f.stallRun + f.stallFor
	round := t / period * period
	if t-round < f.stallRun {
		return 0
	}
	return round + period
}

// second reports whether a frame due at t since the start has the second size.
func (f faults) second(t time.Duration) bool {
	return f.resize > 0 && t >= 0 && (t/f.resize)%2 == 1
}

// fate is what happens to one frame.
type fate struct {
	drop, duplicate bool
	delay           time.Duration
}

// fate draws the lot of the next frame; the same seed gives the same row. It
// draws the same number of times for each frame.
func (f faults) fate(r *rand.Rand) fate {
	d := fate{drop: r.Float64() < f.drop, duplicate: r.Float64() < f.duplicate}
	if u := r.Float64(); f.jitter > 0 {
		d.delay = time.Duration(u * float64(f.jitter))
	}
	return d
}
