// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"fmt"
	"sync"

	"github.com/seed-3c7e7623/camd/frame"
)

// The reasons for which there is no conversion.
var (
	// ErrUnsupported reports a pair of encodings between which camd does not convert.
	ErrUnsupported = errors.New("conversion not supported")
	// ErrSize reports source and destination that differ in width or height.
	ErrSize = errors.New("sizes differ")
	// ErrShort reports memory that does not hold the frame.
	ErrShort = errors.New("frame does not fit the memory")
)

// Side chooses one picture of a stereo encoding (y8i, y12i).
type Side int

// The sides.
const (
	Left Side = iota
	Right
)

// Levels say which samples of 16 (or 10, 12, 14) bits become black and white;
// between them it is linear. Black may be the larger one: then it is inverted.
// The zero value takes the highest eight of the bits used. A depth of 0, which
// means no data, always becomes 0.
type Levels struct{ Black, White uint16 }

// Options say what geometry does not. The zero value is what webcams need.
type Options struct {
	// Color describes a Y'CbCr source; what it leaves out is BT.601 limited.
	Color frame.Color
	// Levels apply to sources of more than 8 bits that become 8 bits.
	Levels Levels
	// Side chooses the picture of a stereo source.
	Side Side
	// Workers is how many goroutines share the rows of a frame; 0 and 1 = the
	// caller's alone. With more, Close must be called.
	Workers int
}

// rowFunc makes row y of dst. Both hold whole frames.
type rowFunc func(s *scratch, dst, src []byte, y int)

// scratch is what one goroutine needs beside the frames.
type scratch struct {
	row    []byte      // one row between two stages
	mosaic [3][]uint16 // rows of a Bayer mosaic, see margin
	loaded [3]int      // which row mosaic[i] holds; -1 = none
}

// Converter converts frames of one geometry into another. It is used by one
// goroutine at a time.
type Converter struct {
	src, dst frame.Geometry
	row      rowFunc
	scratch  []*scratch

	// Of the workers, who are len(scratch)-1; the caller does the first band.
	bands    chan int
	wait     sync.WaitGroup
	from, to []byte
	bandRows int
	closed   bool
}

// New prepares the conversion of frames laid out as src into dst. It fails with
// ErrUnsupported, ErrSize, frame.ErrGeometry, frame.ErrEncoding or
// frame.ErrColor.
func New(src, dst frame.Geometry, o Options) (*Converter, error) {
	if err := src.Validate(); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	if err := dst.Validate(); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	if src.Width != dst.Width || src.Height != dst.Height {
		return nil, fmt.Errorf("%w: %v into %v", ErrSize, src, dst)
	}
	if err := o.Color.Validate(); err != nil {
		return nil, err
	}
	row := plan(src, dst, o)
	if row == nil {
		return nil, fmt.Errorf("%w: %v into %v", ErrUnsupported, src, dst)
	}
	c := &Converter{src: src, dst: dst, row: row}
	for range max(1, min(o.Workers, src.Height)) {
		c.scratch = append(c.scratch, newScratch(src))
	}
	c.start()
	return c, nil
}

// Supported reports whether New converts from src to dst, both with all their
// bits used and little-endian.
func Supported(src, dst frame.Encoding) bool {
	a, err := frame.NewGeometry(src, 2, 2)
	if err != nil {
		return false
	}
	b, err := frame.NewGeometry(dst, 2, 2)
	return err == nil && plan(a, b, Options{}) != nil
}

// Targets lists what src can be converted into, itself included.
func Targets(src frame.Encoding) []frame.Encoding {
	var list []frame.Encoding
	for _, e := range frame.Encodings() {
		if Supported(src, e) {
			list = append(list, e)
		}
	}
	return list
}

// Convert converts one frame. The slices must not overlap; padding of dst is
// not touched. It fails with ErrShort if one of them ends before its geometry's
// last sample.
func (c *Converter) Convert(dst, src []byte) error {
	if n := c.src.Extent(); len(src) < n {
		return fmt.Errorf("%w: source %v takes %d bytes, there are %d", ErrShort, c.src, n, len(src))
	}
	if n := c.dst.Extent(); len(dst) < n {
		return fmt.Errorf("%w: destination %v takes %d bytes, there are %d", ErrShort, c.dst, n, len(dst))
	}
	c.run(dst, src)
	return nil
}

func newScratch(src frame.Geometry) *scratch {
	s := &scratch{row: make([]byte, 4*(src.Width+1))}
	if src.Encoding.Bayer() {
		for i := range s.mosaic {
			s.mosaic[i] = make([]uint16, src.Width+2*margin)
		}
	}
	return s
}
