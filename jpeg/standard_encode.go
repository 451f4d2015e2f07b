// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"image"
	std "image/jpeg"

	"github.com/seed-3c7e7623/camd/frame"
)

// standardEncoder encodes with Go's image/jpeg, by way of a picture of its own
// in R G B A.
type standardEncoder struct {
	rgba *image.RGBA
	to   bytes.Buffer
}

func (s *standardEncoder) close() {}

func (s *standardEncoder) encode(dst []byte, g frame.Geometry, data []byte, quality int) ([]byte, error) {
	bounds := image.Rect(0, 0, g.Width, g.Height)
	var picture image.Image
	if g.Encoding == frame.Mono8 {
		picture = &image.Gray{Pix: data, Stride: g.Step, Rect: bounds}
	} else {
		if s.rgba == nil || s.rgba.Rect != bounds {
			s.rgba = image.NewRGBA(bounds)
		}
		for y := range g.Height {
			rgbaRow(s.rgba.Pix[y*s.rgba.Stride:][:4*g.Width], data[y*g.Step:], g.Encoding)
		}
		picture = s.rgba
	}
	s.to.Reset()
	if err := std.Encode(&s.to, picture, &std.Options{Quality: quality}); err != nil {
		return nil, err
	}
	return append(dst, s.to.Bytes()...), nil
}

// rgbaRow makes a row of R G B A, all of it opaque.
func rgbaRow(dst, src []byte, e frame.Encoding) {
	n, r, b := e.BytesPerPixel(), 0, 2
	if e == frame.BGR8 || e == frame.BGRA8 {
		r, b = 2, 0
	}
	for i := 0; i+3 < len(dst); i += 4 {
		dst[i], dst[i+1], dst[i+2], dst[i+3] = src[r], src[1], src[b], 255
		src = src[n:]
	}
}
