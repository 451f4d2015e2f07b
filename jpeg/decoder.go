// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-3c7e7623/camd/frame"
)

// Backend names a decoder.
type Backend string

// The decoders.
const (
	Auto  Backend = ""             // Turbo where it can be opened, else Go
	Turbo Backend = "libturbojpeg" // libturbojpeg.so.0: several times faster, and finds more damage
	Go    Backend = "image/jpeg"   // of Go's standard library
)

// ErrBackend reports a backend whose name is not known.
var ErrBackend = errors.New("unknown JPEG decoder")

// engine is one way to decode a frame that was validated and is of g's size.
type engine interface {
	decode(dst []byte, g frame.Geometry, data []byte, info Info) error
	close()
}

// Decoder decodes frames. It is used by one goroutine at a time; several
// decoders work side by side.
type Decoder struct {
	engine  engine
	backend Backend
	library string
	problem error
}

// Encodings are those that Decode writes.
func Encodings() []frame.Encoding {
	return []frame.Encoding{frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.Mono8}
}

// NewDecoder makes a decoder. Auto never fails: [Decoder.Problem] says why it is
// not libturbojpeg. Turbo fails with the errors of dl.Open.
func NewDecoder(b Backend) (*Decoder, error) {
	switch b {
	case Auto, Turbo:
		t, name, err := openTurbo()
		if err == nil {
			return &Decoder{engine: t, backend: Turbo, library: name}, nil
		}
		if b == Turbo {
			return nil, err
		}
		return &Decoder{engine: new(standard), backend: Go, library: string(Go), problem: err}, nil
	case Go:
		return &Decoder{engine: new(standard), backend: Go, library: string(Go)}, nil
	}
	return nil, fmt.Errorf("%w %q: known are %q and %q", ErrBackend, b, Turbo, Go)
}

// Backend is the decoder in use, never Auto.
func (d *Decoder) Backend() Backend { return d.backend }

// Library is what was opened, for people: "libturbojpeg.so.0" or "image/jpeg".
func (d *Decoder) Library() string { return d.library }

// Problem is why Auto did not take libturbojpeg; nil if it did.
func (d *Decoder) Problem() error { return d.problem }

// Decode validates the frame and decodes it into dst, which is laid out as g
// says and not touched in its padding. Colours are those of JFIF, BT.601 in full
// range; mono8 is the luma. It fails with ErrSize if the picture is not of g's
// size, with frame.ErrEncoding for encodings not in [Encodings], and with what
// [Validate] reports. After damage that shows only in the coded data dst holds
// part of a picture.
func (d *Decoder) Decode(dst []byte, g frame.Geometry, data []byte) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if !slices.Contains(Encodings(), g.Encoding) {
		return fmt.Errorf("%w: JPEG is not decoded into %s, only into %s", frame.ErrEncoding, g.Encoding, frame.JoinEncodings(Encodings()))
	}
	if n := g.Extent(); len(dst) < n {
		return fmt.Errorf("%w: %v takes %d bytes, there are %d", frame.ErrGeometry, g, n, len(dst))
	}
	info, err := Validate(data, Limits{})
	if err != nil {
		return err
	}
	if info.Width != g.Width || info.Height != g.Height {
		return fmt.Errorf("%w: %dx%d, agreed was %v", ErrSize, info.Width, info.Height, g)
	}
	return d.engine.decode(dst, g, data[:info.Length], info)
}

// Close gives back what the decoder holds. It must not be used any more.
func (d *Decoder) Close() {
	d.engine.close()
}
