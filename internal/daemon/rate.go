// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import "time"

// rate follows the frame rate by an average over about a second. A stop begins a
// new average: it is no interval between frames.
type rate struct {
	last int64   // CLOCK_MONOTONIC of the newest frame
	mean float64 // interval, ns; 0 = there is none yet
}

func (r *rate) add(now int64) {
	d := float64(now - r.last)
	switch {
	case r.last == 0:
	case r.stopped(d):
		r.mean = 0
	case r.mean == 0:
		r.mean = d
	default:
		r.mean += (d - r.mean) * min(1, d/float64(time.Second)+0.02)
	}
	r.last = now
}

// stopped tells a stop of so many ns from an interval: more than two seconds and
// ten intervals.
func (r *rate) stopped(ns float64) bool {
	return r.mean > 0 && ns > max(10*r.mean, float64(2*time.Second))
}

// perSecond is 0 while the stream has stopped, and before its second frame.
func (r *rate) perSecond(now int64) float64 {
	if r.mean == 0 || r.stopped(float64(now-r.last)) {
		return 0
	}
	return float64(time.Second) / r.mean
}
