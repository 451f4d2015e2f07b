// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package picture writes one frame as a picture file.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	std "image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"strings"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/cli/y4m"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// Format is a kind of picture file.
type Format string

// The formats.
const (
	PNG  Format = "png"  // 8 or 16 bits grey, else RGB, with alpha where it is used
	PPM  Format = "ppm"  // P6, or P5 for grey; netpbm(5)
	Raw  Format = "raw"  // the samples as they are, rows without padding
	JPEG Format = "jpeg" // the bytes of a stream of JPEGs as they came
)

// Formats lists them.
func Formats() []string { return []string{string(PNG), string(PPM), string(Raw), string(JPEG)} }

// ErrFormat: no picture of this kind can be made.
var ErrFormat = errors.New("no such picture format")

// FormatOf goes by the end of a file's name.
func FormatOf(name string) (Format, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".png", ".ppm", ".raw", ".jpeg":
		return Format(ext[1:]), nil
	case ".pgm", ".pnm":
		return PPM, nil
	case ".jpg":
		return JPEG, nil
	default:
		return "", fmt.Errorf("%w: %q: known are .png, .ppm or .pgm, .raw and .jpg", ErrFormat, ext)
	}
}

// Encode writes a frame laid out as g says. color says what Y'CbCr means; what
// it leaves out is BT.601, limited range. Samples of 16 bits keep their values.
// It fails with [ErrFormat], [convert.ErrUnsupported], [convert.ErrShort],
// [frame.ErrColor] or what w says.
func Encode(w io.Writer, f Format, g frame.Geometry, color frame.Color, data []byte) error {
	switch f {
	case PNG:
		if g.Encoding == frame.PNG {
			_, err := w.Write(data)
			return err
		}
		img, err := decode(g, color, data)
		if err != nil {
			return err
		}
		return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, img)
	case PPM:
		return encodePPM(w, g, color, data)
	case Raw:
		out, err := y4m.AppendRaw(nil, data, g)
		if err != nil {
			return err
		}
		_, err = w.Write(out)
		return err
	case JPEG:
		if g.Encoding != frame.JPEG {
			return fmt.Errorf("%w: the stream is %s, only JPEGs are written as jpeg", ErrFormat, g.Encoding)
		}
		_, err := w.Write(data)
		return err
	}
	return fmt.Errorf("%w: %q", ErrFormat, f)
}

// decode makes a picture of package image.
func decode(g frame.Geometry, color frame.Color, data []byte) (image.Image, error) {
	r := image.Rect(0, 0, g.Width, g.Height)
	switch g.Encoding {
	case frame.JPEG:
		return decodeJPEG(data)
	case frame.PNG:
		if n := int64(g.Width) * int64(g.Height); n > maxPixels {
			return nil, fmt.Errorf("%w: PNG of %d pixels, at most %d are decoded", ErrFormat, n, maxPixels)
		}
		return png.Decode(bytes.NewReader(data))
	case frame.Mono16, frame.Depth16:
		img := image.NewGray16(r)
		return img, convertInto(img.Pix, img.Stride, g.Encoding, true, g, color, data)
	}
	if grey(g.Encoding) {
		img := image.NewGray(r)
		return img, convertInto(img.Pix, img.Stride, frame.Mono8, false, g, color, data)
	}
	img := image.NewNRGBA(r)
	return img, convertInto(img.Pix, img.Stride, frame.RGBA8, false, g, color, data)
}

// maxPixels bounds the memory for a PNG of a few bytes that says it is large.
const maxPixels = 1 << 27

// decodeJPEG puts in the tables that cameras leave out.
func decodeJPEG(data []byte) (image.Image, error) {
	info, err := jpeg.Validate(data, jpeg.Limits{})
	if err != nil {
		return nil, err
	}
	if info.NeedsTables {
		data = jpeg.InsertTables(nil, data)
	}
	return std.Decode(bytes.NewReader(data))
}

// grey reports whether there is no colour in an encoding of 8 bits.
func grey(e frame.Encoding) bool { return e == frame.Mono8 || e == frame.Y8I || e == frame.Y12I }

func convertInto(dst []byte, step int, to frame.Encoding, bigEndian bool, g frame.Geometry, color frame.Color, data []byte) error {
	d, err := frame.NewGeometryStep(to, g.Width, g.Height, step)
	if err != nil {
		return err
	}
	d.BigEndian = bigEndian
	if to == g.Encoding {
		d.Bits = g.Bits // values stay as they are
	}
	c, err := convert.New(g, d, convert.Options{Color: color})
	if err != nil {
		return err
	}
	return c.Convert(dst, data)
}

func encodePPM(w io.Writer, g frame.Geometry, color frame.Color, data []byte) error {
	if g.Compressed() {
		img, err := decode(g, color, data)
		if err != nil {
			return err
		}
		b := img.Bounds()
		if g, err = frame.NewGeometry(frame.RGB8, b.Dx(), b.Dy()); err != nil {
			return err
		}
		data = make([]byte, 0, g.Size())
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				r, gr, bl, _ := img.At(x, y).RGBA()
				data = append(data, byte(r>>8), byte(gr>>8), byte(bl>>8))
			}
		}
	}
	magic, to, bytesPerPixel, most := "P6", frame.RGB8, 3, 255
	switch {
	case g.Encoding == frame.Mono16 || g.Encoding == frame.Depth16:
		magic, to, bytesPerPixel, most = "P5", g.Encoding, 2, 65535
	case grey(g.Encoding):
		magic, to, bytesPerPixel = "P5", frame.Mono8, 1
	}
	out := make([]byte, g.Width*g.Height*bytesPerPixel)
	if err := convertInto(out, g.Width*bytesPerPixel, to, bytesPerPixel == 2, g, color, data); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s\n%d %d\n%d\n", magic, g.Width, g.Height, most); err != nil {
		return err
	}
	_, err := w.Write(out)
	return err
}
