// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"image"
	"image/color"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// facts are what the overlay tells.
type facts struct {
	stream   string
	geometry frame.Geometry // of the picture that is shown
	sequence uint64
	path     client.Path
	missed   uint64 // published, and not taken
	unshown  uint64 // taken, and not shown
	dropped  uint64 // never came out of the device
	figures  figures
	paused   bool
}

// lines are the text of the overlay.
func (f *facts) lines() []string {
	out := []string{f.stream}
	if f.geometry.Width > 0 {
		out[0] += "  " + f.geometry.String()
	}
	if f.paused { // not below, where a low window has no room
		out = append(out, "paused")
	}
	if g := f.figures; g.known {
		out = append(out, fmt.Sprintf("rate %.1f Hz, shown %.1f Hz", g.published, g.shown))
		out = append(out, latencies(g)...)
	}
	if f.path.Backend != "" {
		by := fmt.Sprintf("by %s", f.path.Backend)
		if over := f.path.Over(f.stream); over != "" {
			by += " (" + over + ")"
		}
		if better := negotiate.Better(f.path.Rejected, f.path.Backend); len(better) > 0 {
			by += "; not " + negotiate.Summary(better) + negotiate.ClientDetails(better)
		}
		out = append(out, by)
	}
	last := fmt.Sprintf("missed %d, dropped %d, not shown %d", f.missed, f.dropped, f.unshown)
	if f.geometry.Width > 0 {
		last = fmt.Sprintf("frame %d, %s", f.sequence, last)
	}
	return append(out, last)
}

// latencies leave out what is not known: of frames that come by cpu that is ready.
func latencies(g figures) []string {
	var out []string
	one := func(what string, s span) {
		if s.n > 0 {
			out = append(out, fmt.Sprintf("%s %.1f ms, at most %.1f", what, s.mean()/1e6, float64(s.max)/1e6))
		}
	}
	if g.readyShown.n > 0 {
		one("ready to shown", g.readyShown)
	} else {
		one("publish to shown", g.publishShown)
	}
	one("capture to held", g.captureToHeld)
	return out
}

// How text is written: sizes in pixels.
const (
	font        = gocv.FontHersheySimplex
	thickness   = 1
	margin      = 6
	lineSpacing = 1.7 // heights of a letter from line to line
	shade       = 0.35
	smallArea   = 480 // narrower windows have smaller letters
)

func fontScale(area image.Point) float64 {
	if area.X < smallArea {
		return 0.38
	}
	return 0.5
}

// corner is where a text stands.
type corner int

const (
	topLeft corner = iota
	centre
)

// write writes lines, wrapped, on a shaded ground, and cuts off what has no room.
func write(canvas *gocv.Mat, at corner, text []string) {
	area := image.Pt(canvas.Cols(), canvas.Rows())
	scale := fontScale(area)
	measure := func(s string) int { return gocv.GetTextSize(s, font, scale, thickness).X }
	height := gocv.GetTextSize("Ag", font, scale, thickness).Y
	step := int(float64(height) * lineSpacing)
	room := area.X - 4*margin
	if room < step || area.Y < step+2*margin {
		return
	}
	var lines []string
	for _, l := range text {
		lines = append(lines, wrap(printable(l), room, measure)...)
	}
	if most := (area.Y - 4*margin) / step; len(lines) > most {
		lines = lines[:most]
	}
	width := 0
	for _, l := range lines {
		width = max(width, measure(l))
	}
	box := image.Rect(0, 0, width+2*margin, len(lines)*step+2*margin)
	if len(lines) == 0 || box.Dx() > area.X || box.Dy() > area.Y {
		return
	}
	if at == centre {
		box = box.Add(area.Sub(box.Size()).Div(2))
	}
	darken(canvas, box)
	for i, l := range lines {
		pt := box.Min.Add(image.Pt(margin, margin+i*step+height))
		gocv.PutTextWithParams(canvas, l, pt, font, scale, color.RGBA{255, 255, 255, 255}, thickness, gocv.LineAA, false)
	}
}

// darken leaves a part of the brightness.
func darken(canvas *gocv.Mat, r image.Rectangle) {
	part := canvas.Region(r)
	defer part.Close()
	gocv.AddWeighted(part, shade, part, 0, 0, &part)
}
