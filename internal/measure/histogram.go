// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// Range of a [Histogram] in nanoseconds, and the samples that a p99.9 needs:
// with fewer than ten beyond it, it is noise.
const (
	histogramMin    = 1
	histogramMax    = 100 * secondNanos
	histogramDigits = 3
	p999Samples     = 10_000
)

// Histogram is a distribution of times in nanoseconds, 1 ns to 100 s, with
// percentiles good to three digits and exact minimum, maximum, mean and
// standard deviation. Recording does not allocate.
type Histogram struct {
	counts *hdr.Histogram
	exact  Running
}

// NewHistogram returns an empty one (about 220 KiB).
func NewHistogram() *Histogram {
	return &Histogram{counts: hdr.New(histogramMin, histogramMax, histogramDigits)}
}

// Record counts one time. Below 0 (clocks of two cores may differ by some
// nanoseconds) counts as 0; above 100 s counts as 100 s in the percentiles.
func (h *Histogram) Record(nanos int64) {
	nanos = max(nanos, 0)
	h.exact.Add(nanos)
	// The value is within range, which is the only thing that can fail.
	_ = h.counts.RecordValue(min(nanos, histogramMax))
}

// Count is the number of recorded times.
func (h *Histogram) Count() uint64 { return h.exact.Count() }

// Distribution is what a histogram says, in nanoseconds. P999 is 0 where there
// are too few samples for it (fewer than 10,000).
type Distribution struct {
	Count  uint64  `json:"count"`
	Min    int64   `json:"min"`
	Mean   float64 `json:"mean"`
	StdDev float64 `json:"stddev"`
	P50    int64   `json:"p50"`
	P90    int64   `json:"p90"`
	P99    int64   `json:"p99"`
	P999   int64   `json:"p999,omitempty"`
	Max    int64   `json:"max"`
}

// Distribution returns the state so far.
func (h *Histogram) Distribution() Distribution {
	s := h.exact.Spread()
	d := Distribution{Count: s.Count, Min: int64(s.Min), Mean: s.Mean, StdDev: s.StdDev, Max: int64(s.Max)}
	if s.Count == 0 {
		return d
	}
	// The library names the upper edge of a bucket, which may lie above the
	// largest value that was seen.
	at := func(q float64) int64 { return min(h.counts.ValueAtQuantile(q), d.Max) }
	d.P50, d.P90, d.P99 = at(50), at(90), at(99)
	if s.Count >= p999Samples {
		d.P999 = at(99.9)
	}
	return d
}
