// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package y4m

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/seed-3c7e7623/camd/frame"
)

// Reader reads the frames of a file. It is used by one goroutine.
type Reader struct {
	Header   Header
	Geometry frame.Geometry

	in     io.ReaderAt
	at     int64  // of the next frame's line
	chroma []byte // both planes of one frame
	line   [MaxHeader]byte
}

// NewReader reads the header. It fails with [ErrHeader], [ErrChroma],
// [frame.ErrGeometry] or what in says.
func NewReader(in io.ReaderAt) (*Reader, error) {
	r := &Reader{in: in}
	n, err := in.ReadAt(r.line[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if r.Header, err = ParseHeader(r.line[:n]); err != nil {
		return nil, err
	}
	encoding, err := r.Header.Encoding()
	if err != nil {
		return nil, err
	}
	if r.Geometry, err = frame.NewGeometry(encoding, r.Header.Width, r.Header.Height); err != nil {
		return nil, err
	}
	if encoding != frame.Mono8 {
		r.chroma = make([]byte, 2*r.chromaWidth()*r.chromaHeight())
	}
	r.Rewind()
	return r, nil
}

// Rewind goes back to the first frame.
func (r *Reader) Rewind() { r.at = int64(r.Header.Bytes) }

// chromaWidth and chromaHeight are those of one plane. Odd sides round up, as
// in ffmpeg (libavformat/yuv4mpegdec.c).
func (r *Reader) chromaWidth() int { return (r.Header.Width + 1) / 2 }

func (r *Reader) chromaHeight() int {
	if r.Geometry.Encoding == frame.NV12 {
		return (r.Header.Height + 1) / 2
	}
	return r.Header.Height
}

// FrameBytes is what one frame takes in the file, without its line.
func (r *Reader) FrameBytes() int { return r.Header.Width*r.Header.Height + len(r.chroma) }

// Next reads the next frame into dst, which has Geometry.Size() bytes, and
// returns how many bytes of it were copied from memory to memory; the others
// were read in place. A nil dst skips the frame. The error is io.EOF at the end,
// a [*CutError] in the middle of a frame, [ErrHeader] or what the file says.
func (r *Reader) Next(dst []byte) (copied int, err error) {
	n, err := r.lineLength()
	if err != nil {
		return 0, err
	}
	pixels := r.at + int64(n)
	if dst == nil {
		// The last byte tells whether the frame is whole.
		if _, err := r.in.ReadAt(r.line[:1], pixels+int64(r.FrameBytes())-1); err != nil {
			return 0, r.cut(0, err)
		}
	} else if copied, err = r.read(dst, pixels); err != nil {
		return 0, err
	}
	r.at = pixels + int64(r.FrameBytes())
	return copied, nil
}

// lineLength checks the line before a frame and returns its length.
func (r *Reader) lineLength() (int, error) {
	const short = "FRAME\n"
	n, err := r.in.ReadAt(r.line[:len(short)], r.at)
	if n == 0 && errors.Is(err, io.EOF) {
		return 0, io.EOF
	}
	if string(r.line[:n]) == short {
		return n, nil
	}
	if n, err = r.in.ReadAt(r.line[:], r.at); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	line := r.line[:n]
	end := bytes.IndexByte(line, '\n')
	switch {
	case bytes.HasPrefix([]byte(short), line) || end < 0 && n < MaxHeader && bytes.HasPrefix(line, []byte("FRAME ")):
		return 0, &CutError{Have: 0, Want: r.FrameBytes()}
	case end < 0 || !bytes.HasPrefix(line, []byte("FRAME ")):
		return 0, fmt.Errorf("%w: no line FRAME at byte %d", ErrHeader, r.at)
	}
	return end + 1, nil
}

func (r *Reader) read(dst []byte, at int64) (copied int, err error) {
	g := r.Geometry
	width, luma := r.Header.Width, r.Header.Width*r.Header.Height
	switch {
	case g.Encoding == frame.YUV422YUY2:
		return r.readPacked(dst, at)
	case g.Step == width:
		if n, err := r.in.ReadAt(dst[:luma], at); n < luma {
			return 0, r.cut(n, err)
		}
	default: // an odd width: the rows of nv12 have one byte more
		for y := range g.Height {
			row := at + int64(y*width)
			if n, err := r.in.ReadAt(dst[y*g.Step:y*g.Step+width], row); n < width {
				return 0, r.cut(y*width+n, err)
			}
		}
	}
	if len(r.chroma) == 0 {
		return 0, nil
	}
	if n, err := r.in.ReadAt(r.chroma, at+int64(luma)); n < len(r.chroma) {
		return 0, r.cut(luma+n, err)
	}
	half, w := len(r.chroma)/2, r.chromaWidth()
	u, v := r.chroma[:half], r.chroma[half:]
	plane := dst[g.Plane(1).Offset:]
	for y := range r.chromaHeight() {
		interleave(plane[y*g.Step:y*g.Step+2*w], u[y*w:(y+1)*w], v[y*w:(y+1)*w])
	}
	return len(r.chroma), nil
}

func interleave(dst, u, v []byte) {
	v = v[:len(u)]
	dst = dst[:2*len(u)]
	for i := range u {
		dst[2*i], dst[2*i+1] = u[i], v[i]
	}
}

// readPacked makes Y0 U Y1 V of three planes. The luma comes through the same
// memory as the chroma, row by row.
func (r *Reader) readPacked(dst []byte, at int64) (copied int, err error) {
	g, w := r.Geometry, r.Header.Width
	luma := w * g.Height
	if n, err := r.in.ReadAt(r.chroma, at+int64(luma)); n < len(r.chroma) {
		return 0, r.cut(luma+n, err)
	}
	half, cw := len(r.chroma)/2, r.chromaWidth()
	for y := range g.Height {
		// The first half of the row in dst is free until its pixels are spread,
		// from the end on.
		row := dst[y*g.Step : y*g.Step+4*cw]
		if n, err := r.in.ReadAt(row[:w], at+int64(y*w)); n < w {
			return 0, r.cut(y*w+n, err)
		}
		u, v := r.chroma[y*cw:(y+1)*cw], r.chroma[half+y*cw:half+(y+1)*cw]
		for i := cw - 1; i >= 0; i-- {
			y0, y1 := row[2*i], row[2*i]
			if 2*i+1 < w {
				y1 = row[2*i+1]
			}
			row[4*i], row[4*i+1], row[4*i+2], row[4*i+3] = y0, u[i], y1, v[i]
		}
	}
	return luma + len(r.chroma), nil
}

// cut says what a short read means.
func (r *Reader) cut(have int, err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return &CutError{Have: have, Want: r.FrameBytes()}
}

// CutError is a file that ends in the middle of a frame. It wraps
// io.ErrUnexpectedEOF.
type CutError struct {
	Have, Want int // bytes of the frame
}

func (e *CutError) Error() string {
	return fmt.Sprintf("ends in the middle of a frame (%d of %d bytes)", e.Have, e.Want)
}

// Unwrap makes errors.Is(e, io.ErrUnexpectedEOF) true.
func (e *CutError) Unwrap() error { return io.ErrUnexpectedEOF }
