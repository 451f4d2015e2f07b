// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestParseEncoding(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     frame.Encoding
	}{
		{"ROS name", "bgr8", frame.BGR8},
		{"ROS name of UYVY", "yuv422", frame.YUV422UYVY},
		{"ROS name of depth", "16UC1", frame.Depth16},
		{"alias of YUYV", "yuyv", frame.YUV422YUY2},
		{"alias of YUYV by Microsoft", "yuy2", frame.YUV422YUY2},
		{"alias of UYVY", "uyvy", frame.YUV422UYVY},
		{"alias of depth", "z16", frame.Depth16},
		{"alias of JPEG", "mjpeg", frame.JPEG},
		{"own name", "y12i", frame.Y12I},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, err := frame.ParseEncoding(tc.in); got != tc.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
	for _, bad := range []string{"", "RGB8", "rgb", "16uc1", "jpeg "} {
		if got, err := frame.ParseEncoding(bad); !errors.Is(err, frame.ErrEncoding) || got != "" {
			t.Errorf("%q: got %q, %v", bad, got, err)
		}
	}
}

func TestEncodingsAreKnown(t *testing.T) {
	seen := map[frame.Encoding]bool{}
	for _, e := range frame.Encodings() {
		if seen[e] || !e.Valid() {
			t.Errorf("%s: listed twice %v, valid %v", e, seen[e], e.Valid())
		}
		seen[e] = true
		if back, err := frame.ParseEncoding(e.String()); back != e || err != nil {
			t.Errorf("%s reads as %q, %v", e, back, err)
		}
		if (e.BytesPerPixel() == 0) != e.Compressed() {
			t.Errorf("%s: %d bytes a pixel, compressed %v", e, e.BytesPerPixel(), e.Compressed())
		}
		if e.Bayer() != strings.HasPrefix(string(e), "bayer_") {
			t.Errorf("%s: Bayer() = %v", e, e.Bayer())
		}
		if wide := strings.HasSuffix(string(e), "16") || e == frame.Depth16; e.Wide() != wide {
			t.Errorf("%s: Wide() = %v", e, e.Wide())
		}
	}
	unknown := frame.Encoding("rgb9")
	if unknown.Valid() || unknown.BytesPerPixel() != 0 || unknown.Compressed() || unknown.Bayer() || unknown.YUV() {
		t.Error("an unknown encoding has properties")
	}
}

// Names of other programs, and ours without their bits or in capitals, are met
// with the one that was meant, if it will do here.
func TestUnknownEncodingHints(t *testing.T) {
	list := []frame.Encoding{frame.RGB8, frame.BGRA8, frame.Mono8, frame.YUV422YUY2}
	for in, want := range map[string]string{
		"bgra":    `unknown encoding "bgra", did you mean bgra8?; known are rgb8, bgra8, mono8, yuv422_yuy2`,
		"BGRA8":   `unknown encoding "BGRA8", did you mean bgra8?; known are rgb8, bgra8, mono8, yuv422_yuy2`,
		"rgb":     `unknown encoding "rgb", did you mean rgb8?; known are rgb8, bgra8, mono8, yuv422_yuy2`,
		"rgb24":   `unknown encoding "rgb24", did you mean rgb8?; known are rgb8, bgra8, mono8, yuv422_yuy2`,
		"gray":    `unknown encoding "gray", did you mean mono8?; known are rgb8, bgra8, mono8, yuv422_yuy2`,
		"YUYV":    `unknown encoding "YUYV", did you mean yuv422_yuy2?; known are rgb8, bgra8, mono8, yuv422_yuy2`,
		"yuyv422": `unknown encoding "yuyv422", did you mean yuv422_yuy2?; known are rgb8, bgra8, mono8, yuv422_yuy2`,
		"BGR":     `unknown encoding "BGR"; known are rgb8, bgra8, mono8, yuv422_yuy2`,
		"":        `unknown encoding ""; known are rgb8, bgra8, mono8, yuv422_yuy2`,
	} {
		if e, err := frame.ParseEncodingOf(in, list); e != "" || !errors.Is(err, frame.ErrEncoding) || err.Error() != want {
			t.Errorf("%q: %q, %v\nwant %s", in, e, err, want)
		}
	}
	for in, want := range map[string]frame.Encoding{"rgb8": frame.RGB8, "yuyv": frame.YUV422YUY2, "nv12": frame.NV12} {
		if e, err := frame.ParseEncodingOf(in, list); e != want || err != nil {
			t.Errorf("%q: %q, %v", in, e, err)
		}
	}
}
