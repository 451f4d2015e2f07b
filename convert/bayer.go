// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/binary"

	"github.com/seed-3c7e7623/camd/frame"
)

// margin is how many columns stand before column 0 in an unpacked row, and
// after the last one: one mirrored, the other never looked at.
const margin = 2

// mosaic is a Bayer source: where red is, how samples are stored and become
// eight bits.
type mosaic struct {
	g          frame.Geometry
	redX, redY int // the red site of each square of 2x2
	levels     *levelTable
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
	if !g.Encoding.Wide() {
		l = Levels{} // bytes stay what they are
	}
	m.levels = newLevelTable(l, g.SampleBits(), false)
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
	t := m.levels
	for x := -site; x < m.g.Width; x += 2 {
		// Columns x-1 to x+2: the site of the row's colour is at 1, green at 2.
		u, h, d := (*[4]uint16)(up[x+margin-1:]), (*[4]uint16)(here[x+margin-1:]), (*[4]uint16)(down[x+margin-1:])
		cross := (uint32(u[1]) + uint32(h[0]) + uint32(h[2]) + uint32(d[1]) + 2) >> 2
		corners := (uint32(u[0]) + uint32(u[2]) + uint32(d[0]) + uint32(d[2]) + 2) >> 2
		a := uint32(t[h[1]])<<own | uint32(t[uint16(cross)])<<8 | uint32(t[uint16(corners)])<<other | opaqueAlpha
		beside := (uint32(h[1]) + uint32(h[3]) + 1) >> 1
		above := (uint32(u[2]) + uint32(d[2]) + 1) >> 1
		b := uint32(t[uint16(beside)])<<own | uint32(t[h[2]])<<8 | uint32(t[uint16(above)])<<other | opaqueAlpha
		switch {
		case x < 0:
			binary.LittleEndian.PutUint32(out, b)
		case x < m.g.Width-1:
			binary.LittleEndian.PutUint64(out[4*x:], uint64(a)|uint64(b)<<32)
		default:
			binary.LittleEndian.PutUint32(out[4*x:], a)
		}
	}
	return out
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
	to := row[margin : n+margin]
	if !m.g.Encoding.Wide() {
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
	row[margin-1], row[n+margin] = to[mirror(-1, n)], to[mirror(n, n)]
	return row
}
