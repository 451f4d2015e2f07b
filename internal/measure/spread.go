// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure

import "math"

// Spread describes a set of values in their own unit. StdDev is the population
// standard deviation, sqrt(sum((x-mean)^2)/n).
type Spread struct {
	Count  uint64  `json:"count"`
	Min    float64 `json:"min"`
	Mean   float64 `json:"mean"`
	Max    float64 `json:"max"`
	StdDev float64 `json:"stddev"`
}

// Scale returns the spread in another unit: every value times factor, which
// must be positive.
func (s Spread) Scale(factor float64) Spread {
	return Spread{Count: s.Count, Min: s.Min * factor, Mean: s.Mean * factor, Max: s.Max * factor, StdDev: s.StdDev * factor}
}

// Running accumulates a Spread without keeping the values. The zero value is
// empty. Method: B. P. Welford, Technometrics 4 (1962), which stays exact where
// the sum of squares would cancel.
type Running struct {
	n        uint64
	min, max int64
	mean, m2 float64
}

// Add counts one value.
func (r *Running) Add(v int64) {
	if r.n == 0 || v < r.min {
		r.min = v
	}
	if r.n == 0 || v > r.max {
		r.max = v
	}
	r.n++
	d := float64(v) - r.mean
	r.mean += d / float64(r.n)
	r.m2 += d * (float64(v) - r.mean)
}

// Count is the number of values so far.
func (r *Running) Count() uint64 { return r.n }

// Spread is the state so far; all zero when nothing was added.
func (r *Running) Spread() Spread {
	if r.n == 0 {
		return Spread{}
	}
	return Spread{
		Count: r.n, Min: float64(r.min), Mean: r.mean, Max: float64(r.max),
		StdDev: math.Sqrt(r.m2 / float64(r.n)),
	}
}
