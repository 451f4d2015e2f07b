// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

import (
	"fmt"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/frame"
)

// shape is a Mat over memory of others.
type shape struct {
	rows, cols int
	kind       gocv.MatType
	step       int // bytes from row to row
	offset     int // bytes to the first element
}

// bytes is up to the end of the last element, from the first one.
func (s shape) bytes() int { return s.step*(s.rows-1) + s.cols*elementBytes(s.kind) }

// elementBytes is the size of one element with all its channels.
func elementBytes(t gocv.MatType) int {
	size := [8]int{1, 1, 2, 2, 4, 4, 8, 2}
	return size[t&7] * (int(t>>3) + 1)
}

// kinds are the Mat types of the encodings whose pixels are elements of a Mat.
// Those of 4:2:2 are pairs of luma and chroma. y12i is missing: two samples of
// 12 bits are no element of OpenCV's.
var kinds = map[frame.Encoding]gocv.MatType{
	frame.RGB8:       gocv.MatTypeCV8UC3,
	frame.BGR8:       gocv.MatTypeCV8UC3,
	frame.RGBA8:      gocv.MatTypeCV8UC4,
	frame.BGRA8:      gocv.MatTypeCV8UC4,
	frame.Mono8:      gocv.MatTypeCV8UC1,
	frame.YUV422YUY2: gocv.MatTypeCV8UC2,
	frame.YUV422UYVY: gocv.MatTypeCV8UC2,
	frame.NV12:       gocv.MatTypeCV8UC1,
	frame.NV21:       gocv.MatTypeCV8UC1,
	frame.Y8I:        gocv.MatTypeCV8UC2,

	frame.Mono16:  gocv.MatTypeCV16UC1,
	frame.Depth16: gocv.MatTypeCV16UC1,
	frame.Float32: gocv.MatTypeCV32FC1,
	frame.RGB16:   gocv.MatTypeCV16UC3,
	frame.BGR16:   gocv.MatTypeCV16UC3,
	frame.RGBA16:  gocv.MatTypeCV16UC4,
	frame.BGRA16:  gocv.MatTypeCV16UC4,

	frame.BayerRGGB8:  gocv.MatTypeCV8UC1,
	frame.BayerBGGR8:  gocv.MatTypeCV8UC1,
	frame.BayerGBRG8:  gocv.MatTypeCV8UC1,
	frame.BayerGRBG8:  gocv.MatTypeCV8UC1,
	frame.BayerRGGB16: gocv.MatTypeCV16UC1,
	frame.BayerBGGR16: gocv.MatTypeCV16UC1,
	frame.BayerGBRG16: gocv.MatTypeCV16UC1,
	frame.BayerGRBG16: gocv.MatTypeCV16UC1,
}

// Layout says what Mat shows a frame of geometry g: rows, columns and type. It
// fails with [ErrLayout], and for what is no geometry with [frame.ErrGeometry]
// or [frame.ErrEncoding].
//
//   - 4:2:2 is of two channels (8UC2), of which one is luma and the other chroma
//     of even and odd columns in turn; an odd width is rounded up to whole pairs.
//   - nv12 and nv21 are one plane of height*3/2 rows (8UC1), as CvtColor wants
//     it; width and height must be even. Their planes: [OpenPlane].
//   - y8i is of two channels (8UC2), left and right.
//   - A JPEG or PNG is one row (8UC1) of as many columns as it has bytes.
//   - 16-bit samples must have the byte order of this machine.
func Layout(g frame.Geometry) (rows, cols int, t gocv.MatType, err error) {
	s, err := layout(g, g.Size())
	return s.rows, s.cols, s.kind, err
}

// layout is that of a frame of n bytes.
func layout(g frame.Geometry, n int) (shape, error) {
	if err := g.Validate(); err != nil {
		return shape{}, err
	}
	if g.Compressed() {
		return shape{rows: 1, cols: n, kind: gocv.MatTypeCV8UC1, step: n}, nil
	}
	kind, ok := kinds[g.Encoding]
	if !ok {
		return shape{}, fmt.Errorf("%w: %v", ErrLayout, g)
	}
	s := shape{rows: g.Height, cols: g.Width, kind: kind, step: g.Step}
	switch {
	case g.BigEndian:
		return shape{}, fmt.Errorf("%w: %v: OpenCV knows this machine's byte order only", ErrLayout, g)
	case g.Encoding == frame.YUV422YUY2, g.Encoding == frame.YUV422UYVY:
		s.cols = (g.Width + 1) &^ 1
	case g.PlaneCount() == 2:
		if g.Width%2 != 0 || g.Height%2 != 0 {
			return shape{}, fmt.Errorf("%w: %v: width and height must be even, its planes can be opened one by one", ErrLayout, g)
		}
		s.rows += g.Height / 2
	}
	return s, nil
}

// planeLayout is that of plane i.
func planeLayout(g frame.Geometry, n, i int) (shape, error) {
	if err := g.Validate(); err != nil {
		return shape{}, err
	}
	if i < 0 || i >= g.PlaneCount() {
		return shape{}, fmt.Errorf("%w: plane %d of %v, which has %d", ErrLayout, i, g, g.PlaneCount())
	}
	if g.PlaneCount() == 1 {
		return layout(g, n)
	}
	p := g.Plane(i)
	s := shape{rows: p.Rows, cols: p.RowBytes, kind: gocv.MatTypeCV8UC1, step: p.Step, offset: p.Offset}
	if i == 1 {
		s.cols, s.kind = p.RowBytes/2, gocv.MatTypeCV8UC2
	}
	return s, nil
}
