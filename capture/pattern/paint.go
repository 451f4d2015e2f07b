// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"slices"

	"github.com/seed-3c7e7623/camd/frame"
)

// colour is one colour in both worlds: full range RGB and BT.601 limited YUV.
type colour struct {
	r, g, b byte
	y, u, v byte
	mono    byte
}

// rgb converts with the integer form of BT.601 (ITU-R BT.601, 8 bits), limited
// range for YUV and full range for mono8.
func rgb(r, g, b int) colour {
	return colour{
		r: byte(r), g: byte(g), b: byte(b),
		y:    byte((66*r+129*g+25*b+128)>>8 + 16),
		u:    byte((-38*r-74*g+112*b+128)>>8 + 128),
		v:    byte((112*r-94*g-18*b+128)>>8 + 128),
		mono: byte((77*r + 150*g + 29*b + 128) >> 8),
	}
}

// The colours of the picture: 75 % bars from white to black, and what is drawn
// over them.
func bars() [8]colour {
	const f = 191 // 75 %
	return [8]colour{
		rgb(f, f, f), rgb(f, f, 0), rgb(0, f, f), rgb(0, f, 0),
		rgb(f, 0, f), rgb(f, 0, 0), rgb(0, 0, f), rgb(0, 0, 0),
	}
}

func black() colour { return rgb(0, 0, 0) }
func white() colour { return rgb(255, 255, 255) }
func grey() colour  { return rgb(96, 96, 96) }

// encodings are those that the picture can be painted in.
func encodings() []frame.Encoding {
	return []frame.Encoding{
		frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.Mono8,
		frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12,
	}
}

func canPaint(e frame.Encoding) bool { return slices.Contains(encodings(), e) }

// brush is one full row of each plane; painting copies parts of it. x positions
// and widths that are painted must be even where chroma is shared.
type brush struct {
	g     frame.Geometry
	plane [2][]byte
}

func newBrush(g frame.Geometry) *brush {
	b := &brush{g: g}
	for i := range g.PlaneCount() {
		b.plane[i] = make([]byte, g.Plane(i).RowBytes)
	}
	return b
}

// colour sets pixels x0 <= x < x1 of the brush.
func (b *brush) colour(x0, x1 int, c colour) {
	row := b.plane[0]
	switch b.g.Encoding {
	case frame.RGB8:
		for x := x0; x < x1; x++ {
			row[3*x], row[3*x+1], row[3*x+2] = c.r, c.g, c.b
		}
	case frame.BGR8:
		for x := x0; x < x1; x++ {
			row[3*x], row[3*x+1], row[3*x+2] = c.b, c.g, c.r
		}
	case frame.RGBA8:
		for x := x0; x < x1; x++ {
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = c.r, c.g, c.b, 255
		}
	case frame.BGRA8:
		for x := x0; x < x1; x++ {
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = c.b, c.g, c.r, 255
		}
	case frame.Mono8:
		for x := x0; x < x1; x++ {
			row[x] = c.mono
		}
	case frame.YUV422YUY2:
		for x := x0 &^ 1; x < x1; x += 2 {
			row[2*x], row[2*x+1], row[2*x+2], row[2*x+3] = c.y, c.u, c.y, c.v
		}
	case frame.YUV422UYVY:
		for x := x0 &^ 1; x < x1; x += 2 {
			row[2*x], row[2*x+1], row[2*x+2], row[2*x+3] = c.u, c.y, c.v, c.y
		}
	case frame.NV12:
		for x := x0; x < x1; x++ {
			row[x] = c.y
		}
		for x := x0 &^ 1; x < x1; x += 2 {
			b.plane[1][x], b.plane[1][x+1] = c.u, c.v
		}
	}
}

// rect is a part of the picture in pixels, x0 <= x < x1, y0 <= y < y1.
type rect struct{ x0, y0, x1, y1 int }

// paint copies the brush into the rectangle.
func (b *brush) paint(data []byte, r rect) {
	g := b.g
	pixel := g.Encoding.BytesPerPixel()
	for i := range g.PlaneCount() {
		p := g.Plane(i)
		from, to, y0, y1 := r.x0*pixel, r.x1*pixel, r.y0, r.y1
		if i == 1 {
			from, to, y0, y1 = r.x0&^1, (r.x1+1)&^1, r.y0/2, (r.y1+1)/2
		} else if pixel == 2 {
			to = (r.x1 + 1) &^ 1 * pixel
		}
		part := b.plane[i][from:to]
		at := p.Offset + y0*p.Step + from
		for range y1 - y0 {
			copy(data[at:], part)
			at += p.Step
		}
	}
}
