// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/replay/y4m"
	"github.com/seed-3c7e7623/camd/frame"
)

// y4mReader is a YUV4MPEG2 file.
type y4mReader struct {
	*y4m.Reader
	file *os.File
}

func openY4M(f *os.File) (*recording, error) {
	r, err := y4m.NewReader(f)
	switch {
	case errors.Is(err, y4m.ErrChroma):
		return nil, fmt.Errorf("%w: y4m: %w", errElse, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", capture.ErrFormatRefused, filepath.Base(f.Name()), err)
	}
	h := r.Header
	rate := h.Rate()
	if rate < 0.001 || rate > 1e6 {
		rate = fallbackRate
	}
	return &recording{
		reader: &y4mReader{r, f}, format: "y4m", color: frame.Color{Range: h.Range},
		clip: clip{width: h.Width, height: h.Height, rate: rate},
	}, nil
}

func (r *y4mReader) look() (frame.Geometry, error) { return r.Geometry, nil }

func (r *y4mReader) read(dst []byte) (int, error) { return r.Next(dst) }

func (r *y4mReader) rewind() error {
	r.Rewind()
	return nil
}

func (r *y4mReader) Close() error { return r.file.Close() }
