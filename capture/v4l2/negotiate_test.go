// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/seed-3c7e7623/camd/capture"
)

// What a driver says about pitch and size is doubted.
func TestFiguresOfDrivers(t *testing.T) {
	for _, c := range []struct {
		name    string
		format  pixFormat
		refused string // "" = taken
		step    int
		warns   bool
	}{
		{"right", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 128, SizeImage: 128 * 48}, "", 128, false},
		{"padded", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 192, SizeImage: 192 * 48}, "", 192, false},
		{"padded but in the last row", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 192, SizeImage: 192*47 + 128}, "", 192, false},
		{"no pitch", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, SizeImage: 128 * 48}, "", 128, false},
		{"pitch too small", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 64, SizeImage: 128 * 48}, "", 128, true},
		{"pitch and size too small", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 64, SizeImage: 64 * 48}, "takes 6144", 0, false},
		{"size too small for the pitch", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 192, SizeImage: 128 * 48}, "takes 9152", 0, false},
		{"pitch beyond reason", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 0xffffffff, SizeImage: 0xffffffff}, "bytes a row", 0, false},
		{"size beyond reason", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 128, SizeImage: 0xffffffff}, "4294967295 bytes an image", 0, false},
		{"no width", pixFormat{Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 128, SizeImage: 128 * 48}, "each side", 0, false},
		{"odd width", pixFormat{Width: 65, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 132, SizeImage: 132 * 48}, "", 132, false},
		{"1x1", pixFormat{Width: 1, Height: 1, PixelFormat: uint32(code("GREY")), Field: fieldNone, BytesPerLine: 1, SizeImage: 1}, "", 1, false},
		{"nv12 with a pitch", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("NV12")), Field: fieldNone, BytesPerLine: 80, SizeImage: 80 * 72}, "", 80, false},
		{"nv12 of odd height, half a row short", pixFormat{Width: 64, Height: 47, PixelFormat: uint32(code("NV12")), Field: fieldNone, BytesPerLine: 64, SizeImage: 64*47*3/2 - 1}, "takes 4544", 0, false},
		{"field not said", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), BytesPerLine: 128, SizeImage: 128 * 48}, "", 128, false},
		{"interlaced", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: 4, BytesPerLine: 128, SizeImage: 128 * 48}, "interlaced", 0, false},
		{"a format without a name", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("H264")), Field: fieldNone}, "H264", 0, false},
		{"compressed", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("MJPG")), Field: fieldNone, SizeImage: 1 << 20}, "", 0, false},
		{"compressed, no size", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("MJPG")), Field: fieldNone}, "0 bytes an image", 0, false},
		{"compressed, size beyond reason", pixFormat{Width: 64, Height: 48, PixelFormat: uint32(code("MJPG")), Field: fieldNone, SizeImage: 1 << 31}, "2147483648 bytes an image", 0, false},
		{"compressed, no width", pixFormat{Height: 48, PixelFormat: uint32(code("MJPG")), Field: fieldNone, SizeImage: 1 << 20}, "each side", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := format{Type: bufTypeCapture}
			*f.pix() = c.format
			g, err := read(&f)
			if c.refused != "" {
				if !errors.Is(err, capture.ErrFormatRefused) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%v; want a refusal that says %q", err, c.refused)
				}
				return
			}
			if err != nil || g.geometry.Step != c.step || (len(g.warnings) > 0) != c.warns {
				t.Errorf("%v, step %d, warnings %q; want step %d", err, g.geometry.Step, g.warnings, c.step)
			}
		})
	}
}

func FuzzFigures(f *testing.F) {
	for _, p := range []pixFormat{
		{Width: 64, Height: 48, PixelFormat: uint32(code("YUYV")), Field: fieldNone, BytesPerLine: 128, SizeImage: 128 * 48},
		{Width: 1366, Height: 768, PixelFormat: uint32(code("NV12")), BytesPerLine: 0, SizeImage: 1 << 31},
		{Width: 1366, Height: 768, PixelFormat: uint32(code("MJPG")), SizeImage: 1 << 20},
	} {
		a := format{Type: bufTypeCapture}
		*a.pix() = p
		f.Add(false, unsafe.Slice((*byte)(unsafe.Pointer(&a.Fmt)), 200))
	}
	m := format{Type: bufTypeCaptureMplane}
	*m.mplane() = mplaneFormat{Width: 64, Height: 48, PixelFormat: uint32(twoPlanes), NumPlanes: 2, Planes: [8]planeFormat{{SizeImage: 64 * 48, BytesPerLine: 64}, {SizeImage: 32 * 48, BytesPerLine: 64}}}
	f.Add(true, unsafe.Slice((*byte)(unsafe.Pointer(&m.Fmt)), 200))
	f.Fuzz(func(t *testing.T, mplane bool, b []byte) {
		a := format{Type: bufTypeCapture}
		if mplane {
			a.Type = bufTypeCaptureMplane
		}
		for i := range a.Fmt {
			if 8*i+8 <= len(b) {
				a.Fmt[i] = binary.NativeEndian.Uint64(b[8*i:])
			}
		}
		g, err := read(&a)
		if err != nil {
			return
		}
		if err := g.geometry.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, p := range g.planes {
			if p.need < 1 || p.need > p.sizeImage || p.offset < 0 || p.bytes < p.need || p.offset+p.bytes > g.geometry.Size() {
				t.Fatalf("%+v of %v with %d bytes", p, g.geometry, g.geometry.Size())
			}
		}
		if g.inPlace() == nil && g.slotBytes() < g.planes[len(g.planes)-1].offset+g.planes[len(g.planes)-1].sizeImage {
			t.Fatalf("slots of %d bytes for %+v", g.slotBytes(), g.planes)
		}
	})
}
