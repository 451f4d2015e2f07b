// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package y4m

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-3c7e7623/camd/frame"
)

// ErrFrame reports a frame whose bytes do not fill its geometry.
var ErrFrame = errors.New("incomplete frame")

// Encoder turns frames of one geometry into YUV4MPEG2.
type Encoder struct {
	geometry frame.Geometry
	header   string
}

// Encodings are those that become YUV4MPEG2.
func Encodings() []frame.Encoding {
	return []frame.Encoding{
		frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.Mono8,
		frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12,
	}
}

// NewEncoder makes an encoder. The range of Y'CbCr becomes that of the header;
// limited where it is not said, and always for what is made of RGB. The interval from frame to frame in nanoseconds
// becomes the rate in the header; 0 = not known. Fails with frame.ErrGeometry
// or frame.ErrEncoding.
func NewEncoder(g frame.Geometry, c frame.Color, intervalNanos int64) (*Encoder, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if !slices.Contains(Encodings(), g.Encoding) {
		return nil, fmt.Errorf("%w: YUV4MPEG2 has no place for %s, only for %s", frame.ErrEncoding, g.Encoding, frame.JoinEncodings(Encodings()))
	}
	return &Encoder{geometry: g, header: header(g, c, intervalNanos)}, nil
}

// Header is the line that begins the stream.
func (e *Encoder) Header() string { return e.header }

// Append appends one frame, with its "FRAME" line, to dst. data is laid out as
// the geometry says, of at least Size() bytes.
func (e *Encoder) Append(dst, data []byte) ([]byte, error) {
	g := e.geometry
	if len(data) < g.Size() {
		return dst, fmt.Errorf("%w: %v takes %d bytes, there are %d", ErrFrame, g, g.Size(), len(data))
	}
	dst = append(dst, "FRAME\n"...)
	switch g.Encoding {
	case frame.RGB8:
		return appendRGB(dst, data, g, 3, 0, 2), nil
	case frame.BGR8:
		return appendRGB(dst, data, g, 3, 2, 0), nil
	case frame.RGBA8:
		return appendRGB(dst, data, g, 4, 0, 2), nil
	case frame.BGRA8:
		return appendRGB(dst, data, g, 4, 2, 0), nil
	case frame.YUV422YUY2:
		return append422(dst, data, g, 0, 1, 3), nil
	case frame.YUV422UYVY:
		return append422(dst, data, g, 1, 0, 2), nil
	case frame.NV12:
		return appendNV12(dst, data, g), nil
	case frame.Mono8:
		return appendPlane(dst, data, g.Plane(0)), nil
	}
	return dst, fmt.Errorf("%w %q", frame.ErrEncoding, g.Encoding)
}

// AppendRaw appends one frame to dst without the padding at the end of rows,
// planes one after the other: what ffmpeg -f rawvideo reads. Compressed frames
// are appended as they are.
func AppendRaw(dst, data []byte, g frame.Geometry) ([]byte, error) {
	if err := g.Validate(); err != nil {
		return dst, err
	}
	if g.Compressed() {
		return append(dst, data...), nil
	}
	if len(data) < g.Size() {
		return dst, fmt.Errorf("%w: %v takes %d bytes, there are %d", ErrFrame, g, g.Size(), len(data))
	}
	for i := range g.PlaneCount() {
		dst = appendPlane(dst, data, g.Plane(i))
	}
	return dst, nil
}

func appendPlane(dst, data []byte, p frame.Plane) []byte {
	if p.Step == p.RowBytes {
		return append(dst, data[p.Offset:p.Offset+p.Rows*p.Step]...)
	}
	for y := range p.Rows {
		row := data[p.Offset+y*p.Step:]
		dst = append(dst, row[:p.RowBytes]...)
	}
	return dst
}

// grow lengthens dst by n bytes whose contents do not matter and returns it
// and the new part.
func grow(dst []byte, n int) (whole, part []byte) {
	old := len(dst)
	if cap(dst)-old < n {
		bigger := make([]byte, old, old+n)
		copy(bigger, dst)
		dst = bigger
	}
	dst = dst[:old+n]
	return dst, dst[old:]
}
