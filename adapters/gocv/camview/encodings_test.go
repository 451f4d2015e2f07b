// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/frame"
)

// The pattern's size is that of the window, so that it is seen pixel by pixel.
const patternWidth, patternHeight = 640, 360

// patternEncodings are those that the pattern is drawn in.
var patternEncodings = []frame.Encoding{
	frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.Mono8, frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12,
}

func patternCamera(name string, e frame.Encoding, number int) string {
	return fmt.Sprintf("%s=pattern:,%dx%d@30,encoding=%s,camera=%d", name, patternWidth, patternHeight, e, number)
}

// code is what the barcodes of a shot of the pattern say: both are there only in a
// picture that is neither mirrored nor moved.
func (s shot) code() (pattern.Code, error) {
	g, err := frame.NewGeometry(frame.BGRA8, s.width, s.height)
	if err != nil {
		return pattern.Code{}, err
	}
	info, err := pattern.Decode(g, s.bgrx)
	switch {
	case err != nil:
		return pattern.Code{}, err
	case !info.HasTop || !info.HasBottom || info.Top != info.Bottom:
		return pattern.Code{}, fmt.Errorf("barcodes %v and %v", info.Top, info.Bottom)
	}
	return info.Top, nil
}

// isPattern reports whether the shot is the pattern of the camera with a number.
func (s shot) isPattern(e frame.Encoding, number int) (bool, string) {
	code, err := s.code()
	if err != nil {
		return false, err.Error()
	}
	if int(code.Camera) != number {
		return false, fmt.Sprintf("camera %d is shown, want %d", code.Camera, number)
	}
	const f = 191 // 75 %
	for i, c := range []rgb{{f, f, f}, {f, f, 0}, {0, f, f}, {0, f, 0}, {f, 0, f}, {f, 0, 0}, {0, 0, f}, {0, 0, 0}} {
		if e == frame.Mono8 {
			grey := (77*c[0] + 150*c[1] + 29*c[2] + 128) >> 8
			c = rgb{grey, grey, grey}
		}
		x := (2*i + 1) * s.width / 16
		// The box hides one of the two at most.
		high, low := s.at(x, s.height/3), s.at(x, s.height*2/3)
		if !high.near(c, 6) && !low.near(c, 6) {
			return false, fmt.Sprintf("bar %d is %v and %v, want %v", i, high, low, c)
		}
	}
	return true, ""
}

// Every encoding is right in orientation, colours and aspect, and the key n leads
// through all streams in the order of their names.
func TestEveryEncoding(t *testing.T) {
	s := startScreen(t)
	dir := runtimeDir(t)
	var cameras []string
	is := map[string]func(shot) (bool, string){}
	for i, e := range patternEncodings {
		stream := "pattern-" + strings.ToLower(string(e)) + "/color"
		cameras = append(cameras, patternCamera(strings.TrimSuffix(stream, "/color"), e, i+1))
		is[stream] = func(s shot) (bool, string) { return s.isPattern(e, i+1) }
	}
	at := image.Rect(80, 0, 560, 360)
	for _, e := range frame.Encodings() {
		stream := "scene-" + strings.ToLower(string(e)) + "/color"
		cameras = append(cameras, sceneCamera(t, strings.TrimSuffix(stream, "/color"), e))
		if e == frame.JPEG { // of which there are two streams
			is[stream+"/jpeg"] = func(s shot) (bool, string) { return s.isScene(e, at) }
		}
		is[stream] = func(s shot) (bool, string) { return s.isScene(e, at) }
	}
	startCamd(t, dir, nil, cameras...)
	var streams []string
	for name := range is {
		streams = append(streams, name)
	}
	slices.Sort(streams)
	w := s.view(dir, streams[0], "--no-overlay", "--near", sceneNear, "--far", sceneFar)
	for i, name := range streams {
		if i > 0 {
			w.press('n')
		}
		eventually(t, "a window titled "+name, func() (bool, string) {
			got := s.title(w.id)
			return got == "camview: "+name, got + w.err.String()
		})
		var last shot
		eventually(t, name+" in the window", func() (bool, string) {
			last = w.shot()
			return is[name](last)
		})
		last.keep(t, name)
	}
	w.press('n')
	eventually(t, "the first stream again", func() (bool, string) { return is[streams[0]](w.shot()) })
	w.press('q')
	w.ends(0)
}

// Whatever the window's shape is, the picture has its own.
func TestAspect(t *testing.T) {
	s := startScreen(t)
	dir := runtimeDir(t)
	startCamd(t, dir, nil, sceneCamera(t, "scene", frame.BGR8))
	w := s.view(dir, "scene/color", "--no-overlay")
	for _, tc := range []struct {
		width, height int
		at            image.Rectangle
	}{
		{320, 240, image.Rect(0, 0, 320, 240)}, // what it opens with: a small picture is enlarged
		{900, 300, image.Rect(250, 0, 650, 300)},
		{300, 800, image.Rect(0, 287, 300, 512)},
		{60, 30, image.Rect(10, 0, 50, 30)},
	} {
		if tc.width != 320 {
			w.resize(tc.width, tc.height)
		}
		var last shot
		eventually(t, fmt.Sprintf("%dx%d", tc.width, tc.height), func() (bool, string) {
			if last = w.shot(); last.width != tc.width || last.height != tc.height {
				return false, fmt.Sprintf("%dx%d", last.width, last.height)
			}
			return last.isScene(frame.BGR8, tc.at)
		})
		last.keep(t, fmt.Sprintf("aspect-%dx%d", tc.width, tc.height))
	}
	w.closeButton()
	w.ends(0)
}
