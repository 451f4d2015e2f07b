// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
)

// offer makes what a device offers of "YUYV 640x480@30,15 1280x720@10" and the
// like; "16-640x16-480" is a grid in steps of 2.
func offer(t *testing.T, lines ...string) []PixelFormat {
	t.Helper()
	var out []PixelFormat
	for _, line := range lines {
		words := strings.Fields(line)
		f := PixelFormat{FourCC: code(words[0]), Compressed: words[0] == "MJPG"}
		if l, ok := formatOf(f.FourCC); ok {
			f.Encoding = l.Encoding
		}
		for _, w := range words[1:] {
			if w == "emulated" {
				f.Emulated = true
				continue
			}
			size, rates, _ := strings.Cut(w, "@")
			var s Sizes
			if _, err := fmt.Sscanf(size, "%d-%dx%d-%d", &s.Width.Min, &s.Width.Max, &s.Height.Min, &s.Height.Max); err == nil {
				s.Width.Step, s.Height.Step = 2, 2
			} else if _, err := fmt.Sscanf(size, "%dx%d", &s.Width.Max, &s.Height.Max); err == nil {
				s.Width.Min, s.Height.Min = s.Width.Max, s.Height.Max
			} else {
				t.Fatal(w)
			}
			for _, r := range strings.Split(rates, ",") {
				var v Rates
				if _, err := fmt.Sscanf(r, "%f-%f", &v.Min, &v.Max); err != nil {
					if _, err := fmt.Sscanf(r, "%f", &v.Max); err != nil {
						continue
					}
					v.Min = v.Max
				}
				s.Rates = append(s.Rates, v)
			}
			f.Sizes = append(f.Sizes, s)
		}
		out = append(out, f)
	}
	return out
}

func TestChoices(t *testing.T) {
	webcam := []string{
		"MJPG 640x480@30 1920x1080@30",
		"YUYV 640x480@30,15 1280x720@10 1920x1080@5 320x240@30,60",
	}
	for _, c := range []struct {
		name  string
		offer []string
		wish  wish
		want  string // fourcc WxH @rate of the first choice
	}{
		{"nothing asked: the largest that is fast enough", webcam, wish{}, "YUYV 640x480 @30"},
		{"a size: that size, as fast as it goes", webcam, wish{width: 1280, height: 720}, "YUYV 1280x720 @10"},
		{"a low rate: the largest that has it", webcam, wish{rate: 5}, "YUYV 1920x1080 @5"},
		{"a middling rate", webcam, wish{rate: 10}, "YUYV 1280x720 @10"},
		{"a high rate", webcam, wish{rate: 60}, "YUYV 320x240 @60"},
		{"a rate that none has: the fastest", webcam, wish{rate: 100}, "YUYV 320x240 @60"},
		{"a size between: the nearest", webcam, wish{width: 700, height: 500}, "YUYV 640x480 @30"},
		{"a rate between: the next higher", webcam, wish{width: 640, height: 480, rate: 20}, "YUYV 640x480 @30"},
		{"a rate below all: the lowest", webcam, wish{width: 640, height: 480, rate: 1}, "YUYV 640x480 @15"},
		{"an encoding", []string{"YUYV 640x480@30", "RGB3 640x480@30"}, wish{encoding: frame.RGB8}, "RGB3 640x480 @30"},
		{"the device's order where nothing else decides", []string{"UYVY 640x480@30", "YUYV 640x480@30"}, wish{}, "UYVY 640x480 @30"},
		{"not what the driver converts", []string{"RGB3 640x480@30 emulated", "YUYV 640x480@30"}, wish{}, "YUYV 640x480 @30"},
		{"the format that has the size", []string{"YUYV 320x240@30", "RGB3 640x480@30"}, wish{width: 640, height: 480}, "RGB3 640x480 @30"},
		{"nothing beyond 1080p by itself", []string{"YUYV 3840x2160@30 1280x720@30"}, wish{}, "YUYV 1280x720 @30"},
		{"beyond 1080p where there is nothing else", []string{"YUYV 3840x2160@30"}, wish{}, "YUYV 3840x2160 @30"},
		{"beyond 1080p where it is asked for", []string{"YUYV 3840x2160@30 1280x720@30"}, wish{width: 3840, height: 2160}, "YUYV 3840x2160 @30"},
		{"a grid: what is set", []string{"YUYV 16-4096x16-2160@60"}, wish{}, "YUYV 0x0 @60"},
		{"a grid: the nearest point", []string{"YUYV 16-4096x16-2160@60"}, wish{width: 641, height: 5}, "YUYV 642x16 @60"},
		{"a range of rates", []string{"YUYV 640x480@1-120"}, wish{rate: 29.5}, "YUYV 640x480 @29.5"},
		{"a range of rates, nothing asked", []string{"YUYV 640x480@1-120"}, wish{}, "YUYV 640x480 @30"},
		{"a hair slower is the same rate", []string{"YUYV 640x480@29.97,60"}, wish{rate: 30}, "YUYV 640x480 @30"},
		{"sizes not told", []string{"YUYV"}, wish{width: 800, height: 600, rate: 10}, "YUYV 800x600 @10"},
		{"rates not told", []string{"YUYV 640x480"}, wish{rate: 10}, "YUYV 640x480 @10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.wish.choices(offer(t, c.offer...))
			if err != nil {
				t.Fatal(err)
			}
			if s := fmt.Sprintf("%v %dx%d @%s", got[0].code, got[0].width, got[0].height, rateText(got[0].rate)); s != c.want {
				t.Errorf("%s, want %s", s, c.want)
			}
		})
	}
}

// Which format is taken for an encoding, and what is done with it.
func TestWays(t *testing.T) {
	webcam := []string{"MJPG 640x480@30 1920x1080@30 1280x720@30", "YUYV 640x480@30 1920x1080@5"}
	for _, c := range []struct {
		name  string
		offer []string
		wish  wish
		want  string // of all choices: fourcc WxH as encoding of the stream
		how   string // of the first
	}{
		{"uncompressed first", webcam, wish{}, "YUYV 640x480 yuv422_yuy2, MJPG 1920x1080 bgr8", ""},
		{"a size that only JPEG has", webcam, wish{width: 1280, height: 720}, "MJPG 1280x720 bgr8, YUYV 640x480 yuv422_yuy2", ""},
		{"a rate that only JPEG has", webcam, wish{width: 1920, height: 1080, rate: 30}, "MJPG 1920x1080 bgr8, YUYV 1920x1080 yuv422_yuy2", ""},
		{"a size that both have, no rate asked", webcam, wish{width: 1920, height: 1080}, "YUYV 1920x1080 yuv422_yuy2, MJPG 1920x1080 bgr8", ""},
		{"JPEG asked for", webcam, wish{encoding: frame.JPEG}, "MJPG 1920x1080 bgr8", ""},
		{"only JPEG", webcam[:1], wish{}, "MJPG 1920x1080 bgr8", ""},
		{"an encoding that it lacks", webcam, wish{encoding: frame.RGB8}, "YUYV 640x480 rgb8, MJPG 1920x1080 rgb8", "rgb8 is converted from yuv422_yuy2 (YUYV)"},
		{"an encoding that it lacks, at a size of JPEG", webcam, wish{encoding: frame.RGB8, width: 1280, height: 720}, "MJPG 1280x720 rgb8, YUYV 640x480 rgb8", "rgb8 is decoded from MJPG"},
		{"an encoding that only pixels become", webcam, wish{encoding: frame.YUV422UYVY}, "YUYV 640x480 yuv422", "yuv422 is converted from yuv422_yuy2 (YUYV)"},
		{"an encoding that it has, though smaller", []string{"YUYV 1920x1080@30", "RGB3 640x480@5"}, wish{encoding: frame.RGB8}, "RGB3 640x480 rgb8", ""},
		{"colour rather than grey", []string{"GREY 640x480@30", "NV12 640x480@30"}, wish{encoding: frame.BGRA8}, "NV12 640x480 bgra8, GREY 640x480 bgra8", "bgra8 is converted from nv12 (NV12)"},
		{"grey of anything", []string{"NV12 640x480@30"}, wish{encoding: frame.Mono8}, "NV12 640x480 mono8", "mono8 is converted from nv12 (NV12)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := c.wish.choices(offer(t, c.offer...))
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, o := range all {
				texts = append(texts, fmt.Sprintf("%v %dx%d %s", o.code, o.width, o.height, o.out))
			}
			if got := strings.Join(texts, ", "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			g := grant{code: all[0].code, out: all[0].out, way: all[0].way, geometry: frame.Geometry{Encoding: all[0].encoding}}
			if got := g.how(c.wish); got != c.how {
				t.Errorf("%q, want %q", got, c.how)
			}
		})
	}
}

func TestNoChoice(t *testing.T) {
	for _, c := range []struct {
		name  string
		offer []string
		wish  wish
		says  string
	}{
		{"encoding", []string{"YUYV 640x480@30", "MJPG 640x480@30"}, wish{encoding: frame.NV12}, "asked for nv12, the camera offers yuv422_yuy2 (YUYV), jpeg (MJPG)"},
		{"YUYV of MJPG", []string{"MJPG 640x480@30"}, wish{encoding: frame.YUV422YUY2}, "asked for yuv422_yuy2, the camera offers jpeg (MJPG)"},
		{"jpeg", []string{"YUYV 640x480@30"}, wish{encoding: frame.JPEG}, "asked for jpeg, the camera offers yuv422_yuy2 (YUYV)"},
		{"a picture of depth", []string{"Z16 640x480@30"}, wish{encoding: frame.RGB8}, "asked for rgb8, the camera offers 16UC1 (Z16)"},
		{"unknown", []string{"H264 640x480@30"}, wish{}, "the camera offers H264"},
		{"nothing", nil, wish{}, "the camera offers nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.wish.choices(offer(t, c.offer...))
			if !errors.Is(err, capture.ErrFormatRefused) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, %v; want %v that says %q", got, err, capture.ErrFormatRefused, c.says)
			}
		})
	}
}

func TestIntervalOf(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want fraction
	}{
		{30, fraction{1, 30}},
		{29.97, fraction{1001, 30000}},
		{59.94, fraction{1001, 60000}},
		{7.5, fraction{1000, 7500}},
		{0.001, fraction{1000, 1}},
		{1e6, fraction{1, 1e6}},
	} {
		if got := intervalOf(c.rate); got != c.want {
			t.Errorf("%g: %v, want %v", c.rate, got, c.want)
		}
	}
}
