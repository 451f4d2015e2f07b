// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/binary"
	"math/bits"

	"github.com/seed-3c7e7623/camd/frame"
)

const opaqueAlpha = 0xff << 24

// emitPixels makes rows of pixels of rows of pixels with n bytes each, which
// begin with red or with blue.
func emitPixels(n int, redFirst bool, e frame.Encoding) emitter {
	switch e {
	case frame.Mono8:
		return greyOf(n, redFirst)
	case frame.RGB8, frame.BGR8:
		swap := redFirst != (e == frame.RGB8)
		return func(dst, row []byte) { to3(dst, row, n, swap) }
	case frame.RGBA8, frame.BGRA8:
		swap := redFirst != (e == frame.RGBA8)
		if n == 3 {
			return func(dst, row []byte) { from3to4(dst, row, swap) }
		}
		return func(dst, row []byte) { from4to4(dst, row, swap) }
	}
	return nil
}

// exchange swaps the first and the third byte and clears the fourth.
func exchange(w uint32) uint32 { return bits.ReverseBytes32(w) >> 8 }

// to3 writes four bytes for each pixel, of which the next one overwrites the
// last; the end of the row is done byte by byte.
func to3(dst, row []byte, n int, swap bool) {
	le := binary.LittleEndian
	for len(dst) >= 4 && len(row) >= 4 && len(row) >= n {
		w := le.Uint32(row)
		if swap {
			w = exchange(w)
		}
		le.PutUint32(dst, w)
		dst, row = dst[3:], row[n:]
	}
	if len(dst) >= 3 && len(row) >= 3 {
		dst[0], dst[1], dst[2] = row[0], row[1], row[2]
		if swap {
			dst[0], dst[2] = dst[2], dst[0]
		}
	}
}

func from3to4(dst, row []byte, swap bool) {
	le := binary.LittleEndian
	for len(dst) >= 4 && len(row) >= 4 {
		w := le.Uint32(row)
		if swap {
			w = exchange(w)
		}
		le.PutUint32(dst, w|opaqueAlpha)
		dst, row = dst[4:], row[3:]
	}
	if len(dst) >= 4 && len(row) >= 3 {
		dst[0], dst[1], dst[2], dst[3] = row[0], row[1], row[2], 0xff
		if swap {
			dst[0], dst[2] = dst[2], dst[0]
		}
	}
}

func from4to4(dst, row []byte, swap bool) {
	le := binary.LittleEndian
	if !swap {
		copy(dst, row)
		return
	}
	for len(dst) >= 4 && len(row) >= 4 {
		w := le.Uint32(row)
		le.PutUint32(dst, exchange(w)|w&opaqueAlpha)
		dst, row = dst[4:], row[4:]
	}
}

// greyOf weighs by ITU-R BT.601, in full range: 0.299 R + 0.587 G + 0.114 B.
func greyOf(n int, redFirst bool) emitter {
	const red, green, blue, half = 19595, 38470, 7471, 1 << 15
	first, third := uint32(red), uint32(blue)
	if !redFirst {
		first, third = third, first
	}
	return func(dst, row []byte) {
		for i := range dst {
			p := row[i*n : i*n+3 : i*n+3]
			dst[i] = byte((first*uint32(p[0]) + green*uint32(p[1]) + third*uint32(p[2]) + half) >> 16)
		}
	}
}

// emitGrey makes rows of pixels of grey ones.
func emitGrey(e frame.Encoding) emitter {
	switch e {
	case frame.Mono8:
		return func(dst, row []byte) { copy(dst, row) }
	case frame.RGB8, frame.BGR8:
		return grey3
	case frame.RGBA8, frame.BGRA8:
		return grey4
	}
	return nil
}

func grey3(dst, row []byte) {
	le := binary.LittleEndian
	for len(row) >= 4 && len(dst) >= 12 {
		w := le.Uint32(row)
		a, b, c, d := w&0xff, w>>8&0xff, w>>16&0xff, w>>24
		le.PutUint32(dst, a*0x010101|b<<24)
		le.PutUint32(dst[4:], b*0x0101|c*0x01010000)
		le.PutUint32(dst[8:], c|d*0x01010100)
		row, dst = row[4:], dst[12:]
	}
	for len(row) >= 1 && len(dst) >= 3 {
		dst[0], dst[1], dst[2] = row[0], row[0], row[0]
		row, dst = row[1:], dst[3:]
	}
}

func grey4(dst, row []byte) {
	for len(row) >= 1 && len(dst) >= 4 {
		binary.LittleEndian.PutUint32(dst, uint32(row[0])*0x010101|opaqueAlpha)
		row, dst = row[1:], dst[4:]
	}
}
