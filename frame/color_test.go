// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"errors"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestColorFromV4L2(t *testing.T) {
	for _, tc := range []struct {
		name                     string
		encoding                 frame.Encoding
		space, matrix, quantized uint32
		want                     frame.Color
	}{
		{"a webcam that says sRGB and BT.601", frame.YUV422YUY2, 8, 1, 0, frame.Color{Matrix: frame.BT601, Range: frame.Limited}},
		{"HDMI 720p", frame.YUV422UYVY, 3, 0, 0, frame.Color{Matrix: frame.BT709, Range: frame.Limited}},
		{"DCI-P3", frame.NV12, 12, 0, 0, frame.Color{Matrix: frame.BT709, Range: frame.Limited}},
		{"BT.2020", frame.NV12, 10, 0, 0, frame.Color{Matrix: frame.BT2020, Range: frame.Limited}},
		{"JPEG's colour space", frame.YUV422YUY2, 7, 0, 0, frame.Color{Matrix: frame.BT601, Range: frame.Full}},
		{"PAL", frame.YUV422YUY2, 6, 0, 0, frame.Color{Matrix: frame.BT601, Range: frame.Limited}},
		{"said outright", frame.YUV422YUY2, 8, 2, 1, frame.Color{Matrix: frame.BT709, Range: frame.Full}},
		{"xvYCC 601, limited", frame.YUV422YUY2, 3, 3, 2, frame.Color{Matrix: frame.BT601, Range: frame.Limited}},
		{"nothing said", frame.YUV422YUY2, 0, 0, 0, frame.Color{}},
		{"SMPTE 240M", frame.YUV422YUY2, 2, 0, 0, frame.Color{Range: frame.Limited}},
		{"BT.2020 constant luminance", frame.YUV422YUY2, 10, 7, 0, frame.Color{Range: frame.Limited}},
		{"MJPG is JFIF", frame.JPEG, 3, 2, 2, frame.Color{Matrix: frame.BT601, Range: frame.Full}},
		{"RGB", frame.RGB8, 3, 2, 2, frame.Color{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := frame.ColorFromV4L2(tc.encoding, tc.space, tc.matrix, tc.quantized)
			if got != tc.want || got.Validate() != nil {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestColorDefaults(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in       frame.Color
		encoding frame.Encoding
		want     string
	}{
		{"webcam", frame.Color{}, frame.YUV422YUY2, "bt601 limited"},
		{"JPEG", frame.Color{}, frame.JPEG, "bt601 full"},
		{"matrix said", frame.Color{Matrix: frame.BT709}, frame.NV12, "bt709 limited"},
		{"range said", frame.Color{Range: frame.Full}, frame.NV12, "bt601 full"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.in.OrDefault(tc.encoding).String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if s := (frame.Color{}).String(); s != "matrix unknown range unknown" {
		t.Errorf("nothing said: %q", s)
	}
	for _, bad := range []frame.Color{{Matrix: "bt470"}, {Range: "tv"}} {
		if err := bad.Validate(); !errors.Is(err, frame.ErrColor) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
