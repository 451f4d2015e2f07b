// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"github.com/seed-3c7e7623/camd/frame"
)

// maxSlots bounds capture.Slot.Index.
const maxSlots = 254

// picture draws the frames of one format. It remembers what it drew into each
// slot, so that a frame costs what has changed: the box, the barcodes and the
// numbers.
type picture struct {
	g        frame.Geometry
	cell     int // side of a barcode cell, 0 = none
	bottom   int // first row of the lower barcode
	side     int // side of the box, 0 = none
	spread   uint64
	ground   *brush
	box      *brush
	code     *brush
	slots    [maxSlots]drawn
	previous [maxSlots]rect
}

// drawn is what is known of a slot's contents.
type drawn struct {
	ground bool
	data   *byte // where the slot's memory was then
}

// newPicture prepares drawing. spread moves the path of the box.
func newPicture(g frame.Geometry, style string, spread uint64) *picture {
	p := &picture{g: g, spread: spread, ground: newBrush(g)}
	if style == styleRows {
		p.ground.colour(0, g.Width, grey())
		return p
	}
	all := bars()
	for i, c := range all {
		x0, x1 := i*g.Width/len(all)&^1, (i+1)*g.Width/len(all)&^1
		if i == len(all)-1 {
			x1 = g.Width
		}
		p.ground.colour(x0, x1, c)
	}
	p.cell = cellSize(g.Width, g.Height)
	p.bottom = bottomRow(g.Height, p.cell)
	p.code = newBrush(g)
	p.code.colour(0, g.Width, black())
	for i := 0; i < preambleCells && p.cell > 0; i += 2 {
		p.cellColour(i, true)
	}
	if side := min(g.Width, g.Height) / 8 &^ 1; side >= 2 && g.Width-side >= 2 && p.bottom-p.cell-side >= 2 {
		p.side = side
		p.box = newBrush(g)
		p.box.colour(0, g.Width, white())
	}
	return p
}

func (p *picture) cellColour(i int, set bool) {
	c := black()
	if set {
		c = white()
	}
	x := codeMargin + i*p.cell
	p.code.colour(x, x+p.cell, c)
}

// draw makes frame number of the slot. c is what its barcodes say.
func (p *picture) draw(index int, data []byte, number uint64, c Code) {
	s := &p.slots[index]
	if !s.ground || s.data != &data[0] {
		p.ground.paint(data, rect{0, 0, p.g.Width, p.g.Height})
		s.ground, s.data = true, &data[0]
	} else if p.side > 0 {
		p.ground.paint(data, p.previous[index])
	}
	if p.side > 0 {
		r := p.boxAt(number)
		p.box.paint(data, r)
		p.previous[index] = r
	}
	if p.cell > 0 {
		bits := c.bits()
		for i := range payloadCells + crcCells {
			p.cellColour(preambleCells+i, bits[i/8]&(0x80>>(i%8)) != 0)
		}
		right := codeMargin + codeCells*p.cell
		p.code.paint(data, rect{0, 0, right, p.cell})
		p.code.paint(data, rect{0, p.bottom, right, p.bottom + p.cell})
	}
	writeNumbers(p.g, data, number)
}

// boxAt is where the box is in a frame: it runs to and fro between the edges
// and the barcodes, by even pixels, so that chroma moves with it.
func (p *picture) boxAt(number uint64) rect {
	n := number + p.spread
	x := bounce(n*4, uint64(p.g.Width-p.side))
	y := p.cell + bounce(n*2, uint64(p.bottom-p.cell-p.side))
	x, y = x&^1, y&^1
	return rect{x, y, x + p.side, y + p.side}
}

// bounce runs from 0 to room and back as n grows.
func bounce(n, room uint64) int {
	n %= 2 * room
	return int(min(n, 2*room-n))
}
