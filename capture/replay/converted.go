// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

// converted changes the encoding of what another reader reads.
type converted struct {
	reader
	to    frame.Encoding
	color frame.Color

	from, dst frame.Geometry
	conv      *convert.Converter
	buf       []byte // one frame as it is in the recording
}

func (c *converted) look() (frame.Geometry, error) {
	g, err := c.reader.look()
	if err != nil || g == c.from {
		return c.dst, err
	}
	dst, err := frame.NewGeometry(c.to, g.Width, g.Height)
	if err != nil {
		return dst, err
	}
	if c.conv, err = convert.New(g, dst, convert.Options{Color: c.color}); err != nil {
		return dst, err
	}
	c.from, c.dst, c.buf = g, dst, make([]byte, g.Size())
	return dst, nil
}

func (c *converted) read(dst []byte) (int, error) {
	if dst == nil {
		return c.reader.read(nil)
	}
	if _, err := c.reader.read(c.buf); err != nil {
		return 0, err
	}
	return len(dst), c.conv.Convert(dst, c.buf)
}
