// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// distribution is the share of frames that were usable within a time, a line
// for each phase of the given payload. It is nil if there is nothing to draw.
func (r *run) distribution(size int) (*plot.Plot, error) {
	title := "From ready to usable: " + r.Stream
	if size > 0 {
		title = fmt.Sprintf("From ready to usable: payload of %s", bytesText(size))
	}
	p := newPlot(r.title(title), "time from ready to usable in µs", "frames that were usable by then in %")
	p.Legend.Top = false
	p.Legend.Left = false
	p.Legend.XOffs, p.Legend.YOffs = -4*p.Legend.XOffs, -2*p.Legend.YOffs
	n := 0
	low, high := 0.0, 0.0
	for i := range r.Phases {
		ph := &r.Phases[i]
		if ph.Size != size || len(ph.usable) == 0 {
			continue
		}
		line, err := plotter.NewLine(steps(ph.usable))
		if err != nil {
			return nil, err
		}
		line.LineStyle, _ = style(n, ph.Floor)
		p.Add(line)
		p.Legend.Add(fmt.Sprintf("%s, %d frames", ph.label(), len(ph.usable)), line)
		if first := ph.usable[0]; n == 0 || first < low {
			low = first
		}
		high = max(high, ph.usable[len(ph.usable)-1])
		n++
	}
	if n == 0 {
		return nil, nil
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	p.X.Min, p.X.Max = wholeDecades(low, high)
	p.Y.Min, p.Y.Max = 0, 100
	return p, nil
}

// mostSteps bounds the points of a line: more than there are pixels tell
// nothing.
const mostSteps = 1000

// steps are the points of the cumulative distribution of sorted values, in per
// cent.
func steps(sorted []float64) plotter.XYs {
	n := len(sorted)
	every := (n + mostSteps - 1) / mostSteps
	out := plotter.XYs{{X: sorted[0], Y: 0}}
	for i := every - 1; i < n; i += every {
		out = append(out, plotter.XY{X: sorted[i], Y: out[len(out)-1].Y}, plotter.XY{X: sorted[i], Y: float64(i+1) / float64(n) * 100})
	}
	return append(out, plotter.XY{X: sorted[n-1], Y: 100})
}

// bytesText is a size as decimal units.
func bytesText(n int) string {
	switch {
	case n >= 1_000_000:
		return trim(float64(n)/1e6) + " MB"
	case n >= 1000:
		return trim(float64(n)/1e3) + " kB"
	}
	return fmt.Sprintf("%d B", n)
}

func trim(v float64) string { return fmt.Sprintf("%.4g", v) }
