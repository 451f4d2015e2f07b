// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"fmt"
	"slices"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// way is how frames of the device become frames of the stream.
type way int

const (
	asItIs    way = iota
	decoded       // from JPEG, which has a stream of its own too
	converted     // because an encoding was asked for that the device lacks
)

// carry begins a choice: how the format fulfils the wish for an encoding. It
// reports false when it cannot.
func (w wish) carry(f PixelFormat) (choice, bool) {
	c := choice{code: f.FourCC, encoding: f.Encoding, out: f.Encoding, emulated: f.Emulated}
	switch {
	case f.Encoding == frame.JPEG:
		c.way, c.out = decoded, w.encoding
		if w.encoding == "" || w.encoding == frame.JPEG {
			c.out = frame.BGR8 // as of recordings
		}
		return c, slices.Contains(jpeg.Encodings(), c.out)
	case f.Encoding == "" || f.Compressed:
		return c, false
	case w.encoding == "" || w.encoding == f.Encoding:
		return c, true
	}
	c.way, c.out = converted, w.encoding
	c.grey = (f.Encoding == frame.Mono8 || f.Encoding == frame.Mono16) && w.encoding != frame.Mono8
	return c, convertible(f.Encoding, w.encoding)
}

// convertible reports whether a picture in one encoding can be shown in the
// other. Depth and pairs of pictures are something else than a picture.
func convertible(from, to frame.Encoding) bool {
	return !slices.Contains([]frame.Encoding{frame.Depth16, frame.Y8I, frame.Y12I}, from) && convert.Supported(from, to)
}

// how says what is done to the frames, where that was not to be expected.
func (g grant) how(w wish) string {
	switch {
	case g.way == converted:
		return fmt.Sprintf("%s is converted from %s (%v)", g.out, g.geometry.Encoding, g.code)
	case g.way == decoded && w.encoding != "" && w.encoding != frame.JPEG:
		return fmt.Sprintf("%s is decoded from %v", g.out, g.code)
	}
	return ""
}
