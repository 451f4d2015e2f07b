// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure

import "fmt"

// Default windows of ros2 topic, in intervals (hz), messages (bw) and delays (delay).
const (
	DefaultRateWindow      = 10000
	DefaultBandwidthWindow = 100
	DefaultDelayWindow     = 10000
)

const secondNanos = 1_000_000_000

// Rate is what ros2 topic hz computes.
//
// Facts of the reference (ros2cli, ros2topic/verb/hz.py, class ROSTopicHz,
// callback_hz, get_hz and print_hz): the window holds intervals between
// arrivals, so n arrivals make window n-1; the number printed as "window" is
// the number of intervals; a report is looked for after every message; the
// first look that finds an interval prints nothing and only starts the clock;
// later ones print when the newest arrival is at least one second after the
// arrival of the last report. Nothing is printed while nothing arrives, and
// with one topic there is no line "Subscribed to".
type Rate struct {
	intervals   window
	first, last int64 // arrivals in nanoseconds; 0 = none yet
	looked      int64 // arrival at the last report, or at the first look
	reported    int64 // arrival at the last report that was given out
}

// NewRate keeps the newest window intervals; [DefaultRateWindow] is usual.
func NewRate(window int) *Rate { return &Rate{intervals: newWindow(window)} }

// Add counts an arrival, in nanoseconds of any steady clock.
func (r *Rate) Add(arrivalNanos int64) {
	if r.first == 0 || r.first > arrivalNanos {
		r.first, r.last = arrivalNanos, arrivalNanos
		r.intervals.clear()
		return
	}
	r.intervals.add(arrivalNanos - r.last)
	r.last = arrivalNanos
}

// Report returns the statistics if they are due; call it after each Add.
func (r *Rate) Report() (RateReport, bool) {
	switch {
	case r.intervals.len() == 0:
		return RateReport{}, false
	case r.looked == 0:
		r.looked = r.last
		return RateReport{}, false
	case r.last < r.looked+secondNanos:
		return RateReport{}, false
	}
	return r.report(), true
}

// Final returns the statistics at the end of a measurement, unless nothing
// arrived since the last report.
func (r *Rate) Final() (RateReport, bool) {
	if r.intervals.len() == 0 || r.last == r.reported {
		return RateReport{}, false
	}
	return r.report(), true
}

func (r *Rate) report() RateReport {
	r.looked, r.reported = r.last, r.last
	return RateReport{Interval: r.intervals.spread()}
}

// RateReport is one report of [Rate].
type RateReport struct {
	Interval Spread // nanoseconds
}

// Hz is the rate in 1/s: the inverse of the mean interval.
func (r RateReport) Hz() float64 {
	if r.Interval.Mean <= 0 {
		return 0
	}
	return 1 / r.Interval.Mean * 1e9
}

// String is the text of ros2 topic hz, without a newline at its end.
func (r RateReport) String() string { return averageText("rate", r.Hz(), r.Interval) }

// averageText is shared by hz and delay; s in nanoseconds.
func averageText(what string, average float64, s Spread) string {
	return fmt.Sprintf("average %s: %.3f\n\tmin: %.3fs max: %.3fs std dev: %.5fs window: %d",
		what, average, s.Min*1e-9, s.Max*1e-9, s.StdDev*1e-9, s.Count)
}
