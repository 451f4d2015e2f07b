// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

import (
	"fmt"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
)

// The range in metres that [BGR] shows of distances.
const (
	DefaultNear = 0.3
	DefaultFar  = 10
)

// codes are the conversions of OpenCV that mean what the encoding says. Those of
// Y'CbCr are BT.601 of limited range.
var codes = map[frame.Encoding]gocv.ColorConversionCode{
	frame.RGB8:       gocv.ColorBGRToRGB,
	frame.RGBA8:      gocv.ColorRGBAToBGR,
	frame.BGRA8:      gocv.ColorBGRAToBGR,
	frame.Mono8:      gocv.ColorGrayToBGR,
	frame.YUV422YUY2: gocv.ColorYUVToBGRYUY2,
	frame.YUV422UYVY: gocv.ColorYUVToBGRUYVY,
	frame.NV12:       gocv.ColorYUVToBGRNV12,
	frame.NV21:       gocv.ColorYUVToBGRNV21,

	// OpenCV names a mosaic by the second and third pixel of its second row.
	frame.BayerRGGB8: gocv.ColorBayerBGToBGR,
	frame.BayerBGGR8: gocv.ColorBayerRGToBGR,
	frame.BayerGBRG8: gocv.ColorBayerGRToBGR,
	frame.BayerGRBG8: gocv.ColorBayerGBToBGR,
}

// BGR makes the picture of a frame that imshow and imwrite take, 8UC3 in the
// order B G R: width x height pixels of every encoding, in its colours.
//
//   - Y'CbCr is converted by the frame's matrix and range, see
//     [client.Frame.Color].
//   - 16-bit samples are shown by the highest eight of the bits used.
//   - Distances (16UC1, 32FC1) are coloured from [DefaultNear] to [DefaultFar],
//     see [ColorDepth].
//   - Of y8i and y12i it is the left picture.
//   - A JPEG or PNG is decoded, its orientation left as it is; one of more than
//     2^27 pixels is refused.
//
// It works on dst as functions of OpenCV do, and fails with [ErrDevice],
// [ErrReleased], [ErrPicture] or an error of package convert.
func BGR(f client.Frame, dst *gocv.Mat) error {
	switch _, n := f.Device(); {
	case f.Valid() != nil:
		return fmt.Errorf("%w: %w", ErrReleased, f.Valid())
	case n > 0 && f.Data() == nil:
		return fmt.Errorf("%w: %v", ErrDevice, f.Geometry())
	}
	return toBGR(f.Geometry(), f.Color(), f.Data(), dst)
}

func toBGR(g frame.Geometry, c frame.Color, data []byte, dst *gocv.Mat) error {
	switch e := g.Encoding; {
	case g.Compressed():
		return decode(g, data, dst)
	case !e.Valid():
		return g.Validate()
	case e == frame.Depth16, e == frame.Float32:
		return depthToBGR(g, data, dst)
	case wideColor[e] != nil:
		return highBytes(g, data, dst)
	case e == frame.BGR8:
		return view(g, data, func(m gocv.Mat) { m.CopyTo(dst) })
	case direct(g, c):
		return view(g, data, func(m gocv.Mat) { gocv.CvtColor(m, dst, codes[e]) })
	}
	return converted(g, c, data, dst)
}

// direct reports whether CvtColor does it.
func direct(g frame.Geometry, c frame.Color) bool {
	if _, ok := codes[g.Encoding]; !ok {
		return false
	}
	even := g.Width%2 == 0 && g.Height%2 == 0
	switch g.Encoding {
	case frame.NV21:
		return even
	case frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12:
		return even && c.OrDefault(g.Encoding) == frame.Color{Matrix: frame.BT601, Range: frame.Limited}
	}
	// OpenCV leaves a mosaic of less than three pixels black.
	return !g.Encoding.Bayer() || g.Width >= 3 && g.Height >= 3
}

// view has f called with a Mat that shows data.
func view(g frame.Geometry, data []byte, f func(gocv.Mat)) error {
	s, err := layout(g, len(data))
	if err != nil {
		return err
	}
	return s.view(data, f)
}

// mostPixels bounds the memory for a picture file of a few bytes that says it is
// large.
const mostPixels = 1 << 27

func decode(g frame.Geometry, data []byte, dst *gocv.Mat) error {
	if n := g.Width * g.Height; n > mostPixels {
		return fmt.Errorf("%w: %d pixels, at most %d are decoded", ErrPicture, n, mostPixels)
	}
	// The kinds of JPEG that cameras send have 8 bits; 16-bit PNG is shown by its
	// highest ones.
	return decodeFile(data, dst)
}

func depthToBGR(g frame.Geometry, data []byte, dst *gocv.Mat) error {
	if g.BigEndian {
		var err error
		if g, data, err = swapped(g, data); err != nil {
			return err
		}
	}
	var failed error
	err := view(g, data, func(m gocv.Mat) { failed = ColorDepth(m, dst, DefaultNear, DefaultFar) })
	if err != nil {
		return err
	}
	return failed
}

// wideColor says which samples of a pixel are B, G and R.
var wideColor = map[frame.Encoding][]int{
	frame.RGB16:  {2, 1, 0},
	frame.BGR16:  {0, 1, 2},
	frame.RGBA16: {2, 1, 0},
	frame.BGRA16: {0, 1, 2},
}

// highBytes takes the high byte of each colour, in whatever order they are.
func highBytes(g frame.Geometry, data []byte, dst *gocv.Mat) error {
	n := g.Encoding.BytesPerPixel()
	high := 1
	if g.BigEndian {
		high = 0
	}
	if _, _, err := create(dst, g.Height, g.Width, gocv.MatTypeCV8UC3); err != nil {
		return err
	}
	var pairs []int
	for to, from := range wideColor[g.Encoding] {
		pairs = append(pairs, 2*from+high, to)
	}
	s := shape{rows: g.Height, cols: g.Width, kind: gocv.MatTypeCV8UC1 + gocv.MatType(n-1)<<3, step: g.Step}
	return s.view(data, func(m gocv.Mat) { gocv.MixChannels([]gocv.Mat{m}, []gocv.Mat{*dst}, pairs) })
}
