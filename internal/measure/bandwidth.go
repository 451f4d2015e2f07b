// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure

import "fmt"

// Bandwidth is what ros2 topic bw computes.
//
// Facts of the reference (ros2cli, ros2topic/verb/bw.py, class
// ROSTopicBandwidth, get_bw and print_bw, and _rostopic_bw): after subscribing
// it prints "Subscribed to [TOPIC]"; a timer of one second then prints a
// report, also when nothing new came; at least two messages are needed; the
// rate is the bytes in the window over the time from the window's oldest
// arrival until now; units are decimal, and the rate chooses one unit for the
// whole report.
type Bandwidth struct {
	arrivals window // nanoseconds
	sizes    window // bytes
	fresh    bool   // something came since the last report
}

// NewBandwidth keeps the newest window messages; [DefaultBandwidthWindow] is usual.
func NewBandwidth(window int) *Bandwidth {
	return &Bandwidth{arrivals: newWindow(window), sizes: newWindow(window)}
}

// Add counts a message of size bytes.
func (b *Bandwidth) Add(arrivalNanos int64, bytes int) {
	b.arrivals.add(arrivalNanos)
	b.sizes.add(int64(bytes))
	b.fresh = true
}

// Report returns the bandwidth as of now (same clock as the arrivals); call it
// once a second. It is false while there are fewer than two messages.
func (b *Bandwidth) Report(nowNanos int64) (BandwidthReport, bool) {
	if b.arrivals.len() < 2 {
		return BandwidthReport{}, false
	}
	b.fresh = false
	first := b.arrivals.first()
	if nowNanos <= first {
		b.arrivals.clear()
		b.sizes.clear()
		return BandwidthReport{}, false
	}
	size := b.sizes.spread()
	seconds := float64(nowNanos-first) / 1e9
	return BandwidthReport{BytesPerSecond: size.Mean * float64(size.Count) / seconds, Size: size}, true
}

// Final is Report at the end of a measurement, unless nothing came since the
// last one.
func (b *Bandwidth) Final(nowNanos int64) (BandwidthReport, bool) {
	if !b.fresh {
		return BandwidthReport{}, false
	}
	return b.Report(nowNanos)
}

// BandwidthReport is one report of [Bandwidth].
type BandwidthReport struct {
	BytesPerSecond float64
	Size           Spread // bytes per message
}

// String is the text of ros2 topic bw, without a newline at its end.
func (r BandwidthReport) String() string {
	unit := megabytes
	switch {
	case r.BytesPerSecond < 1e3:
		unit = plainBytes
	case r.BytesPerSecond < 1e6:
		unit = kilobytes
	}
	return fmt.Sprintf("%s/s from %d messages\n\tMessage size mean: %s min: %s max: %s",
		unit(r.BytesPerSecond), r.Size.Count, unit(r.Size.Mean), unit(r.Size.Min), unit(r.Size.Max))
}

func plainBytes(n float64) string { return fmt.Sprintf("%.0f B", n) }
func kilobytes(n float64) string  { return fmt.Sprintf("%.2f KB", n/1000) }
func megabytes(n float64) string  { return fmt.Sprintf("%.2f MB", n/1000/1000) }
