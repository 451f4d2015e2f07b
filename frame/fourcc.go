// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrFourCC reports text that is not a fourcc.
var ErrFourCC = errors.New("not a fourcc")

// FourCC is V4L2's code of a pixel format: four ASCII characters, the first one
// in the low byte. Bit 31 marks the big-endian variant (v4l2_fourcc_be).
type FourCC uint32

const (
	bigEndianBit    FourCC = 1 << 31
	bigEndianSuffix        = "-BE"
)

func fourCC(s string) FourCC {
	return FourCC(s[0]) | FourCC(s[1])<<8 | FourCC(s[2])<<16 | FourCC(s[3])<<24
}

// BigEndian reports whether bit 31 is set.
func (c FourCC) BigEndian() bool { return c&bigEndianBit != 0 }

// String is the code without trailing spaces, with "-BE" for big-endian:
// "YUYV", "Y16", "Y16-BE". A code that cannot be written so is hexadecimal.
func (c FourCC) String() string {
	plain := c &^ bigEndianBit
	s := strings.TrimRight(string([]byte{byte(plain), byte(plain >> 8), byte(plain >> 16), byte(plain >> 24)}), " ")
	if c.BigEndian() {
		s += bigEndianSuffix
	}
	if back, err := ParseFourCC(s); err != nil || back != c {
		return fmt.Sprintf("0x%08x", uint32(c))
	}
	return s
}

// ParseFourCC reads what [FourCC.String] writes; v4l2-ctl's spelling "Y16 -BE"
// too. It fails with [ErrFourCC].
func ParseFourCC(s string) (FourCC, error) {
	if hex, ok := strings.CutPrefix(s, "0x"); ok && len(s) > 4 {
		n, err := strconv.ParseUint(hex, 16, 32)
		if err != nil {
			return 0, fmt.Errorf("%w: %.64q", ErrFourCC, s)
		}
		return FourCC(n), nil
	}
	text, big := s, false
	if len(s) > len(bigEndianSuffix) {
		text, big = strings.CutSuffix(s, bigEndianSuffix)
	}
	if len(text) < 1 || len(text) > 4 {
		return 0, fmt.Errorf("%w: %.64q: want 1 to 4 characters, perhaps with %s", ErrFourCC, s, bigEndianSuffix)
	}
	for _, b := range []byte(text) {
		if b < ' ' || b > '~' {
			return 0, fmt.Errorf("%w: %.64q: has a character that is not printable ASCII", ErrFourCC, s)
		}
	}
	c := fourCC((text + "   ")[:4])
	if big {
		c |= bigEndianBit
	}
	return c, nil
}

// Format is what a fourcc says about memory beyond an encoding's name.
type Format struct {
	Encoding  Encoding
	BigEndian bool // see [Geometry.BigEndian]
	Bits      int  // see [Geometry.Bits]
}

// formats is the table of the kernel's "Image Formats" (linux/videodev2.h and
// Documentation/userspace-api/media/v4l). Where several codes stand for one
// format the first is the one that FourCC answers.
//
// Not in it, because no ROS encoding has their layout: RGB4, BA24, BX24 (alpha
// first), RA24, RX24 (alpha first, BGR), the bit-packed MIPI formats (pBAA and
// the like), YVYU, NV21 and planar YUV.
var formats = []struct {
	code   string
	format Format
}{
	{"RGB3", Format{Encoding: RGB8}},
	{"BGR3", Format{Encoding: BGR8}},
	{"AB24", Format{Encoding: RGBA8}}, // V4L2_PIX_FMT_RGBA32: R G B A
	{"XB24", Format{Encoding: RGBA8}}, // V4L2_PIX_FMT_RGBX32: the fourth byte means nothing
	{"AR24", Format{Encoding: BGRA8}}, // V4L2_PIX_FMT_ABGR32: B G R A, despite its name
	{"XR24", Format{Encoding: BGRA8}}, // V4L2_PIX_FMT_XBGR32: the fourth byte means nothing
	{"BGR4", Format{Encoding: BGRA8}}, // V4L2_PIX_FMT_BGR32: the fourth byte may mean nothing
	{"GREY", Format{Encoding: Mono8}},
	{"YUYV", Format{Encoding: YUV422YUY2}},
	{"UYVY", Format{Encoding: YUV422UYVY}},
	{"NV12", Format{Encoding: NV12}},
	{"Y16 ", Format{Encoding: Mono16}},
	{"Y16 -BE", Format{Encoding: Mono16, BigEndian: true}},
	{"Y10 ", Format{Encoding: Mono16, Bits: 10}},
	{"Y12 ", Format{Encoding: Mono16, Bits: 12}},
	{"Y14 ", Format{Encoding: Mono16, Bits: 14}},
	{"Z16 ", Format{Encoding: Depth16}},
	{"RGGB", Format{Encoding: BayerRGGB8}},
	{"BA81", Format{Encoding: BayerBGGR8}},
	{"GBRG", Format{Encoding: BayerGBRG8}},
	{"GRBG", Format{Encoding: BayerGRBG8}},
	{"RG16", Format{Encoding: BayerRGGB16}},
	{"BYR2", Format{Encoding: BayerBGGR16}},
	{"GB16", Format{Encoding: BayerGBRG16}},
	{"GR16", Format{Encoding: BayerGRBG16}},
	{"RG10", Format{Encoding: BayerRGGB16, Bits: 10}},
	{"BG10", Format{Encoding: BayerBGGR16, Bits: 10}},
	{"GB10", Format{Encoding: BayerGBRG16, Bits: 10}},
	{"BA10", Format{Encoding: BayerGRBG16, Bits: 10}},
	{"RG12", Format{Encoding: BayerRGGB16, Bits: 12}},
	{"BG12", Format{Encoding: BayerBGGR16, Bits: 12}},
	{"GB12", Format{Encoding: BayerGBRG16, Bits: 12}},
	{"BA12", Format{Encoding: BayerGRBG16, Bits: 12}},
	{"RG14", Format{Encoding: BayerRGGB16, Bits: 14}},
	{"BG14", Format{Encoding: BayerBGGR16, Bits: 14}},
	{"GB14", Format{Encoding: BayerGBRG16, Bits: 14}},
	{"GR14", Format{Encoding: BayerGRBG16, Bits: 14}},
	{"Y8I ", Format{Encoding: Y8I}},
	{"Y12I", Format{Encoding: Y12I}},
	{"MJPG", Format{Encoding: JPEG}},
	{"JPEG", Format{Encoding: JPEG}},
}

// tableCode is the code of a row of the table.
func tableCode(s string) FourCC {
	c := fourCC(s)
	if len(s) > 4 {
		c |= bigEndianBit
	}
	return c
}

// Format is the memory layout that the code stands for; false if camd carries
// nothing like it.
func (c FourCC) Format() (Format, bool) {
	for _, f := range formats {
		if tableCode(f.code) == c {
			return f.format, true
		}
	}
	return Format{}, false
}

// FourCC is the code of the format; false if V4L2 has none.
func (f Format) FourCC() (FourCC, bool) {
	for _, row := range formats {
		if row.format == f {
			return tableCode(row.code), true
		}
	}
	return 0, false
}

// FromFourCC is the encoding that the code stands for. [FourCC.Format] says the
// byte order and the used bits too.
func FromFourCC(code uint32) (Encoding, bool) {
	f, ok := FourCC(code).Format()
	return f.Encoding, ok
}

// FourCC is the code of the encoding with little-endian samples of which all
// bits are used; false if e is not known.
func (e Encoding) FourCC() (uint32, bool) {
	c, ok := Format{Encoding: e}.FourCC()
	return uint32(c), ok
}

// Format is the part of the geometry that a fourcc can say.
func (g Geometry) Format() Format {
	return Format{Encoding: g.Encoding, BigEndian: g.BigEndian, Bits: g.Bits}
}

// Geometry is a frame of the format, as [NewGeometryStep] makes it. Compressed
// formats need [NewCompressed].
func (f Format) Geometry(width, height, step int) (Geometry, error) {
	g, err := NewGeometryStep(f.Encoding, width, height, step)
	if err != nil {
		return Geometry{}, err
	}
	g.BigEndian, g.Bits = f.BigEndian, f.Bits
	return g, orNone(&g)
}
