// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/capture/replay/avi"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// maxJPEGBytes bounds one compressed frame.
const maxJPEGBytes = 64 << 20

// packets are the compressed frames of a file.
type packets interface {
	// next returns a frame, valid until the following call; io.EOF at the end,
	// errDamaged for what is no frame.
	next() ([]byte, error)
	rewind() error
}

// jpegReader looks into motion JPEG. Its frames are for [mjpeg.Streams].
type jpegReader struct {
	packets
	closer   io.Closer
	encoding frame.Encoding // "" before the first look, if none was asked for

	packet   []byte // that was looked at, nil = none
	geometry frame.Geometry
}

func (s *Source) newJPEG(p packets, c io.Closer) (*jpegReader, error) {
	if s.asked && !slices.Contains(jpeg.Encodings(), s.encoding) {
		return nil, fmt.Errorf("%w: JPEG is decoded into %s, not %s", errElse, frame.JoinEncodings(jpeg.Encodings()), s.encoding)
	}
	r := &jpegReader{packets: p, closer: c}
	if s.asked {
		r.encoding = s.encoding
	}
	return r, nil
}

func (r *jpegReader) look() (frame.Geometry, error) {
	if r.packet != nil {
		return r.geometry, nil
	}
	packet, err := r.next()
	if err != nil {
		return frame.Geometry{}, err
	}
	info, err := jpeg.Validate(packet, jpeg.Limits{})
	if err != nil {
		return frame.Geometry{}, damaged(err)
	}
	if r.encoding == "" {
		r.encoding = frame.BGR8
		if info.Components == 1 {
			r.encoding = frame.Mono8
		}
	}
	g, err := frame.NewGeometry(r.encoding, info.Width, info.Height)
	if err != nil {
		return g, damaged(err)
	}
	r.packet, r.geometry = packet, g
	return g, nil
}

// damaged keeps the reason for the counters.
func damaged(err error) error { return fmt.Errorf("%w: %w", errDamaged, err) }

// errPacked: frames of this reader are taken as they are.
var errPacked = errors.New("compressed frames are not read into memory")

// read passes over the frame.
func (r *jpegReader) read(dst []byte) (copied int, err error) {
	if dst != nil {
		return 0, errPacked
	}
	r.packet = nil
	return 0, nil
}

// take returns the frame that was looked at.
func (r *jpegReader) take() []byte {
	packet := r.packet
	r.packet = nil
	return packet
}

func (r *jpegReader) rewind() error {
	r.packet = nil
	return r.packets.rewind()
}

func (r *jpegReader) Close() error { return r.closer.Close() }

// mjpegFile is JPEGs one after the other.
type mjpegFile struct {
	file     *os.File
	splitter *jpeg.Splitter
}

func (s *Source) openMJPEG(f *os.File) (*recording, error) {
	p := &mjpegFile{file: f}
	if err := p.rewind(); err != nil {
		return nil, err
	}
	r, err := s.newJPEG(p, f)
	if err != nil {
		return nil, err
	}
	return &recording{reader: r, format: "mjpeg", clip: clip{rate: fallbackRate}}, nil
}

func (m *mjpegFile) next() ([]byte, error) {
	b, err := m.splitter.Next()
	if jpeg.Reason(err) != "" {
		err = damaged(err)
	}
	return b, err
}

func (m *mjpegFile) rewind() error {
	m.splitter = jpeg.NewSplitter(m.file, maxJPEGBytes)
	_, err := m.file.Seek(0, io.SeekStart)
	return err
}

// aviFile is motion JPEG in an AVI file.
type aviFile struct {
	*avi.Reader
	buf  []byte
	last avi.Chunk
}

func (s *Source) openAVI(f *os.File) (*recording, error) {
	a, err := avi.NewReader(f)
	// ffmpeg knows more kinds of AVI.
	switch {
	case errors.Is(err, avi.ErrFormat):
		return nil, fmt.Errorf("%w: %w", errElse, err)
	case err != nil:
		return nil, err
	case !strings.EqualFold(a.Stream.FourCC, "MJPG"):
		return nil, fmt.Errorf("%w: avi of %q", errElse, a.Stream.FourCC)
	}
	rate := a.Stream.Rate
	if rate == 0 {
		rate = fallbackRate
	}
	r, err := s.newJPEG(&aviFile{Reader: a}, f)
	if err != nil {
		return nil, err
	}
	return &recording{reader: r, format: "avi of MJPG", clip: clip{width: a.Stream.Width, height: a.Stream.Height, rate: rate, frames: a.Stream.Frames}}, nil
}

// next returns the frame before again where the file says so by an empty chunk.
func (a *aviFile) next() ([]byte, error) {
	c, err := a.Next()
	switch {
	case errors.Is(err, avi.ErrFormat):
		return nil, fmt.Errorf("is damaged: %w: %w", err, io.ErrUnexpectedEOF)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("ends in the middle of a frame: %w", err)
	case err != nil:
		return nil, err
	case c.Size == 0 && a.last.Size == 0:
		return nil, damaged(fmt.Errorf("%w: empty frame", jpeg.ErrNotJPEG))
	case c.Size > 0:
		a.last = c
	}
	if a.last.Size > maxJPEGBytes {
		return nil, damaged(fmt.Errorf("%w: %d bytes", jpeg.ErrTooBig, c.Size))
	}
	a.buf, err = a.Read(a.last, a.buf)
	return a.buf, err
}

func (a *aviFile) rewind() error {
	a.Rewind()
	a.last = avi.Chunk{}
	return nil
}
