// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	black = color.Gray{0}
	grey  = color.Gray{150}
	pale  = color.Gray{215}
)

// Dashes and marks of the lines, in the order of phases. Floors are grey.
var (
	dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}, {vg.Points(8), vg.Points(2), vg.Points(2), vg.Points(2)}}
	marks  = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.PlusGlyph{}}
)

// style tells lines apart without colour. n counts the lines of a picture.
func style(n int, floor bool) (draw.LineStyle, draw.GlyphStyle) {
	line := draw.LineStyle{Color: black, Width: vg.Points(1.2), Dashes: dashes[n%len(dashes)]}
	mark := draw.GlyphStyle{Color: black, Radius: vg.Points(2.6), Shape: marks[n%len(marks)]}
	if floor {
		line.Color, mark.Color = grey, grey
		line.Width = vg.Points(1)
	}
	return line, mark
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font.Size = font.Points(11)
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Padding, p.Y.Padding = 0, 0
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(8), vg.Points(-6)
	p.Legend.ThumbnailWidth = vg.Points(34)
	p.Legend.Padding = vg.Points(2)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = pale, pale
	grid.Horizontal.Dashes, grid.Vertical.Dashes = nil, nil
	p.Add(grid)
	return p
}

// decades are marks at powers of ten, and small ones between them.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	for d := 1e-3; d <= high*10; d *= 10 {
		for i := 1; i < 10; i++ {
			v := d * float64(i)
			if v < low*0.999 || v > high*1.001 {
				continue
			}
			t := plot.Tick{Value: v}
			if i == 1 {
				t.Label = strconv.FormatFloat(v, 'f', -1, 64)
			}
			out = append(out, t)
		}
	}
	return out
}

// wholeDecades widens a range to powers of ten.
func wholeDecades(low, high float64) (float64, float64) {
	from, to := 1e-3, 1e-3
	for from*10 <= low {
		from *= 10
	}
	for to < high {
		to *= 10
	}
	return from, max(to, from*10)
}
