// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

// run converts one frame into a blank one.
func run(t testing.TB, src, dst frame.Geometry, o convert.Options, from []byte) []byte {
	t.Helper()
	c, err := convert.New(src, dst, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	to := blank(dst)
	if err := c.Convert(to, from); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestMovedBytes(t *testing.T) {
	big16 := wide(t, frame.Mono16, 2, 1, 2, true, 0)
	for _, tc := range []struct {
		name     string
		src, dst frame.Geometry
		o        convert.Options
		from, to string
	}{
		{"UYVY of YUYV", geometry(t, frame.YUV422YUY2, 3, 1, 0), geometry(t, frame.YUV422UYVY, 3, 1, 2), convert.Options{}, "aubv" + "cw?x", "uavb" + "wcx?" + "\xa5\xa5"},
		{"YUYV of UYVY", geometry(t, frame.YUV422UYVY, 2, 2, 1), geometry(t, frame.YUV422YUY2, 2, 2, 0), convert.Options{}, "uavb#" + "wcxd", "aubv" + "cwdx"},
		{"YUYV of NV12", geometry(t, frame.NV12, 3, 3, 0), geometry(t, frame.YUV422YUY2, 3, 3, 0), convert.Options{}, "abc#" + "def#" + "ghi#" + "uvwx" + "yzst", "aubvcwcx" + "duevfwfx" + "gyhzisit"},
		{"less padding", geometry(t, frame.NV12, 2, 3, 2), geometry(t, frame.NV12, 2, 3, 0), convert.Options{}, "ab##" + "cd##" + "ef##" + "uv##" + "wx", "ab" + "cd" + "ef" + "uv" + "wx"},
		{"byte order", big16, geometry(t, frame.Mono16, 2, 1, 0), convert.Options{}, "abcd", "badc"},
		{"left 8 bits", geometry(t, frame.Y8I, 3, 1, 0), geometry(t, frame.Mono8, 3, 1, 0), convert.Options{}, "lrLRxy", "lLx"},
		{"right 8 bits", geometry(t, frame.Y8I, 3, 1, 0), geometry(t, frame.Mono8, 3, 1, 0), convert.Options{Side: convert.Right}, "lrLRxy", "rRy"},
		{"left 12 bits", geometry(t, frame.Y12I, 1, 1, 0), wide(t, frame.Mono16, 1, 1, 0, false, 12), convert.Options{}, "\x21\x43\x65", "\x21\x03"},
		{"right 12 bits, big-endian", geometry(t, frame.Y12I, 1, 1, 0), wide(t, frame.Mono16, 1, 1, 0, true, 12), convert.Options{Side: convert.Right}, "\x21\x43\x65", "\x06\x54"},
		{"right 12 bits in 8", geometry(t, frame.Y12I, 1, 1, 0), geometry(t, frame.Mono8, 1, 1, 0), convert.Options{Side: convert.Right}, "\x21\x43\x65", "\x65"},
		{"grey", geometry(t, frame.Mono8, 2, 1, 0), geometry(t, frame.BGRA8, 2, 1, 0), convert.Options{}, "ab", "aaa\xffbbb\xff"},
		{"alpha stays", geometry(t, frame.RGBA8, 1, 1, 0), geometry(t, frame.BGRA8, 1, 1, 0), convert.Options{}, "rgba", "bgra"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := run(t, tc.src, tc.dst, tc.o, []byte(tc.from)); string(got) != tc.to {
				t.Errorf("got %q, want %q", got, tc.to)
			}
		})
	}
}

func TestLevels(t *testing.T) {
	words := func(list ...uint16) []byte {
		var data []byte
		for _, v := range list {
			data = append(data, byte(v), byte(v>>8))
		}
		return data
	}
	for _, tc := range []struct {
		name   string
		e      frame.Encoding
		bits   int
		levels convert.Levels
		from   []uint16
		want   []byte
	}{
		{"highest bits", frame.Mono16, 0, convert.Levels{}, []uint16{0, 255, 256, 65535}, []byte{0, 0, 1, 255}},
		{"of twelve", frame.Mono16, 12, convert.Levels{}, []uint16{0, 16, 4095, 4096}, []byte{0, 1, 255, 255}},
		{"linear", frame.Mono16, 0, convert.Levels{Black: 100, White: 355}, []uint16{0, 100, 227, 400}, []byte{0, 0, 127, 255}},
		{"near is bright", frame.Depth16, 0, convert.Levels{Black: 4000, White: 500}, []uint16{0, 500, 4000, 9000, 2250}, []byte{0, 255, 0, 0, 128}},
		{"no data stays black", frame.Depth16, 0, convert.Levels{Black: 500, White: 400}, []uint16{0, 1, 450}, []byte{0, 255, 128}},
		{"zero of grey is not special", frame.Mono16, 0, convert.Levels{Black: 500, White: 400}, []uint16{0, 1}, []byte{255, 255}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := wide(t, tc.e, len(tc.from), 1, 0, false, tc.bits)
			dst := geometry(t, frame.Mono8, len(tc.from), 1, 0)
			if got := run(t, src, dst, convert.Options{Levels: tc.levels}, words(tc.from...)); !bytes.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	compressed, err := frame.NewCompressed(frame.JPEG, 4, 4, 100)
	if err != nil {
		t.Fatal(err)
	}
	rgb := geometry(t, frame.RGB8, 4, 4, 0)
	for _, tc := range []struct {
		name     string
		src, dst frame.Geometry
		color    frame.Color
		want     error
	}{
		{"zero source", frame.Geometry{}, rgb, frame.Color{}, frame.ErrEncoding},
		{"zero destination", rgb, frame.Geometry{}, frame.Color{}, frame.ErrEncoding},
		{"another size", geometry(t, frame.YUV422YUY2, 4, 5, 0), rgb, frame.Color{}, convert.ErrSize},
		{"JPEG", compressed, rgb, frame.Color{}, convert.ErrUnsupported},
		{"JPEG into JPEG", compressed, compressed, frame.Color{}, convert.ErrUnsupported},
		{"RGB into Bayer", rgb, geometry(t, frame.BayerGBRG8, 4, 4, 0), frame.Color{}, convert.ErrUnsupported},
		{"depth into grey of 16 bits", geometry(t, frame.Depth16, 4, 4, 0), geometry(t, frame.Mono16, 4, 4, 0), frame.Color{}, convert.ErrUnsupported},
		{"other bits", wide(t, frame.Mono16, 4, 4, 0, false, 10), geometry(t, frame.Mono16, 4, 4, 0), frame.Color{}, convert.ErrUnsupported},
		{"12 bits as 16", geometry(t, frame.Y12I, 4, 4, 0), geometry(t, frame.Mono16, 4, 4, 0), frame.Color{}, convert.ErrUnsupported},
		{"unknown matrix", geometry(t, frame.NV12, 4, 4, 0), rgb, frame.Color{Matrix: "bt470"}, frame.ErrColor},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := convert.New(tc.src, tc.dst, convert.Options{Color: tc.color}); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
	src := geometry(t, frame.NV12, 4, 4, 3)
	c, err := convert.New(src, rgb, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		dst, src int
	}{{"short source", rgb.Size(), src.Extent() - 1}, {"short destination", rgb.Extent() - 1, src.Size()}, {"nothing", 0, 0}} {
		if err := c.Convert(make([]byte, tc.dst), make([]byte, tc.src)); !errors.Is(err, convert.ErrShort) {
			t.Errorf("%s: got %v", tc.name, err)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, e := range frame.Encodings() {
		targets := convert.Targets(e)
		for _, v := range viewable() {
			if slices.Contains(targets, v) == e.Compressed() {
				t.Errorf("%s into %s: supported %v", e, v, convert.Supported(e, v))
			}
		}
		if slices.Contains(targets, e) == e.Compressed() {
			t.Errorf("%s into itself: supported %v", e, convert.Supported(e, e))
		}
	}
}

// All workers together make what one makes, and none is left.
func TestWorkers(t *testing.T) {
	for _, e := range []frame.Encoding{frame.NV12, frame.BayerGRBG8, frame.Mono8} {
		for _, height := range []int{1, 2, 3, 7, 64, 101} {
			src, dst := geometry(t, e, 33, height, 1), geometry(t, frame.BGR8, 33, height, 4)
			from := noise(src, uint64(height))
			want := run(t, src, dst, convert.Options{}, from)
			for _, workers := range []int{2, 3, 8, 1000} {
				c, err := convert.New(src, dst, convert.Options{Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					got := blank(dst)
					if err := c.Convert(got, from); err != nil || !bytes.Equal(got, want) {
						t.Fatalf("%v with %d workers differs, %v", src, workers, err)
					}
				}
				c.Close()
				c.Close()
				got := blank(dst)
				if err := c.Convert(got, from); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%v after Close differs, %v", src, err)
				}
			}
		}
	}
}

func TestConvertDoesNotAllocate(t *testing.T) {
	for _, e := range frame.Encodings() {
		for _, target := range convert.Targets(e) {
			for _, workers := range []int{1, 2} {
				src, dst := geometry(t, e, 33, 17, 0), geometry(t, target, 33, 17, 0)
				c, err := convert.New(src, dst, convert.Options{Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				from, to := noise(src, 1), blank(dst)
				if n := testing.AllocsPerRun(10, func() {
					if err := c.Convert(to, from); err != nil {
						t.Fatal(err)
					}
				}); n != 0 {
					t.Errorf("%s into %s with %d workers: %v allocations per frame", e, target, workers, n)
				}
				c.Close()
			}
		}
	}
}

// A diagonal drawn in the source is a diagonal in every destination: no step is
// mistaken for a width anywhere.
func TestDiagonal(t *testing.T) {
	const w, h = 1366, 768
	for _, e := range []frame.Encoding{frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12, frame.Mono16, frame.RGB8, frame.Y8I} {
		src := geometry(t, e, w, h, 34)
		from := make([]byte, src.Size())
		pixel, luma := e.BytesPerPixel(), 0
		switch e {
		case frame.YUV422UYVY, frame.Mono16, frame.RGB8:
			luma = 1
		}
		for i := range from {
			if e.YUV() {
				from[i] = 128 // no colour
			}
		}
		for y := range h {
			for x := range w {
				from[y*src.Step+x*pixel+luma] = 16
			}
			from[y*src.Step+y*pixel+luma] = 235
		}
		for _, pad := range []int{0, 30} {
			dst := geometry(t, frame.BGR8, w, h, pad)
			to := run(t, src, dst, convert.Options{}, from)
			for y := range h {
				for x := range w {
					if bright := to[y*dst.Step+3*x+1] > 128; bright != (x == y) {
						t.Fatalf("%v into %v: pixel %d,%d is bright: %v", src, dst, x, y, bright)
					}
				}
			}
		}
	}
}

// Whatever geometry: no byte outside of what it describes is touched.
func FuzzConvert(f *testing.F) {
	f.Add(uint8(5), uint8(0), uint8(7), uint8(5), uint8(0), uint8(3), uint8(0), false, uint64(1))
	f.Add(uint8(7), uint8(2), uint8(1), uint8(1), uint8(1), uint8(0), uint8(2), false, uint64(2))
	f.Add(uint8(15), uint8(1), uint8(9), uint8(4), uint8(2), uint8(2), uint8(3), true, uint64(3))
	f.Add(uint8(19), uint8(8), uint8(3), uint8(3), uint8(0), uint8(0), uint8(1), false, uint64(4))
	f.Fuzz(func(t *testing.T, a, b, w, h, padA, padB, workers uint8, big bool, seed uint64) {
		all := frame.Encodings()
		src, err := frame.NewGeometry(all[int(a)%len(all)], int(w%80)+1, int(h%20)+1)
		if err != nil {
			return
		}
		dst, err := frame.NewGeometry(all[int(b)%len(all)], src.Width, src.Height)
		if err != nil {
			return
		}
		src.Step, dst.Step = src.Step+int(padA), dst.Step+int(padB)
		src.BigEndian = big && src.Encoding.Wide()
		c, err := convert.New(src, dst, convert.Options{Workers: int(workers % 4)})
		if err != nil {
			return
		}
		defer c.Close()
		from, to := noise(src, seed), blank(dst)
		n, m := src.Extent(), dst.Extent()
		if err := c.Convert(to[:m:m], from[:n:n]); err != nil {
			t.Fatal(err)
		}
		if i := paddingKept(dst, to); i >= 0 {
			t.Fatalf("%v into %v: byte %d of the padding was written", src, dst, i)
		}
		again := blank(dst)
		if err := c.Convert(again, from); err != nil || !bytes.Equal(to, again) {
			t.Fatalf("%v into %v: a second time differs, %v", src, dst, err)
		}
	})
}
