// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package y4m

import (
	"fmt"
	"math"

	"github.com/seed-3c7e7623/camd/frame"
)

// colourSpace is the value of the C parameter and the range of the samples.
// Tags and the extension XCOLORRANGE: yuv4mpeg(5) of mjpegtools and
// libavformat/yuv4mpegdec.c of FFmpeg, which chooses the same pixel formats.
func colourSpace(e frame.Encoding, c frame.Color) (tag, colourRange string) {
	span := "LIMITED"
	if c.Range == frame.Full {
		span = "FULL"
	}
	switch e {
	case frame.Mono8:
		// FFmpeg takes grey for full range whatever a header says.
		return "mono", "FULL"
	case frame.YUV422YUY2, frame.YUV422UYVY:
		return "422", span
	case frame.NV12:
		return "420jpeg", span
	}
	return "444", "LIMITED"
}

// header is the first line of a stream. Cameras deliver progressive frames
// (Ip) with square pixels (A1:1).
func header(g frame.Geometry, c frame.Color, intervalNanos int64) string {
	tag, colourRange := colourSpace(g.Encoding, c)
	num, den := rate(intervalNanos)
	return fmt.Sprintf("YUV4MPEG2 W%d H%d F%d:%d Ip A1:1 C%s XCOLORRANGE=%s\n", g.Width, g.Height, num, den, tag, colourRange)
}

// rate is the frame rate as a fraction. Whole rates and those of television
// (n*1000/1001) come out as such, because an interval in nanoseconds is
// rounded; 0:0 is the format's word for "not known".
func rate(intervalNanos int64) (num, den int64) {
	if intervalNanos <= 0 {
		return 0, 0
	}
	hz := 1e9 / float64(intervalNanos)
	near := func(candidate float64) bool {
		return candidate >= 1 && math.Abs(1e9/candidate-float64(intervalNanos)) <= 1
	}
	if whole := math.Round(hz); near(whole) {
		return int64(whole), 1
	}
	if whole := math.Round(hz * 1.001); near(whole / 1.001) {
		return int64(whole) * 1000, 1001
	}
	// Both parts must fit 32 bits for readers.
	if intervalNanos < math.MaxInt32 {
		return 1_000_000_000, intervalNanos
	}
	return 1000, intervalNanos / 1_000_000
}
