// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"fmt"
	"slices"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// Shown lists the encodings of an Image that RViz, rqt_image_view and cv_bridge
// of every release from Humble to Rolling show as they are. Of the others, the
// 4:2:2 ones changed their names between the releases, nv12 is shown by none, and
// a Bayer mosaic is shown as grey.
func Shown() []frame.Encoding {
	return []frame.Encoding{
		frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.Mono8, frame.Mono16, frame.Depth16,
	}
}

// Target is the encoding in which pictures of src are published where nobody
// chose one: src if viewers show it, else grey of grey and rgb8 of colour.
func Target(src frame.Encoding) frame.Encoding {
	switch {
	case slices.Contains(Shown(), src), src.Compressed():
		return src
	case src == frame.Y8I:
		return frame.Mono8
	case src == frame.Y12I:
		return frame.Mono16
	}
	return frame.RGB8
}

// published is the layout of an Image made of a frame of src: no padding, since
// RViz takes rows to be packed, and the low byte first, since viewers do not look
// at is_bigendian.
func published(src frame.Geometry, wanted frame.Encoding) (frame.Geometry, error) {
	e := wanted
	if e == "" {
		e = Target(src.Encoding)
	}
	g, err := frame.NewGeometry(e, src.Width, src.Height)
	if err != nil {
		return g, err
	}
	if e == src.Encoding {
		g.Bits = src.Bits
		return g, nil
	}
	if !convert.Supported(src.Encoding, e) {
		return g, fmt.Errorf("%w: %s into %s", convert.ErrUnsupported, src.Encoding, e)
	}
	return g, nil
}

// plan is how the messages of frames of one geometry are made.
type plan struct {
	src, out frame.Geometry
	color    frame.Color
	// toImage makes the Image's bytes of a frame; nil: they lie there already.
	toImage *convert.Converter
	packs   bool // toImage only takes the padding out
	// JPEG is made of from: the frame, the Image's bytes or what toJPEG makes.
	from   origin
	jpeg   frame.Geometry
	toJPEG *convert.Converter
	note   string // what is done otherwise than was asked for
}

type origin uint8

const (
	noJPEG   origin = iota
	captured        // the frame is one
	fromFrame
	fromImage
	fromOwn
)

// newPlan plans for frames of src. An encoding into which there is no conversion
// gives way to the usual one, which is said in note.
func newPlan(src frame.Geometry, color frame.Color, wanted frame.Encoding) (*plan, error) {
	p := &plan{src: src, color: color}
	if src.Compressed() {
		p.from = captured
		return p, nil
	}
	out, err := published(src, wanted)
	if err != nil {
		p.note = err.Error()
		if out, err = published(src, ""); err != nil {
			return nil, err
		}
	}
	p.out = out
	if out != src {
		p.packs = out.Encoding == src.Encoding && out.BigEndian == src.BigEndian
		if p.toImage, err = convert.New(src, out, convert.Options{Color: color}); err != nil {
			return nil, err
		}
	}
	switch {
	case slices.Contains(jpeg.Encodings(), src.Encoding):
		p.from, p.jpeg = fromFrame, src
	case slices.Contains(jpeg.Encodings(), out.Encoding):
		p.from, p.jpeg = fromImage, out
	case src.Encoding.Wide() && !src.Encoding.Bayer():
		// Depth and grey of 16 bits are data: eight bits of them would be none.
	default:
		if p.jpeg, err = published(src, frame.RGB8); err != nil {
			return nil, err
		}
		if p.toJPEG, err = convert.New(src, p.jpeg, convert.Options{Color: color}); err != nil {
			return nil, err
		}
		p.from = fromOwn
	}
	return p, nil
}

// format is the text of a CompressedImage, by which compressed_image_transport
// knows what to decode into: the encoding of the picture it was made of, and that
// of what is in the JPEG. JPEG as captured was made of no picture that anybody
// has: of colour it is said to be of bgr8, as the decoders of ROS give it.
func (p *plan) format(grey bool) string {
	e := p.out.Encoding
	switch {
	case p.from == captured && grey:
		e = frame.Mono8
	case p.from == captured:
		e = frame.BGR8
	}
	if e == frame.Mono8 {
		return string(e) + "; jpeg compressed "
	}
	return string(e) + "; jpeg compressed bgr8"
}

// String says in a log what becomes of the pictures.
func (p *plan) String() string {
	switch {
	case p.src.Compressed():
		return "jpeg as captured"
	case p.toImage == nil:
		return string(p.out.Encoding) + " as captured"
	case p.packs:
		return fmt.Sprintf("%s, rows of %d bytes packed into %d", p.out.Encoding, p.src.Step, p.out.Step)
	case p.out.Encoding == p.src.Encoding:
		return string(p.out.Encoding) + ", byte order swapped"
	}
	return fmt.Sprintf("%s converted into %s", p.src.Encoding, p.out.Encoding)
}
