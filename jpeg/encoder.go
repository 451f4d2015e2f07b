// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"fmt"
	"slices"

	"github.com/seed-3c7e7623/camd/frame"
)

// compressor is one way to encode pictures of an encoding in [Encodings].
type compressor interface {
	encode(dst []byte, g frame.Geometry, data []byte, quality int) ([]byte, error)
	close()
}

// Encoder encodes pictures: baseline JPEG with chroma at half the resolution
// both ways, as cameras send it; mono8 becomes grey. It is used by one goroutine
// at a time.
type Encoder struct {
	compressor compressor
	backend    Backend
	problem    error
}

// NewEncoder makes an encoder, see [NewDecoder].
func NewEncoder(b Backend) (*Encoder, error) {
	switch b {
	case Auto, Turbo:
		t, err := openTurboEncoder()
		if err == nil {
			return &Encoder{compressor: t, backend: Turbo}, nil
		}
		if b == Turbo {
			return nil, err
		}
		return &Encoder{compressor: new(standardEncoder), backend: Go, problem: err}, nil
	case Go:
		return &Encoder{compressor: new(standardEncoder), backend: Go}, nil
	}
	return nil, fmt.Errorf("%w %q: known are %q and %q", ErrBackend, b, Turbo, Go)
}

// Backend is the encoder in use, never Auto.
func (e *Encoder) Backend() Backend { return e.backend }

// Problem is why Auto did not take libturbojpeg; nil if it did.
func (e *Encoder) Problem() error { return e.problem }

// Encode encodes the picture in data, laid out as g says, at a quality of 1 to
// 100, and returns it in dst's memory where that is large enough, see [MaxEncoded].
// It fails with frame.ErrEncoding for encodings not in [Encodings], with
// frame.ErrGeometry where data is too short, and with ErrUnsupported where a
// side is longer than a JPEG can say.
func (e *Encoder) Encode(dst []byte, g frame.Geometry, data []byte, quality int) ([]byte, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if !slices.Contains(Encodings(), g.Encoding) {
		return nil, fmt.Errorf("%w: no JPEG is made of %s, only of %s", frame.ErrEncoding, g.Encoding, frame.JoinEncodings(Encodings()))
	}
	if n := g.Extent(); len(data) < n {
		return nil, fmt.Errorf("%w: %v takes %d bytes, there are %d", frame.ErrGeometry, g, n, len(data))
	}
	if max(g.Width, g.Height) > maxSide {
		return nil, fmt.Errorf("%w: %dx%d, sides have at most %d pixels", ErrUnsupported, g.Width, g.Height, maxSide)
	}
	return e.compressor.encode(dst[:0], g, data, min(max(quality, 1), 100))
}

// Close gives back what the encoder holds. It must not be used any more.
func (e *Encoder) Close() { e.compressor.close() }

// maxSide is the longest side of a JPEG in pixels (ITU-T T.81, B.2.2; libjpeg
// keeps a little below).
const maxSide = 65500

// MaxEncoded is more bytes than any picture of that size takes (as tjBufSize
// has it for chroma at half the resolution).
func MaxEncoded(width, height int) int {
	pad := func(n int) int { return (n + 15) &^ 15 }
	return pad(width)*pad(height)*3 + 2048
}
