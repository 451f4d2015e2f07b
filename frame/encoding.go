// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrEncoding reports a pixel encoding whose name is not known.
var ErrEncoding = errors.New("unknown encoding")

// Encoding is the name of a pixel layout, spelled as in ROS 2
// (sensor_msgs/image_encodings.hpp, sensor_msgs/CompressedImage). Names are
// case sensitive. y8i and y12i, which ROS has no name for, are our own.
type Encoding string

// The encodings that camd carries. Layouts are per pixel, in memory order.
// Samples of 16 bits are little-endian unless [Geometry.BigEndian] says
// otherwise, and may use fewer bits, see [Geometry.Bits].
const (
	RGB8       Encoding = "rgb8"        // R G B
	BGR8       Encoding = "bgr8"        // B G R
	RGBA8      Encoding = "rgba8"       // R G B A
	BGRA8      Encoding = "bgra8"       // B G R A
	Mono8      Encoding = "mono8"       // Y, full range
	YUV422YUY2 Encoding = "yuv422_yuy2" // Y0 U Y1 V, two pixels in four bytes (V4L2 YUYV)
	YUV422UYVY Encoding = "yuv422"      // U Y0 V Y1, two pixels in four bytes (V4L2 UYVY)
	NV12       Encoding = "nv12"        // plane of Y, then plane of U V at half resolution both ways

	Mono16  Encoding = "mono16" // Y, 16 bits
	Depth16 Encoding = "16UC1"  // distance, 16 bits, 0 = no data; the unit is the device's (mostly 1 mm)

	BayerRGGB8 Encoding = "bayer_rggb8" // one colour a pixel; rows RGRG… GBGB…
	BayerBGGR8 Encoding = "bayer_bggr8" // rows BGBG… GRGR…
	BayerGBRG8 Encoding = "bayer_gbrg8" // rows GBGB… RGRG…
	BayerGRBG8 Encoding = "bayer_grbg8" // rows GRGR… BGBG…

	BayerRGGB16 Encoding = "bayer_rggb16" // as bayer_rggb8, 16 bits
	BayerBGGR16 Encoding = "bayer_bggr16" // as bayer_bggr8, 16 bits
	BayerGBRG16 Encoding = "bayer_gbrg16" // as bayer_gbrg8, 16 bits
	BayerGRBG16 Encoding = "bayer_grbg16" // as bayer_grbg8, 16 bits

	Y8I  Encoding = "y8i"  // two grey pictures: left, right, 8 bits each
	Y12I Encoding = "y12i" // two grey pictures: little-endian word of 24 bits, left in bits 0 to 11, right in 12 to 23

	JPEG Encoding = "jpeg" // one JPEG stream a frame (ITU-T T.81); its length varies
)

// Encodings that come from other programs' ROS topics only: no camera of camd
// has them, they are not in [Encodings], and nothing converts them.
const (
	Float32 Encoding = "32FC1"  // IEEE 754, 32 bits little-endian; of depth: metres, NaN = no data (REP 118)
	RGB16   Encoding = "rgb16"  // R G B, 16 bits each
	BGR16   Encoding = "bgr16"  // B G R, 16 bits each
	RGBA16  Encoding = "rgba16" // R G B A, 16 bits each
	BGRA16  Encoding = "bgra16" // B G R A, 16 bits each
	NV21    Encoding = "nv21"   // as nv12, with V before U
	PNG     Encoding = "png"    // one PNG file a frame; its length varies
)

// layout says how many bytes a row takes and what follows the first plane.
type layout struct {
	group       int // pixels that share one group of bytes
	groupBytes  int // bytes of such a group
	chromaPlane bool
	wide        bool // samples of 16 bits
	compressed  bool
	foreign     bool // of other programs only
}

var layouts = map[Encoding]layout{
	RGB8:        {group: 1, groupBytes: 3},
	BGR8:        {group: 1, groupBytes: 3},
	RGBA8:       {group: 1, groupBytes: 4},
	BGRA8:       {group: 1, groupBytes: 4},
	Mono8:       {group: 1, groupBytes: 1},
	YUV422YUY2:  {group: 2, groupBytes: 4},
	YUV422UYVY:  {group: 2, groupBytes: 4},
	NV12:        {group: 1, groupBytes: 1, chromaPlane: true},
	Mono16:      {group: 1, groupBytes: 2, wide: true},
	Depth16:     {group: 1, groupBytes: 2, wide: true},
	BayerRGGB8:  {group: 1, groupBytes: 1},
	BayerBGGR8:  {group: 1, groupBytes: 1},
	BayerGBRG8:  {group: 1, groupBytes: 1},
	BayerGRBG8:  {group: 1, groupBytes: 1},
	BayerRGGB16: {group: 1, groupBytes: 2, wide: true},
	BayerBGGR16: {group: 1, groupBytes: 2, wide: true},
	BayerGBRG16: {group: 1, groupBytes: 2, wide: true},
	BayerGRBG16: {group: 1, groupBytes: 2, wide: true},
	Y8I:         {group: 1, groupBytes: 2},
	Y12I:        {group: 1, groupBytes: 3},
	JPEG:        {group: 1, compressed: true},

	Float32: {group: 1, groupBytes: 4, foreign: true},
	RGB16:   {group: 1, groupBytes: 6, wide: true, foreign: true},
	BGR16:   {group: 1, groupBytes: 6, wide: true, foreign: true},
	RGBA16:  {group: 1, groupBytes: 8, wide: true, foreign: true},
	BGRA16:  {group: 1, groupBytes: 8, wide: true, foreign: true},
	NV21:    {group: 1, groupBytes: 1, chromaPlane: true, foreign: true},
	PNG:     {group: 1, compressed: true, foreign: true},
}

// aliases are names that people type; the left side never leaves ParseEncoding.
var aliases = map[string]Encoding{
	"yuyv":        YUV422YUY2,
	"yuy2":        YUV422YUY2,
	"yuv422_uyvy": YUV422UYVY,
	"uyvy":        YUV422UYVY,
	"grey":        Mono8,
	"z16":         Depth16,
	"mjpeg":       JPEG,
	"mjpg":        JPEG,
}

// Encodings lists every encoding that cameras of camd can have, in the order of
// documentation.
func Encodings() []Encoding {
	return []Encoding{
		RGB8, BGR8, RGBA8, BGRA8, Mono8, YUV422YUY2, YUV422UYVY, NV12, Mono16, Depth16,
		BayerRGGB8, BayerBGGR8, BayerGBRG8, BayerGRBG8, BayerRGGB16, BayerBGGR16, BayerGBRG16, BayerGRBG16,
		Y8I, Y12I, JPEG,
	}
}

// ParseEncoding returns the encoding called s. It accepts the names of
// [Encodings] and the aliases yuyv, yuy2, uyvy, yuv422_uyvy, grey, z16, mjpeg and mjpg.
// Anything else is [ErrEncoding].
func ParseEncoding(s string) (Encoding, error) {
	if l, ok := layouts[Encoding(s)]; ok && !l.foreign {
		return Encoding(s), nil
	}
	if e, ok := aliases[s]; ok {
		return e, nil
	}
	return "", unknownEncoding(s, Encodings())
}

// ParseEncodingOf is ParseEncoding where only some encodings will do. Those are
// named for what is not known; one that is known, but not among them, is
// returned as it is.
func ParseEncodingOf(s string, list []Encoding) (Encoding, error) {
	e, err := ParseEncoding(s)
	if err != nil {
		return "", unknownEncoding(s, list)
	}
	return e, nil
}

func unknownEncoding(s string, list []Encoding) error {
	hint := ""
	if e := meant(s, list); e != "" {
		hint = fmt.Sprintf(", did you mean %s?", e)
	}
	return fmt.Errorf("%w %q%s; known are %s", ErrEncoding, s, hint, JoinEncodings(list))
}

// meant is the encoding whose name other programs write like s: in capitals, or
// without the number of bits; "" if there is none.
func meant(s string, list []Encoding) Encoding {
	s = strings.ToLower(s)
	for _, name := range []string{s, s + "8", strings.TrimSuffix(s, "24"), strings.TrimSuffix(s, "32")} {
		for _, try := range []string{name, name + "8"} {
			if e, ok := otherNames[try]; ok {
				try = string(e)
			} else if e, ok := aliases[try]; ok {
				try = string(e)
			}
			if slices.ContainsFunc(list, func(e Encoding) bool { return strings.EqualFold(string(e), try) }) {
				return Encoding(try)
			}
		}
	}
	return ""
}

// otherNames are those of other programs, which say less than ours: they are
// offered and not accepted.
var otherNames = map[string]Encoding{
	"gray": Mono8, "gray8": Mono8, "grey8": Mono8, "mono": Mono8, "y8": Mono8, "gray16": Mono16, "y16": Mono16,
	"yuv422p": YUV422YUY2, "yuyv422": YUV422YUY2, "uyvy422": YUV422UYVY, "depth": Depth16, "jpg": JPEG,
}

// JoinEncodings lists names for a message: "rgb8, bgr8".
func JoinEncodings(list []Encoding) string {
	names := make([]string, 0, len(list))
	for _, e := range list {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// Valid reports whether e is one of [Encodings], or one of those that come from
// other programs only.
func (e Encoding) Valid() bool {
	_, ok := layouts[e]
	return ok
}

// BytesPerPixel is the size of one pixel of the first plane in bytes; 2 for
// the 4:2:2 encodings, whose pixels come in pairs; both samples of y8i and y12i.
// It is 0 for a compressed and for an unknown one.
func (e Encoding) BytesPerPixel() int {
	l, ok := layouts[e]
	if !ok {
		return 0
	}
	return l.groupBytes / l.group
}

// Compressed reports whether frames of e vary in length and have no rows.
func (e Encoding) Compressed() bool { return layouts[e].compressed }

// Wide reports whether the samples of e take 16 bits each: those that
// [Geometry.BigEndian] and [Geometry.Bits] speak of.
func (e Encoding) Wide() bool { return layouts[e].wide }

// Bayer reports whether e has one colour a pixel.
func (e Encoding) Bayer() bool {
	return slices.Contains([]Encoding{
		BayerRGGB8, BayerBGGR8, BayerGBRG8, BayerGRBG8,
		BayerRGGB16, BayerBGGR16, BayerGBRG16, BayerGRBG16,
	}, e)
}

// YUV reports whether e carries luma and chroma, so that [Color] says what its
// samples mean.
func (e Encoding) YUV() bool { return e == YUV422YUY2 || e == YUV422UYVY || e == NV12 }

// String returns the name.
func (e Encoding) String() string { return string(e) }
