// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestTightGeometry(t *testing.T) {
	type want struct{ step, size int }
	for _, tc := range []struct {
		encoding       frame.Encoding
		one, odd, wide want // 1x1, 7x5, 1366x768
	}{
		{frame.RGB8, want{3, 3}, want{21, 105}, want{4098, 3147264}},
		{frame.BGRA8, want{4, 4}, want{28, 140}, want{5464, 4196352}},
		{frame.Mono8, want{1, 1}, want{7, 35}, want{1366, 1049088}},
		{frame.YUV422YUY2, want{4, 4}, want{16, 80}, want{2732, 2098176}},
		{frame.YUV422UYVY, want{4, 4}, want{16, 80}, want{2732, 2098176}},
		{frame.NV12, want{2, 4}, want{8, 64}, want{1366, 1573632}},
		{frame.Mono16, want{2, 2}, want{14, 70}, want{2732, 2098176}},
		{frame.Depth16, want{2, 2}, want{14, 70}, want{2732, 2098176}},
		{frame.BayerGRBG8, want{1, 1}, want{7, 35}, want{1366, 1049088}},
		{frame.BayerBGGR16, want{2, 2}, want{14, 70}, want{2732, 2098176}},
		{frame.Y8I, want{2, 2}, want{14, 70}, want{2732, 2098176}},
		{frame.Y12I, want{3, 3}, want{21, 105}, want{4098, 3147264}},
	} {
		for _, c := range []struct {
			w, h int
			want want
		}{{1, 1, tc.one}, {7, 5, tc.odd}, {1366, 768, tc.wide}} {
			g, err := frame.NewGeometry(tc.encoding, c.w, c.h)
			if err != nil {
				t.Fatal(err)
			}
			if g.Step != c.want.step || g.Size() != c.want.size || g.MinBytes() != g.Size() {
				t.Errorf("%v: step %d, size %d, at least %d, want %+v", g, g.Step, g.Size(), g.MinBytes(), c.want)
			}
		}
	}
}

func TestPlanes(t *testing.T) {
	compressed, err := frame.NewCompressed(frame.JPEG, 640, 480, 5000)
	if err != nil {
		t.Fatal(err)
	}
	nv12, err := frame.NewGeometryStep(frame.NV12, 7, 5, 12)
	if err != nil {
		t.Fatal(err)
	}
	deep, err := frame.Format{Encoding: frame.BayerRGGB16, Bits: 10}.Geometry(3, 2, 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		g    frame.Geometry
		want []frame.Plane
		bits int
		ends int
	}{
		{"padded odd nv12", nv12, []frame.Plane{{0, 12, 7, 5}, {60, 12, 8, 3}}, 8, 92},
		{"ten bits in sixteen", deep, []frame.Plane{{0, 8, 6, 2}}, 10, 14},
		{"compressed", compressed, []frame.Plane{{0, 5000, 5000, 1}}, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []frame.Plane
			for i := range tc.g.PlaneCount() {
				got = append(got, tc.g.Plane(i))
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("planes (-want +got):\n%s", d)
			}
			if tc.g.SampleBits() != tc.bits || tc.g.Extent() != tc.ends {
				t.Errorf("%d bits, ends at %d, want %d and %d", tc.g.SampleBits(), tc.g.Extent(), tc.bits, tc.ends)
			}
		})
	}
}

func TestCompressed(t *testing.T) {
	g, err := frame.NewCompressed(frame.JPEG, 1920, 1080, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if g.Size() != 1<<20 || g.MinBytes() != 1 || g.Step != 0 || !g.Compressed() || g.String() != "1920x1080 jpeg" {
		t.Errorf("%v: size %d, at least %d, step %d", g, g.Size(), g.MinBytes(), g.Step)
	}
}

func TestGeometryIsRefused(t *testing.T) {
	for name, g := range map[string]frame.Geometry{
		"zero":                     {},
		"no width":                 {Height: 1, Encoding: frame.RGB8, Step: 3},
		"negative height":          {Width: 1, Height: -1, Encoding: frame.RGB8, Step: 3},
		"too wide":                 {Width: frame.MaxSide + 1, Height: 1, Encoding: frame.Mono8, Step: frame.MaxSide + 1},
		"step 0":                   {Width: 1, Height: 1, Encoding: frame.RGB8},
		"step too small":           {Width: 2, Height: 1, Encoding: frame.RGB8, Step: 5},
		"step below a 4:2:2 group": {Width: 3, Height: 1, Encoding: frame.YUV422YUY2, Step: 6},
		"step below a chroma pair": {Width: 3, Height: 1, Encoding: frame.NV12, Step: 3},
		"step below 16-bit":        {Width: 3, Height: 1, Encoding: frame.Mono16, Step: 5},
		"step absurd":              {Width: 1, Height: 1, Encoding: frame.Mono8, Step: 1 << 30},
		"step negative":            {Width: 1, Height: 1, Encoding: frame.Mono8, Step: -1},
		"more than MaxBytes":       {Width: 1 << 16, Height: 1 << 16, Encoding: frame.BGRA8, Step: 1 << 18},
		"byte order of bytes":      {Width: 1, Height: 1, Encoding: frame.RGB8, Step: 3, BigEndian: true},
		"bits of bytes":            {Width: 1, Height: 1, Encoding: frame.RGB8, Step: 3, Bits: 10},
		"8 of 16 bits":             {Width: 1, Height: 1, Encoding: frame.Mono16, Step: 2, Bits: 8},
		"16 of 16 bits":            {Width: 1, Height: 1, Encoding: frame.Mono16, Step: 2, Bits: 16},
		"maximum without need":     {Width: 1, Height: 1, Encoding: frame.Mono8, Step: 1, Max: 1},
		"compressed with a step":   {Width: 1, Height: 1, Encoding: frame.JPEG, Step: 3, Max: 100},
		"compressed, no maximum":   {Width: 1, Height: 1, Encoding: frame.JPEG},
		"compressed, too much":     {Width: 1, Height: 1, Encoding: frame.JPEG, Max: frame.MaxBytes + 1},
		"unknown encoding":         {Width: 1, Height: 1, Encoding: "h264", Step: 1},
	} {
		t.Run(name, func(t *testing.T) {
			err := g.Validate()
			if !errors.Is(err, frame.ErrGeometry) && !errors.Is(err, frame.ErrEncoding) {
				t.Errorf("%+v: got %v", g, err)
			}
		})
	}
	if g, err := frame.NewGeometryStep(frame.JPEG, 4, 4, 12); !errors.Is(err, frame.ErrGeometry) || g != (frame.Geometry{}) {
		t.Errorf("rows of JPEG: %+v, %v", g, err)
	}
	if g, err := frame.NewCompressed(frame.RGB8, 4, 4, 12); !errors.Is(err, frame.ErrGeometry) || g != (frame.Geometry{}) {
		t.Errorf("compressed rgb8: %+v, %v", g, err)
	}
	if _, err := frame.NewGeometry(frame.RGB8, 1<<40, 1<<40); !errors.Is(err, frame.ErrGeometry) {
		t.Errorf("huge: %v", err)
	}
}

func TestGeometryOnTheWire(t *testing.T) {
	deep, err := frame.Format{Encoding: frame.Mono16, BigEndian: true, Bits: 12}.Geometry(4, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := frame.NewGeometry(frame.RGB8, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := frame.NewCompressed(frame.JPEG, 4, 2, 900)
	if err != nil {
		t.Fatal(err)
	}
	for want, g := range map[string]frame.Geometry{
		`{"width":4,"height":2,"encoding":"rgb8","step":12}`:                                plain,
		`{"width":4,"height":2,"encoding":"mono16","step":8,"is_bigendian":true,"bits":12}`: deep,
		`{"width":4,"height":2,"encoding":"jpeg","step":0,"max_bytes":900}`:                 compressed,
	} {
		text, err := json.Marshal(g)
		if err != nil || string(text) != want {
			t.Errorf("got %s, %v, want %s", text, err, want)
		}
		var back frame.Geometry
		if err := json.Unmarshal([]byte(want), &back); err != nil || back != g || back.Validate() != nil {
			t.Errorf("%s reads as %+v, %v, %v", want, back, err, back.Validate())
		}
	}
}

// Whatever sizes come from outside: what is accepted describes memory that lies
// within the frame.
func FuzzGeometry(f *testing.F) {
	f.Add(uint8(0), 1366, 768, 0, 0, false, 0)
	f.Add(uint8(7), 7, 5, 12, 0, false, 0)
	f.Add(uint8(8), 1, 1, 2, 10, true, 0)
	f.Add(uint8(20), 640, 480, 0, 0, false, 1<<20)
	f.Add(uint8(3), 1<<16, 1<<16, 1<<18, 0, false, 0)
	f.Add(uint8(3), -1, 1<<62, -1<<62, 0, false, -5)
	f.Fuzz(func(t *testing.T, enc uint8, w, h, step, bits int, big bool, limit int) {
		all := frame.Encodings()
		e := all[int(enc)%len(all)]
		g := frame.Geometry{Width: w, Height: h, Encoding: e, Step: step, BigEndian: big, Bits: bits, Max: limit}
		if err := g.Validate(); err != nil {
			return
		}
		if g.Size() < 1 || g.Size() > frame.MaxBytes || g.MinBytes() > g.Size() || g.MinBytes() < 1 {
			t.Fatalf("%+v: size %d, at least %d", g, g.Size(), g.MinBytes())
		}
		end := 0
		for i := range g.PlaneCount() {
			p := g.Plane(i)
			if p.Offset < end || p.RowBytes < 1 || p.RowBytes > p.Step || p.Rows < 1 {
				t.Fatalf("%+v: plane %d is %+v after byte %d", g, i, p, end)
			}
			end = p.Offset + p.Step*p.Rows
		}
		if end != g.Size() {
			t.Fatalf("%+v: planes end at %d of %d bytes", g, end, g.Size())
		}
		if g.Extent() < g.MinBytes()-g.Step || g.Extent() > g.Size() {
			t.Fatalf("%+v: extent %d of %d", g, g.Extent(), g.Size())
		}
		if !e.Compressed() && e != frame.NV12 && g.Size() != g.Step*g.Height {
			t.Fatalf("%+v: size %d is not step*height", g, g.Size())
		}
	})
}
