// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/binary"
	"math"

	"github.com/seed-3c7e7623/camd/frame"
)

// The three channels of a pixel are computed at once, in lanes of a 64-bit
// word. A lane is a channel plus 512 in fixed point: all values that occur lie
// between 0 and 2047, and the top three of the eleven integer bits say whether
// the channel is below 0, within 0 to 255 (then they are 010), or above.
const (
	fraction = 10
	lane     = 21
	bias     = 512

	ones      = 1 | 1<<lane | 1<<(2*lane)
	rangeMask = ones * (7 << (fraction + 8))
	inRange   = ones * (2 << (fraction + 8))
)

// yuvTable holds what each sample adds to the three lanes, in the order of the
// bytes of the destination.
type yuvTable struct{ y, u, v [256]uint64 }

// weights of red and blue in luma (ITU-R BT.601-7 2.5.1, BT.709-6 3.2, BT.2020-2
// table 4); green has the rest.
func weights(m frame.Matrix) (red, blue float64) {
	switch m {
	case frame.BT709:
		return 0.2126, 0.0722
	case frame.BT2020:
		return 0.2627, 0.0593
	}
	return 0.299, 0.114
}

// newYUVTable inverts Y' = Kr R + Kg G + Kb B, Cb = (B-Y')/(2(1-Kb)),
// Cr = (R-Y')/(2(1-Kr)) for samples of 8 bits in the given range.
func newYUVTable(c frame.Color, redFirst bool) *yuvTable {
	kr, kb := weights(c.Matrix)
	kg := 1 - kr - kb
	yScale, yZero, cScale := 1.0, 0.0, 1.0
	if c.Range == frame.Limited {
		yScale, yZero, cScale = 255.0/219, 16, 255.0/224
	}
	fixed := func(x float64) int64 { return int64(math.Round(x * (1 << fraction))) }
	pack := func(r, g, b int64) uint64 {
		if !redFirst {
			r, b = b, r
		}
		// Negative lanes borrow from the next one; the sum of a pixel does not.
		return uint64(r + g<<lane + b<<(2*lane))
	}
	t := new(yuvTable)
	for i := range 256 {
		y := fixed(yScale*(float64(i)-yZero)) + bias<<fraction + 1<<(fraction-1)
		c := cScale * float64(i-128)
		t.y[i] = pack(y, y, y)
		t.u[i] = pack(0, fixed(-2*kb*(1-kb)/kg*c), fixed(2*(1-kb)*c))
		t.v[i] = pack(fixed(2*(1-kr)*c), fixed(-2*kr*(1-kr)/kg*c), 0)
	}
	return t
}

// clamp brings all lanes into range.
func clamp(t uint64) uint64 {
	x := t >> (fraction + 8)
	b8, b9, b10 := x&ones, x>>1&ones, x>>2&ones
	over := b10 | b9&b8
	under := ones &^ (b9 | b10)
	return (t | over*(255<<fraction)) &^ (under * (255 << fraction))
}

// pack24 packs the lanes, which are in range, into the low 24 bits.
func pack24(t uint64) uint64 {
	return t>>fraction&0xff | t>>(fraction+lane-8)&0xff00 | t>>(fraction+2*lane-16)&0xff0000
}

// two converts a group of YUYV into the lanes of two pixels.
func (t *yuvTable) two(w uint32) (a, b uint64) {
	uv := t.u[byte(w>>8)] + t.v[byte(w>>24)]
	return t.y[byte(w)] + uv, t.y[byte(w>>16)] + uv
}

// emitYUV makes rows of three or four bytes a pixel of rows of YUYV.
func emitYUV(c frame.Color, e frame.Encoding) emitter {
	t := newYUVTable(c, e == frame.RGB8 || e == frame.RGBA8)
	if e == frame.RGBA8 || e == frame.BGRA8 {
		return t.row4
	}
	return t.row3
}

func (t *yuvTable) row3(dst, row []byte) {
	le := binary.LittleEndian
	for len(row) >= 8 && len(dst) >= 12 {
		w := le.Uint64(row)
		a, b := t.two(uint32(w))
		c, d := t.two(uint32(w >> 32))
		if ((a^inRange)|(b^inRange)|(c^inRange)|(d^inRange))&rangeMask != 0 {
			a, b, c, d = clamp(a), clamp(b), clamp(c), clamp(d)
		}
		p := pack24(c)
		le.PutUint64(dst, pack24(a)|pack24(b)<<24|p<<48)
		le.PutUint32(dst[8:], uint32(p>>16|pack24(d)<<8))
		row, dst = row[8:], dst[12:]
	}
	for len(row) >= 4 && len(dst) >= 3 {
		a, b := t.two(le.Uint32(row))
		put3(dst, pack24(clamp(a)))
		if len(dst) < 6 {
			return
		}
		put3(dst[3:], pack24(clamp(b)))
		row, dst = row[4:], dst[6:]
	}
}

func (t *yuvTable) row4(dst, row []byte) {
	le := binary.LittleEndian
	const opaque = 0xff<<24 | 0xff<<56
	for len(row) >= 8 && len(dst) >= 16 {
		w := le.Uint64(row)
		a, b := t.two(uint32(w))
		c, d := t.two(uint32(w >> 32))
		if ((a^inRange)|(b^inRange)|(c^inRange)|(d^inRange))&rangeMask != 0 {
			a, b, c, d = clamp(a), clamp(b), clamp(c), clamp(d)
		}
		le.PutUint64(dst, pack24(a)|pack24(b)<<32|opaque)
		le.PutUint64(dst[8:], pack24(c)|pack24(d)<<32|opaque)
		row, dst = row[8:], dst[16:]
	}
	for len(row) >= 4 && len(dst) >= 4 {
		a, b := t.two(le.Uint32(row))
		le.PutUint32(dst, uint32(pack24(clamp(a))|opaque&0xffffffff))
		if len(dst) < 8 {
			return
		}
		le.PutUint32(dst[4:], uint32(pack24(clamp(b))|opaque&0xffffffff))
		row, dst = row[4:], dst[8:]
	}
}

func put3(dst []byte, p uint64) {
	dst[0], dst[1], dst[2] = byte(p), byte(p>>8), byte(p>>16)
}

// emitLuma makes mono8, which is full range, of the Y of YUYV.
func emitLuma(c frame.Color) emitter {
	t := new([256]byte)
	for i := range t {
		t[i] = byte(i)
		if c.Range == frame.Limited {
			t[i] = byte(math.Round(min(max(float64(i-16)*255/219, 0), 255)))
		}
	}
	return func(dst, row []byte) {
		for i := range dst {
			dst[i] = t[row[2*i]]
		}
	}
}

// swapPairs swaps the bytes of each pair: YUYV and UYVY, or the byte order of
// 16-bit samples.
func swapPairs(dst, row []byte) {
	const even = 0x00ff00ff00ff00ff
	le := binary.LittleEndian
	for len(row) >= 8 && len(dst) >= 8 {
		w := le.Uint64(row)
		le.PutUint64(dst, w&even<<8|w>>8&even)
		row, dst = row[8:], dst[8:]
	}
	for len(row) >= 2 && len(dst) >= 2 {
		dst[0], dst[1] = row[1], row[0]
		row, dst = row[2:], dst[2:]
	}
}

func loadUYVY(g frame.Geometry) loader {
	step, n := g.Step, g.Plane(0).RowBytes
	return func(s *scratch, src []byte, y int) []byte {
		swapPairs(s.row[:n], src[y*step:y*step+n])
		return s.row[:n]
	}
}

// loadNV12 interleaves a row of Y with its row of U V.
func loadNV12(g frame.Geometry) loader {
	luma, chroma := g.Plane(0), g.Plane(1)
	pairs := (g.Width + 1) / 2
	return func(s *scratch, src []byte, y int) []byte {
		a := src[y*luma.Step : y*luma.Step+luma.RowBytes]
		b := src[chroma.Offset+y/2*chroma.Step:][:2*pairs]
		row := s.row[:4*pairs]
		interleave(row, a, b)
		return row
	}
}

// spread puts the four bytes of x at the even bytes of a word.
func spread(x uint32) uint64 {
	w := uint64(x)
	w = (w | w<<16) & 0x0000ffff0000ffff
	return (w | w<<8) & 0x00ff00ff00ff00ff
}

func interleave(dst, luma, chroma []byte) {
	le := binary.LittleEndian
	for len(luma) >= 4 && len(chroma) >= 4 && len(dst) >= 8 {
		le.PutUint64(dst, spread(le.Uint32(luma))|spread(le.Uint32(chroma))<<8)
		luma, chroma, dst = luma[4:], chroma[4:], dst[8:]
	}
	for len(chroma) >= 2 && len(dst) >= 4 {
		second := luma[min(1, len(luma)-1)] // of an odd width: nobody's
		dst[0], dst[1], dst[2], dst[3] = luma[0], chroma[0], second, chroma[1]
		luma, chroma, dst = luma[min(2, len(luma)):], chroma[2:], dst[4:]
	}
}
