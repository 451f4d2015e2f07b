// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"

	"github.com/seed-3c7e7623/camd/frame"
)

// levelTable says which byte each 16-bit sample becomes.
type levelTable [1 << 16]byte

// newLevelTable is linear from Black to White; without levels it takes the
// highest eight of the bits used. Samples above what the bits can say are white.
func newLevelTable(l Levels, bits int, depth bool) *levelTable {
	t := new(levelTable)
	for i := range t {
		switch {
		case l.Black == l.White:
			t[i] = byte(min(i, 1<<bits-1) >> (bits - 8))
		default:
			x := float64(i-int(l.Black)) / float64(int(l.White)-int(l.Black))
			t[i] = byte(math.Round(255 * min(max(x, 0), 1)))
		}
	}
	if depth {
		t[0] = 0
	}
	return t
}

// byteOrder is where the high and the low byte of a sample are.
func byteOrder(g frame.Geometry) (high, low int) {
	if g.BigEndian {
		return 0, 1
	}
	return 1, 0
}

// loadWide makes grey of mono16 and of depth.
func loadWide(g frame.Geometry, l Levels) loader {
	t := newLevelTable(l, g.SampleBits(), g.Encoding == frame.Depth16)
	high, low := byteOrder(g)
	step, n := g.Step, g.Width
	return func(s *scratch, src []byte, y int) []byte {
		from, to := src[y*step:y*step+2*n], s.row[:n]
		for i := range to {
			p := from[2*i : 2*i+2 : 2*i+2]
			to[i] = t[uint16(p[high])<<8|uint16(p[low])]
		}
		return to
	}
}

// loadStereo makes grey of one side of y8i and y12i.
func loadStereo(g frame.Geometry, o Options) loader {
	step, n := g.Step, g.Width
	side := int(o.Side & 1)
	if g.Encoding == frame.Y8I {
		return func(s *scratch, src []byte, y int) []byte {
			from, to := src[y*step:y*step+2*n], s.row[:n]
			for i := range to {
				to[i] = from[2*i+side]
			}
			return to
		}
	}
	t := newLevelTable(o.Levels, g.SampleBits(), false)
	return func(s *scratch, src []byte, y int) []byte {
		from, to := src[y*step:y*step+3*n], s.row[:n]
		for i := range to {
			to[i] = t[twelve(from[3*i:3*i+3:3*i+3], side)]
		}
		return to
	}
}

// twelve is one of the two samples in a word of 24 bits.
func twelve(p []byte, side int) uint16 {
	if side == 0 {
		return uint16(p[0]) | uint16(p[1]&15)<<8
	}
	return uint16(p[1]>>4) | uint16(p[2])<<4
}

// stereo16 makes mono16 with twelve bits used of one side of y12i.
func stereo16(src, dst frame.Geometry, side Side) rowFunc {
	if dst.Bits != 12 {
		return nil
	}
	high, low := byteOrder(dst)
	which := int(side & 1)
	return func(_ *scratch, to, from []byte, y int) {
		a, b := from[y*src.Step:y*src.Step+3*src.Width], to[y*dst.Step:y*dst.Step+2*src.Width]
		for i := range src.Width {
			v := twelve(a[3*i:3*i+3:3*i+3], which)
			p := b[2*i : 2*i+2 : 2*i+2]
			p[high], p[low] = byte(v>>8), byte(v)
		}
	}
}
