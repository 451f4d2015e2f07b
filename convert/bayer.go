// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/binary"

	"github.com/seed-3c7e7623/camd/frame"
)

// mosaic is a Bayer source: where red is, how samples are stored and become
// eight bits.
type mosaic struct {
	g          frame.Geometry
	redX, redY int         // the red site of each square of 2x2
	levels     *levelTable // nil: samples are bytes
}

// redSite is the column and row of red in the square that the name spells row
// by row.
func redSite(e frame.Encoding) (x, y int) {
	switch e {
	case frame.BayerBGGR8, frame.BayerBGGR16:
		return 1, 1
	case frame.BayerGBRG8, frame.BayerGBRG16:
		return 0, 1
	case frame.BayerGRBG8, frame.BayerGRBG16:
		return 1, 0
	}
	return 0, 0
}

// loadBayer interpolates bilinearly. A colour that a site lacks is the rounded
// mean of its two or four nearest neighbours of that colour; 16-bit samples are
// interpolated before they become bytes.
func loadBayer(g frame.Geometry, l Levels) loader {
	m := &mosaic{g: g}
	m.redX, m.redY = redSite(g.Encoding)
	if g.Encoding.Wide() {
		m.levels = newLevelTable(l, g.SampleBits(), false)
	}
	return m.row
}

// row makes R G B A of row y.
func (m *mosaic) row(s *scratch, src []byte, y int) []byte {
	up, here, down := m.fetch(s, src, mirror(y-1, m.g.Height)), m.fetch(s, src, y), m.fetch(s, src, mirror(y+1, m.g.Height))
	out := s.row[:4*m.g.Width]
	// In a row of red sites the colour of the row is red, in the others blue.
	own, other, site := 0, 16, m.redX
	if y&1 != m.redY {
		own, other, site = 16, 0, 1-m.redX
	}
	if m.levels == nil {
		bytesOf(out, up, here, down, own, other, site)
	} else {
		m.levels.bytesOf(out, up, here, down, own, other, site)
	}
	return out
}

// bytesOf interpolates a row of bytes. own and other are the places, in bits,
// of the colour of this row and of the third colour; site is the parity of the
// columns that have the row's colour. The rows are mirrored by one at both ends:
// column x is at x+1.
func bytesOf(out []byte, up, here, down []uint16, own, other, site int) {
	for x := 0; len(out) >= 4 && len(up) >= 3 && len(here) >= 3 && len(down) >= 3; x++ {
		o, g, t := interpolate(up, here, down, x&1 == site)
		binary.LittleEndian.PutUint32(out, o<<own|g<<8|t<<other|opaqueAlpha)
		out, up, here, down = out[4:], up[1:], here[1:], down[1:]
	}
}

// bytesOf is the same for samples of 16 bits.
func (t *levelTable) bytesOf(out []byte, up, here, down []uint16, own, other, site int) {
	for x := 0; len(out) >= 4 && len(up) >= 3 && len(here) >= 3 && len(down) >= 3; x++ {
		o, g, third := interpolate(up, here, down, x&1 == site)
		w := uint32(t[uint16(o)])<<own | uint32(t[uint16(g)])<<8 | uint32(t[uint16(third)])<<other
		binary.LittleEndian.PutUint32(out, w|opaqueAlpha)
		out, up, here, down = out[4:], up[1:], here[1:], down[1:]
	}
}

// interpolate returns the row's own colour, green, and the third colour in the
// middle of three by three samples.
func interpolate(up, here, down []uint16, coloured bool) (own, green, third uint32) {
	u, h, d := up[:3], here[:3], down[:3]
	if coloured {
		green = (uint32(u[1]) + uint32(h[0]) + uint32(h[2]) + uint32(d[1]) + 2) >> 2
		third = (uint32(u[0]) + uint32(u[2]) + uint32(d[0]) + uint32(d[2]) + 2) >> 2
		return uint32(h[1]), green, third
	}
	return (uint32(h[0]) + uint32(h[2]) + 1) >> 1, uint32(h[1]), (uint32(u[1]) + uint32(d[1]) + 1) >> 1
}

// mirror brings a row or column that is one outside back in: with the same
// parity, so that it has the same colours.
func mirror(i, n int) int {
	switch {
	case n == 1:
		return 0
	case i < 0:
		return 1
	case i >= n:
		return n - 2
	}
	return i
}

// fetch returns row y with both ends mirrored. Neighbouring rows are kept from
// call to call.
func (m *mosaic) fetch(s *scratch, src []byte, y int) []uint16 {
	i := y % 3
	row := s.mosaic[i]
	if s.loaded[i] == y {
		return row
	}
	s.loaded[i] = y
	n := m.g.Width
	to := row[1 : n+1]
	if m.levels == nil {
		for x, v := range src[y*m.g.Step : y*m.g.Step+n] {
			to[x] = uint16(v)
		}
	} else {
		high, low := byteOrder(m.g)
		from := src[y*m.g.Step : y*m.g.Step+2*n]
		for x := range to {
			p := from[2*x : 2*x+2 : 2*x+2]
			to[x] = uint16(p[high])<<8 | uint16(p[low])
		}
	}
	row[0], row[n+1] = to[mirror(-1, n)], to[mirror(n, n)]
	return row
}
