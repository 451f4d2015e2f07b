// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
)

// rawReader is a file of frames and nothing else.
type rawReader struct {
	file     *os.File
	geometry frame.Geometry
	at, end  int64
}

func (s *Source) openRaw(f *os.File, size int64) (*recording, error) {
	if s.width == 0 || !s.asked {
		return nil, fmt.Errorf("%w: %s: a raw file does not say what it holds: ,WxH@R and encoding=NAME are needed", capture.ErrConfig, s.Describe())
	}
	g, err := frame.NewGeometryStep(s.encoding, s.width, s.height, s.step)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", capture.ErrConfig, err)
	}
	if n := int64(g.Size()); size%n != 0 {
		return nil, fmt.Errorf("%w: %s: its %d bytes are not a multiple of the %d of a frame of %v, step %d",
			capture.ErrFormatRefused, s.Describe(), size, n, g, g.Step)
	}
	return &recording{
		reader: &rawReader{file: f, geometry: g, end: size}, format: "raw",
		clip: clip{width: g.Width, height: g.Height, rate: fallbackRate, frames: uint64(size / int64(g.Size()))},
	}, nil
}

func (r *rawReader) look() (frame.Geometry, error) {
	if r.at >= r.end {
		return r.geometry, io.EOF
	}
	return r.geometry, nil
}

func (r *rawReader) read(dst []byte) (int, error) {
	if dst != nil {
		if n, err := r.file.ReadAt(dst, r.at); n < len(dst) {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("was cut while it was read: %w", io.ErrUnexpectedEOF)
			}
			return 0, err
		}
	}
	r.at += int64(r.geometry.Size())
	return 0, nil
}

func (r *rawReader) rewind() error {
	r.at = 0
	return nil
}

func (r *rawReader) Close() error { return r.file.Close() }
