// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	std "image/jpeg"
	"io"
	"strings"

	"github.com/seed-3c7e7623/camd/frame"
)

// standard decodes with Go's image/jpeg, which allocates each picture anew. Its
// chroma is replicated (nearest), and it does not notice all of the damage that
// libturbojpeg does.
type standard struct {
	scratch []byte // a frame with tables
	reader  bytes.Reader
}

func (s *standard) close() {}

func (s *standard) decode(dst []byte, g frame.Geometry, data []byte, info Info) error {
	if info.NeedsTables {
		s.scratch = InsertTables(s.scratch[:0], data)
		data = s.scratch
	}
	s.reader.Reset(data)
	picture, err := std.Decode(&s.reader)
	s.reader.Reset(nil)
	if err != nil {
		return translate(err)
	}
	switch p := picture.(type) {
	case *image.YCbCr:
		return draw(dst, g, p)
	case *image.Gray:
		for y := range g.Height {
			grey := p.Pix[y*p.Stride:]
			row(dst, g, y, func(x int) (r, g, b, luma byte) { return grey[x], grey[x], grey[x], grey[x] })
		}
		return nil
	case *image.RGBA:
		// Of files that say that they hold R G B (Adobe, transform 0).
		for y := range g.Height {
			pix := p.Pix[y*p.Stride:]
			row(dst, g, y, func(x int) (r, g, b, luma byte) {
				r, g, b = pix[4*x], pix[4*x+1], pix[4*x+2]
				luma, _, _ = color.RGBToYCbCr(r, g, b)
				return r, g, b, luma
			})
		}
		return nil
	}
	return fmt.Errorf("%w: %T", ErrUnsupported, picture)
}

// translate sorts what Go's decoder says. "Missing 0xff00 sequence" is a marker
// before the picture was complete.
func translate(err error) error {
	var unsupported std.UnsupportedError
	text := err.Error()
	switch {
	case errors.As(err, &unsupported):
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	case errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(text, "short Huffman data") || strings.Contains(text, "missing 0xff00"):
		return fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// draw converts by JFIF. Chroma sample x>>right, y>>down belongs to pixel x, y.
func draw(dst []byte, g frame.Geometry, p *image.YCbCr) error {
	var right, down int
	switch p.SubsampleRatio {
	case image.YCbCrSubsampleRatio444:
	case image.YCbCrSubsampleRatio422:
		right = 1
	case image.YCbCrSubsampleRatio420:
		right, down = 1, 1
	case image.YCbCrSubsampleRatio440:
		down = 1
	case image.YCbCrSubsampleRatio411:
		right = 2
	case image.YCbCrSubsampleRatio410:
		right, down = 2, 1
	default:
		return fmt.Errorf("%w: chroma subsampling %v", ErrUnsupported, p.SubsampleRatio)
	}
	for y := range g.Height {
		luma := p.Y[y*p.YStride:]
		cb, cr := p.Cb[y>>down*p.CStride:], p.Cr[y>>down*p.CStride:]
		row(dst, g, y, func(x int) (r, g, b, l byte) {
			r, g, b = color.YCbCrToRGB(luma[x], cb[x>>right], cr[x>>right])
			return r, g, b, luma[x]
		})
	}
	return nil
}

// row writes row y of g pixel by pixel.
func row(dst []byte, g frame.Geometry, y int, at func(x int) (r, g, b, luma byte)) {
	p := g.Plane(0)
	out := dst[y*p.Step : y*p.Step+p.RowBytes]
	switch g.Encoding {
	case frame.RGB8:
		for x := range g.Width {
			out[3*x], out[3*x+1], out[3*x+2], _ = at(x)
		}
	case frame.BGR8:
		for x := range g.Width {
			out[3*x+2], out[3*x+1], out[3*x], _ = at(x)
		}
	case frame.RGBA8:
		for x := range g.Width {
			out[4*x], out[4*x+1], out[4*x+2], _ = at(x)
			out[4*x+3] = 0xff
		}
	case frame.BGRA8:
		for x := range g.Width {
			out[4*x+2], out[4*x+1], out[4*x], _ = at(x)
			out[4*x+3] = 0xff
		}
	case frame.Mono8:
		for x := range g.Width {
			_, _, _, out[x] = at(x)
		}
	}
}
