// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert

import "github.com/seed-3c7e7623/camd/frame"

// A conversion has two stages, row by row. The first brings a row into one of
// three common forms, without a copy where it has that form already; the second
// makes the destination's row of it.
type form int

const (
	formNone form = iota
	formYUYV      // Y0 U Y1 V, an even number of pixels
	formGrey      // one byte a pixel, full range
	formRGB       // R G B
	formBGR       // B G R
	formRGBA      // R G B A
	formBGRA      // B G R A
)

type (
	// loader brings row y of a whole frame into the common form.
	loader func(s *scratch, src []byte, y int) []byte
	// emitter makes a row of the destination, which is as long as its samples.
	emitter func(dst, row []byte)
)

// plan returns the function for one row, nil if the pair is not supported.
func plan(src, dst frame.Geometry, o Options) rowFunc {
	if src.Encoding == dst.Encoding {
		return same(src, dst)
	}
	if src.Encoding == frame.Y12I && dst.Encoding == frame.Mono16 {
		return stereo16(src, dst, o.Side)
	}
	load, f := load(src, o)
	emit := emit(f, src, dst, o)
	if load == nil || emit == nil {
		return nil
	}
	step, n := dst.Step, dst.Plane(0).RowBytes
	return func(s *scratch, to, from []byte, y int) {
		emit(to[y*step:y*step+n:y*step+n], load(s, from, y))
	}
}

// direct is the loader of rows that are in a common form already.
func direct(g frame.Geometry) loader {
	step, n := g.Step, g.Plane(0).RowBytes
	return func(_ *scratch, src []byte, y int) []byte { return src[y*step : y*step+n] }
}

func load(g frame.Geometry, o Options) (loader, form) {
	switch g.Encoding {
	case frame.RGB8:
		return direct(g), formRGB
	case frame.BGR8:
		return direct(g), formBGR
	case frame.RGBA8:
		return direct(g), formRGBA
	case frame.BGRA8:
		return direct(g), formBGRA
	case frame.Mono8:
		return direct(g), formGrey
	case frame.YUV422YUY2:
		return direct(g), formYUYV
	case frame.YUV422UYVY:
		return loadUYVY(g), formYUYV
	case frame.NV12:
		return loadNV12(g), formYUYV
	case frame.Mono16, frame.Depth16:
		return loadWide(g, o.Levels), formGrey
	case frame.Y8I, frame.Y12I:
		return loadStereo(g, o), formGrey
	}
	if g.Encoding.Bayer() {
		return loadBayer(g, o.Levels), formRGBA
	}
	return nil, formNone
}

func emit(f form, src, dst frame.Geometry, o Options) emitter {
	e := dst.Encoding
	if f == formYUYV {
		switch e {
		case frame.YUV422YUY2:
			return func(dst, row []byte) { copy(dst, row) }
		case frame.YUV422UYVY:
			return swapPairs
		case frame.Mono8:
			return emitLuma(o.Color.OrDefault(src.Encoding))
		case frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8:
			return emitYUV(o.Color.OrDefault(src.Encoding), e)
		}
		return nil
	}
	switch f {
	case formGrey:
		return emitGrey(e)
	case formRGB:
		return emitPixels(3, true, e)
	case formBGR:
		return emitPixels(3, false, e)
	case formRGBA:
		return emitPixels(4, true, e)
	case formBGRA:
		return emitPixels(4, false, e)
	}
	return nil
}

// same copies rows from one step to another, swapping bytes where the order
// differs. The bits used must be the same: their values are not scaled.
func same(src, dst frame.Geometry) rowFunc {
	if src.Bits != dst.Bits || src.Compressed() {
		return nil
	}
	p, q := src.Plane(0), dst.Plane(0)
	swap := src.BigEndian != dst.BigEndian
	planes := src.PlaneCount()
	var cp, cq frame.Plane
	if planes == 2 {
		cp, cq = src.Plane(1), dst.Plane(1)
	}
	return func(_ *scratch, to, from []byte, y int) {
		a, b := from[y*p.Step:y*p.Step+p.RowBytes], to[y*q.Step:y*q.Step+q.RowBytes]
		if swap {
			swapPairs(b, a)
			return
		}
		copy(b, a)
		if planes == 2 && y&1 == 0 {
			copy(to[cq.Offset+y/2*cq.Step:][:cq.RowBytes], from[cp.Offset+y/2*cp.Step:][:cp.RowBytes])
		}
	}
}
