// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// overSize is the median over the payload, a line for each backend and floor,
// with a bar up to the 99th percentile. It is nil if there is nothing to draw.
func (r *run) overSize(until string, values func(*phase) []float64) (*plot.Plot, error) {
	p := newPlot(r.title("From ready to "+until+": median, and bar to p99"), "payload in bytes", "time from ready to "+until+" in µs")
	low, high := 0.0, 0.0
	n := 0
	for _, name := range r.backends() {
		var points plotter.XYs
		var bars spans
		floor := false
		label := ""
		for i := range r.Phases {
			ph := &r.Phases[i]
			v := values(ph)
			if ph.Backend != name || len(v) == 0 {
				continue
			}
			floor = ph.Floor
			if l := ph.label(); len(l) > len(label) { // one that is not valid makes the line not valid
				label = l
			}
			x, mid, top := float64(ph.Size), quantile(v, 0.5), quantile(v, 0.99)
			points = append(points, plotter.XY{X: x, Y: mid})
			bars.at = append(bars.at, span{x, mid, top})
			if low == 0 || mid < low {
				low = mid
			}
			high = max(high, top)
		}
		if len(points) == 0 {
			continue
		}
		slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.LineStyle, marks.GlyphStyle = style(n, floor)
		bars.style = line.LineStyle
		bars.style.Width, bars.style.Dashes = vg.Points(0.6), nil
		bars.shift = vg.Points(float64(n%4)*2 - 3)
		p.Add(bars, line, marks)
		p.Legend.Add(label, line, marks)
		n++
	}
	if n == 0 {
		return nil, nil
	}
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = payloadTicks(r.sizes()), decades{}
	sizes := r.sizes()
	p.X.Min, p.X.Max = float64(sizes[0])/1.6, float64(sizes[len(sizes)-1])*1.6
	p.Y.Min, p.Y.Max = wholeDecades(low, high)
	return p, nil
}

// backends are the names of all, in the order of phases.
func (r *run) backends() []string {
	var out []string
	for i := range r.Phases {
		if b := r.Phases[i].Backend; !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	return out
}

// payloadTicks are marks at the sizes that were measured.
type payloadTicks []int

// Ticks implements plot.Ticker.
func (t payloadTicks) Ticks(_, _ float64) []plot.Tick {
	var out []plot.Tick
	for _, n := range t {
		out = append(out, plot.Tick{Value: float64(n), Label: bytesText(n)})
	}
	return out
}

// span is a vertical bar at x.
type span struct{ x, low, high float64 }

// spans draws bars, a little beside each other so that those of several lines
// can be told apart. It implements plot.Plotter.
type spans struct {
	at    []span
	style draw.LineStyle
	shift vg.Length
}

// Plot implements plot.Plotter.
func (s spans) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	half := vg.Points(2)
	for _, b := range s.at {
		at := x(b.x) + s.shift
		c.StrokeLine2(s.style, at, y(b.low), at, y(b.high))
		c.StrokeLine2(s.style, at-half, y(b.high), at+half, y(b.high))
	}
}
