// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"os"

	"github.com/seed-3c7e7623/camd/frame"
)

// ErrPicture: a file is no picture that can be read.
var ErrPicture = errors.New("not a readable picture")

// Decode reads a picture of at most [frame.MaxSide] pixels a side and
// [frame.MaxBytes]. Damage is [ErrPicture].
func Decode(path string) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	img, err := decode(f)
	if err != nil {
		return nil, ErrorAt(path, err)
	}
	return img, nil
}

// IsJPEG looks at the first bytes.
func IsJPEG(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var magic [3]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "\xff\xd8\xff", nil
}

// ReadFile reads a file of at most so many bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = ErrorAt(path, fmt.Errorf("%w: more than %d bytes", ErrPicture, most))
	}
	return data, err
}

func decode(in io.ReadSeeker) (image.Image, error) {
	r := bufio.NewReader(in)
	magic, err := r.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	config, read := png.DecodeConfig, png.Decode
	if string(magic) == "\xff\xd8" {
		config, read = jpeg.DecodeConfig, jpeg.Decode
	}
	// The size is known before memory is taken for it.
	c, err := config(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPicture, err)
	}
	if c.Width > frame.MaxSide || c.Height > frame.MaxSide || int64(c.Width)*int64(c.Height)*8 > frame.MaxBytes {
		return nil, fmt.Errorf("%w: %dx%d pixels are more than camd carries", ErrPicture, c.Width, c.Height)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r.Reset(in)
	img, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPicture, err)
	}
	return img, nil
}

// Natural is the encoding that keeps what is in a picture: mono8 or mono16 for
// grey, else colour, bgr8.
func Natural(img image.Image) frame.Encoding {
	switch img.(type) {
	case *image.Gray:
		return frame.Mono8
	case *image.Gray16:
		return frame.Mono16
	}
	return frame.BGR8
}

// ErrEncoding: pictures are not made into this encoding.
var ErrEncoding = errors.New("encoding that pictures are not made into")

// Encodings are those that Put makes.
func Encodings() []frame.Encoding {
	return []frame.Encoding{frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.Mono8, frame.Mono16, frame.Depth16}
}

// layout is where the samples of a pixel stand in an encoding of 8 bits; a = -1
// is none.
type layout struct{ bytes, r, g, b, a int }

var layouts = map[frame.Encoding]layout{
	frame.RGB8: {3, 0, 1, 2, -1}, frame.BGR8: {3, 2, 1, 0, -1}, frame.RGBA8: {4, 0, 1, 2, 3}, frame.BGRA8: {4, 2, 1, 0, 3},
}

// Put writes a picture into dst, which is laid out as g says and of the same
// size. Colour keeps its values where the picture has alpha too. 16 bits are
// little-endian.
func Put(dst []byte, g frame.Geometry, img image.Image) error {
	b := img.Bounds()
	if b.Dx() != g.Width || b.Dy() != g.Height {
		return fmt.Errorf("%w: %dx%d into %v", ErrPicture, b.Dx(), b.Dy(), g)
	}
	l, colour := layouts[g.Encoding]
	for y := range g.Height {
		row := dst[y*g.Step : (y+1)*g.Step]
		switch {
		case colour:
			putColour(row, l, img, b.Min.X, b.Min.Y+y, g.Width)
		case g.Encoding == frame.Mono8:
			putGrey(row, img, b.Min.X, b.Min.Y+y, g.Width)
		case g.Encoding == frame.Mono16, g.Encoding == frame.Depth16:
			putWide(row, img, b.Min.X, b.Min.Y+y, g.Width)
		default:
			return fmt.Errorf("%w: %s", ErrEncoding, g.Encoding)
		}
	}
	return nil
}

func putColour(row []byte, l layout, img image.Image, x0, y, width int) {
	at := func(x int) color.NRGBA { return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA) }
	switch i := img.(type) {
	case *image.NRGBA:
		at = func(x int) color.NRGBA { return i.NRGBAAt(x, y) }
	case *image.RGBA: // image/png makes this of pictures without alpha only
		at = func(x int) color.NRGBA { return color.NRGBA(i.RGBAAt(x, y)) }
	case *image.YCbCr:
		at = func(x int) color.NRGBA {
			c := i.YCbCrAt(x, y)
			r, g, b := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			return color.NRGBA{r, g, b, 255}
		}
	}
	for x := range width {
		c := at(x0 + x)
		p := row[x*l.bytes : (x+1)*l.bytes]
		p[l.r], p[l.g], p[l.b] = c.R, c.G, c.B
		if l.a >= 0 {
			p[l.a] = c.A
		}
	}
}

func putGrey(row []byte, img image.Image, x0, y, width int) {
	switch i := img.(type) {
	case *image.Gray:
		at := i.PixOffset(x0, y)
		copy(row[:width], i.Pix[at:at+width])
	case *image.YCbCr:
		at := i.YOffset(x0, y)
		copy(row[:width], i.Y[at:at+width])
	default:
		for x := range width {
			row[x] = color.GrayModel.Convert(img.At(x0+x, y)).(color.Gray).Y
		}
	}
}

func putWide(row []byte, img image.Image, x0, y, width int) {
	for x := range width {
		v := color.Gray16Model.Convert(img.At(x0+x, y)).(color.Gray16).Y
		row[2*x], row[2*x+1] = byte(v), byte(v>>8)
	}
}
