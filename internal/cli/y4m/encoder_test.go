// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package y4m_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/cli/y4m"
)

func TestHeader(t *testing.T) {
	for name, tc := range map[string]struct {
		encoding      frame.Encoding
		width, height int
		interval      int64
		want          string
		span          frame.Range
	}{
		"colour, 60 Hz rounded to nanoseconds":  {frame.BGRA8, 1280, 720, 16_666_667, "YUV4MPEG2 W1280 H720 F60:1 Ip A1:1 C444 XCOLORRANGE=LIMITED\n", ""},
		"television":                            {frame.NV12, 640, 480, 33_366_667, "YUV4MPEG2 W640 H480 F30000:1001 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\n", ""},
		"odd size, unknown rate":                {frame.YUV422YUY2, 7, 5, 0, "YUV4MPEG2 W7 H5 F0:0 Ip A1:1 C422 XCOLORRANGE=LIMITED\n", ""},
		"grey, odd rate":                        {frame.Mono8, 1, 1, 70_123_456, "YUV4MPEG2 W1 H1 F1000000000:70123456 Ip A1:1 Cmono XCOLORRANGE=FULL\n", ""},
		"one in ten seconds":                    {frame.RGB8, 1, 1, 10_000_000_000, "YUV4MPEG2 W1 H1 F1000:10000 Ip A1:1 C444 XCOLORRANGE=LIMITED\n", ""},
		"one a second":                          {frame.RGB8, 1, 1, 1_000_000_000, "YUV4MPEG2 W1 H1 F1:1 Ip A1:1 C444 XCOLORRANGE=LIMITED\n", ""},
		"full range":                            {frame.NV12, 2, 2, 0, "YUV4MPEG2 W2 H2 F0:0 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n", frame.Full},
		"full range, packed":                    {frame.YUV422UYVY, 2, 2, 0, "YUV4MPEG2 W2 H2 F0:0 Ip A1:1 C422 XCOLORRANGE=FULL\n", frame.Full},
		"limited range":                         {frame.NV12, 2, 2, 0, "YUV4MPEG2 W2 H2 F0:0 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\n", frame.Limited},
		"full range of RGB, which is converted": {frame.RGB8, 2, 2, 0, "YUV4MPEG2 W2 H2 F0:0 Ip A1:1 C444 XCOLORRANGE=LIMITED\n", frame.Full},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := frame.NewGeometry(tc.encoding, tc.width, tc.height)
			if err != nil {
				t.Fatal(err)
			}
			e, err := y4m.NewEncoder(g, frame.Color{Range: tc.span}, tc.interval)
			if err != nil {
				t.Fatal(err)
			}
			if e.Header() != tc.want {
				t.Errorf("got %q, want %q", e.Header(), tc.want)
			}
		})
	}
}

// One pixel of each corner of the colour cube, values of ITU-R BT.601 as
// printed in tables of 8-bit colour bars at 100 %.
func TestColours(t *testing.T) {
	for name, tc := range map[string]struct{ rgb, ycc [3]byte }{
		"black":   {[3]byte{0, 0, 0}, [3]byte{16, 128, 128}},
		"white":   {[3]byte{255, 255, 255}, [3]byte{235, 128, 128}},
		"grey":    {[3]byte{128, 128, 128}, [3]byte{126, 128, 128}},
		"red":     {[3]byte{255, 0, 0}, [3]byte{81, 90, 240}},
		"green":   {[3]byte{0, 255, 0}, [3]byte{145, 54, 34}},
		"blue":    {[3]byte{0, 0, 255}, [3]byte{41, 240, 110}},
		"yellow":  {[3]byte{255, 255, 0}, [3]byte{210, 16, 146}},
		"cyan":    {[3]byte{0, 255, 255}, [3]byte{170, 166, 16}},
		"magenta": {[3]byte{255, 0, 255}, [3]byte{106, 202, 222}},
	} {
		r, g, b := tc.rgb[0], tc.rgb[1], tc.rgb[2]
		for e, data := range map[frame.Encoding][]byte{
			frame.RGB8: {r, g, b}, frame.BGR8: {b, g, r}, frame.RGBA8: {r, g, b, 7}, frame.BGRA8: {b, g, r, 7},
		} {
			t.Run(name+" "+string(e), func(t *testing.T) {
				got := encode(t, e, 1, 1, 0, data)
				if want := append([]byte("FRAME\n"), tc.ycc[:]...); !bytes.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

func encode(t *testing.T, e frame.Encoding, width, height, step int, data []byte) []byte {
	t.Helper()
	g, err := frame.NewGeometryStep(e, width, height, step)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := y4m.NewEncoder(g, frame.Color{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.Append(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSamplesKeepTheirPlaces(t *testing.T) {
	for name, tc := range map[string]struct {
		encoding            frame.Encoding
		width, height, step int
		data, want          string
	}{
		"yuy2":            {frame.YUV422YUY2, 2, 2, 0, "aubv" + "cwdx", "abcd" + "uw" + "vx"},
		"uyvy":            {frame.YUV422UYVY, 2, 2, 0, "uavb" + "wcxd", "abcd" + "uw" + "vx"},
		"yuy2 odd":        {frame.YUV422YUY2, 3, 1, 0, "aubv" + "cw?x", "abc" + "uw" + "vx"},
		"uyvy padded":     {frame.YUV422UYVY, 2, 2, 6, "uavb##" + "wcxd##", "abcd" + "uw" + "vx"},
		"nv12":            {frame.NV12, 2, 2, 0, "ab" + "cd" + "uv", "abcd" + "u" + "v"},
		"nv12 odd":        {frame.NV12, 3, 3, 0, "abc#" + "def#" + "ghi#" + "uvwx" + "yzst", "abcdefghi" + "uwys" + "vxzt"},
		"nv12 padded":     {frame.NV12, 2, 2, 5, "ab###" + "cd###" + "uv###", "abcd" + "u" + "v"},
		"mono8 padded":    {frame.Mono8, 2, 2, 3, "ab#" + "cd#", "abcd"},
		"longer than due": {frame.Mono8, 2, 1, 0, "ab" + "more", "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := encode(t, tc.encoding, tc.width, tc.height, tc.step, []byte(tc.data)); string(got) != "FRAME\n"+tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRawLeavesPaddingOut(t *testing.T) {
	for name, tc := range map[string]struct {
		encoding            frame.Encoding
		width, height, step int
		data, want          string
	}{
		"rgb8":     {frame.RGB8, 1, 2, 5, "abc##" + "def##", "abcdef"},
		"nv12 odd": {frame.NV12, 3, 2, 6, "abc###" + "def###" + "uvwx##", "abcdef" + "uvwx"},
		"tight":    {frame.YUV422YUY2, 2, 1, 0, "aubv", "aubv"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := frame.NewGeometryStep(tc.encoding, tc.width, tc.height, tc.step)
			if err != nil {
				t.Fatal(err)
			}
			got, err := y4m.AppendRaw([]byte("before "), []byte(tc.data), g)
			if err != nil || string(got) != "before "+tc.want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestShortFrames(t *testing.T) {
	for _, e := range y4m.Encodings() {
		g, err := frame.NewGeometry(e, 6, 4)
		if err != nil {
			t.Fatal(err)
		}
		enc, err := y4m.NewEncoder(g, frame.Color{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		short := make([]byte, g.Size()-1)
		if _, err := enc.Append(nil, short); !errors.Is(err, y4m.ErrFrame) || !strings.Contains(err.Error(), "6x4 "+string(e)) {
			t.Errorf("%s: got %v", e, err)
		}
		if _, err := y4m.AppendRaw(nil, nil, g); !errors.Is(err, y4m.ErrFrame) {
			t.Errorf("%s raw: got %v", e, err)
		}
	}
	if _, err := y4m.NewEncoder(frame.Geometry{}, frame.Color{}, 0); err == nil {
		t.Error("the zero geometry was taken")
	}
	depth, err := frame.NewGeometry(frame.Depth16, 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := y4m.NewEncoder(depth, frame.Color{}, 0); !errors.Is(err, frame.ErrEncoding) {
		t.Errorf("depth: got %v", err)
	}
	compressed, err := frame.NewCompressed(frame.JPEG, 6, 4, 100)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := y4m.AppendRaw([]byte("before "), []byte("jpeg"), compressed); err != nil || string(got) != "before jpeg" {
		t.Errorf("raw jpeg: got %q, %v", got, err)
	}
	if _, err := y4m.AppendRaw(nil, nil, frame.Geometry{}); err == nil {
		t.Error("raw: the zero geometry was taken")
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	for _, e := range y4m.Encodings() {
		g, err := frame.NewGeometry(e, 33, 17)
		if err != nil {
			t.Fatal(err)
		}
		enc, err := y4m.NewEncoder(g, frame.Color{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, g.Size())
		var out []byte
		if n := testing.AllocsPerRun(20, func() {
			if out, err = enc.Append(out[:0], data); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per frame", e, n)
		}
	}
}
