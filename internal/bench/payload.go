// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"

	"github.com/seed-3c7e7623/camd/frame"
)

// DefaultSizes are the payloads of a sweep in bytes.
var DefaultSizes = []int{8, 64, 512, 4096, 40_960, 409_600, 4_096_000, 40_960_000}

// ErrPayload: no picture has so many bytes.
var ErrPayload = errors.New("no picture has this payload")

// PayloadGeometry is a picture of exactly size bytes.
func PayloadGeometry(size int) (frame.Geometry, error) {
	if size >= 1 && size <= frame.MaxBytes {
		for w := min(size, 8192); w > 0; w-- {
			if size%w == 0 && size/w <= frame.MaxSide {
				return frame.NewGeometry(frame.Mono8, w, size/w)
			}
		}
	}
	return frame.Geometry{}, fmt.Errorf("%w: %d bytes", ErrPayload, size)
}

// filler writes every byte of a payload, as a device would, before it is ready.
type filler struct{ source []byte }

func newFiller() *filler {
	f := &filler{source: make([]byte, 64<<10)}
	for i := range f.source {
		f.source[i] = byte(i*7 + 1)
	}
	return f
}

func (f *filler) fill(to []byte) {
	for len(to) > 0 {
		to = to[copy(to, f.source):]
	}
}
