// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"errors"
	"fmt"
	"strings"
)

// ErrEncoding reports a pixel encoding whose name is not known.
var ErrEncoding = errors.New("unknown encoding")

// Encoding is the name of a pixel layout, spelled as in ROS 2
// (sensor_msgs/image_encodings.hpp). Names are case sensitive.
type Encoding string

// The encodings that camd carries. Layouts are per pixel, in memory order, one
// byte a sample.
const (
	RGB8       Encoding = "rgb8"        // R G B
	BGR8       Encoding = "bgr8"        // B G R
	RGBA8      Encoding = "rgba8"       // R G B A
	BGRA8      Encoding = "bgra8"       // B G R A
	Mono8      Encoding = "mono8"       // Y
	YUV422YUY2 Encoding = "yuv422_yuy2" // Y0 U Y1 V, two pixels in four bytes (V4L2 YUYV)
	YUV422UYVY Encoding = "yuv422"      // U Y0 V Y1, two pixels in four bytes (V4L2 UYVY)
	NV12       Encoding = "nv12"        // plane of Y, then plane of U V at half resolution both ways
)

// layout says how many bytes a row takes and what follows the first plane.
type layout struct {
	group       int // pixels that share one group of bytes
	groupBytes  int // bytes of such a group
	chromaPlane bool
}

var layouts = map[Encoding]layout{
	RGB8:       {1, 3, false},
	BGR8:       {1, 3, false},
	RGBA8:      {1, 4, false},
	BGRA8:      {1, 4, false},
	Mono8:      {1, 1, false},
	YUV422YUY2: {2, 4, false},
	YUV422UYVY: {2, 4, false},
	NV12:       {1, 1, true},
}

// aliases are names that people type; the left side never leaves ParseEncoding.
var aliases = map[string]Encoding{
	"yuyv":        YUV422YUY2,
	"yuy2":        YUV422YUY2,
	"yuv422_uyvy": YUV422UYVY,
	"uyvy":        YUV422UYVY,
}

// Encodings lists every encoding, in the order of documentation.
func Encodings() []Encoding {
	return []Encoding{RGB8, BGR8, RGBA8, BGRA8, Mono8, YUV422YUY2, YUV422UYVY, NV12}
}

// ParseEncoding returns the encoding called s. It accepts the ROS names and
// the aliases yuyv, yuy2, uyvy and yuv422_uyvy. Anything else is [ErrEncoding].
func ParseEncoding(s string) (Encoding, error) {
	if _, ok := layouts[Encoding(s)]; ok {
		return Encoding(s), nil
	}
	if e, ok := aliases[s]; ok {
		return e, nil
	}
	names := make([]string, 0, len(layouts))
	for _, e := range Encodings() {
		names = append(names, string(e))
	}
	return "", fmt.Errorf("%w %q: known are %s", ErrEncoding, s, strings.Join(names, ", "))
}

// Valid reports whether e is one of [Encodings].
func (e Encoding) Valid() bool {
	_, ok := layouts[e]
	return ok
}

// BytesPerPixel is the size of one pixel of the first plane in bytes; 2 for
// the 4:2:2 encodings, whose pixels come in pairs. It is 0 for an unknown one.
func (e Encoding) BytesPerPixel() int {
	l, ok := layouts[e]
	if !ok {
		return 0
	}
	return l.groupBytes / l.group
}

// String returns the ROS name.
func (e Encoding) String() string { return string(e) }
