// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

// diagonal is a black frame whose pixels (i, i) are white.
func diagonal(t *testing.T, g frame.Geometry) []byte {
	t.Helper()
	data := bytes.Repeat([]byte{0xa5}, g.Size()) // padding must not be looked at
	set := func(x, y int, white bool) {
		row := data[y*g.Step:]
		v, limited := byte(0), byte(16)
		if white {
			v, limited = 255, 235
		}
		switch g.Encoding {
		case frame.RGB8, frame.BGR8:
			copy(row[3*x:], []byte{v, v, v})
		case frame.RGBA8, frame.BGRA8:
			copy(row[4*x:], []byte{v, v, v, 255})
		case frame.Mono8:
			row[x] = v
		case frame.Mono16, frame.Depth16:
			row[2*x], row[2*x+1] = v, v
		case frame.Y8I:
			row[2*x], row[2*x+1] = v, 0x5a
		case frame.YUV422YUY2:
			row[2*x], row[2*x+1] = limited, 128
		case frame.YUV422UYVY:
			row[2*x+1], row[2*x] = limited, 128
		case frame.NV12:
			row[x] = limited
		default:
			t.Fatalf("no diagonal in %s", g.Encoding)
		}
	}
	if g.Encoding == frame.NV12 {
		p := g.Plane(1)
		for y := range p.Rows {
			for x := range p.RowBytes {
				data[p.Offset+y*p.Step+x] = 128
			}
		}
	}
	// The second pixel of the last pair of an odd width carries chroma too.
	if g.Encoding == frame.YUV422YUY2 || g.Encoding == frame.YUV422UYVY {
		for y := range g.Height {
			for x := range g.Plane(0).RowBytes {
				data[y*g.Step+x] = 128
			}
		}
	}
	for y := range g.Height {
		for x := range g.Width {
			set(x, y, x == y)
		}
	}
	return data
}

func TestDiagonalStaysOne(t *testing.T) {
	for _, e := range []frame.Encoding{
		frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.Mono8, frame.Mono16, frame.Depth16, frame.Y8I, frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12,
	} {
		for _, size := range []struct{ w, h, padding int }{{1, 1, 0}, {63, 47, 0}, {64, 48, 32}, {1366, 768, 2}, {3, 5, 8}} {
			t.Run(fmt.Sprintf("%s %dx%d+%d", e, size.w, size.h, size.padding), func(t *testing.T) {
				g, err := frame.NewGeometry(e, size.w, size.h)
				if err != nil {
					t.Fatal(err)
				}
				if g, err = frame.NewGeometryStep(e, size.w, size.h, g.Step+size.padding); err != nil {
					t.Fatal(err)
				}
				data := diagonal(t, g)
				for _, f := range []Format{PNG, PPM} {
					var file bytes.Buffer
					if err := Encode(&file, f, g, frame.Color{}, data); err != nil {
						t.Fatal(err)
					}
					at := reader(t, f, file.Bytes(), g)
					for y := range g.Height {
						for x := range g.Width {
							if got := at(x, y); (x == y) != (got >= 0xfd) || x != y && got > 2 {
								t.Fatalf("%s: pixel %d, %d is %d", f, x, y, got)
							}
						}
					}
				}
			})
		}
	}
}

// reader looks at one pixel of a file, in 8 bits.
func reader(t *testing.T, f Format, file []byte, g frame.Geometry) func(x, y int) int {
	t.Helper()
	if f == PNG {
		img, err := png.Decode(bytes.NewReader(file))
		if err != nil || img.Bounds().Dx() != g.Width || img.Bounds().Dy() != g.Height {
			t.Fatalf("%v, %v", img.Bounds(), err)
		}
		return func(x, y int) int { return int(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y) }
	}
	var magic string
	var w, h, most int
	if _, err := fmt.Sscanf(string(file), "%s\n%d %d\n%d\n", &magic, &w, &h, &most); err != nil || w != g.Width || h != g.Height {
		t.Fatalf("%s %d %d %d, %v", magic, w, h, most, err)
	}
	bytesPerPixel := 3
	if magic == "P5" {
		bytesPerPixel = 1 + most/65535
	}
	pixels := file[len(file)-w*h*bytesPerPixel:]
	return func(x, y int) int { return int(pixels[(y*w+x)*bytesPerPixel]) }
}

func TestColoursAndDepth(t *testing.T) {
	for _, c := range []struct {
		name string
		e    frame.Encoding
		big  bool
		bits int
		data []byte
		png  color.Color
		ppm  string
	}{
		{"bgr8", frame.BGR8, false, 0, []byte{1, 2, 3}, color.NRGBA{3, 2, 1, 255}, "P6\n1 1\n255\n\x03\x02\x01"},
		{"bgra8 with alpha", frame.BGRA8, false, 0, []byte{1, 2, 3, 4}, color.NRGBA{3, 2, 1, 4}, "P6\n1 1\n255\n\x03\x02\x01"},
		{"mono8", frame.Mono8, false, 0, []byte{7}, color.Gray{7}, "P5\n1 1\n255\n\x07"},
		{"mono16", frame.Mono16, false, 0, []byte{0x34, 0x12}, color.Gray16{0x1234}, "P5\n1 1\n65535\n\x12\x34"},
		{"mono16 of the other order", frame.Mono16, true, 0, []byte{0x12, 0x34}, color.Gray16{0x1234}, "P5\n1 1\n65535\n\x12\x34"},
		{"mono16 of 10 bits", frame.Mono16, false, 10, []byte{0xff, 0x03}, color.Gray16{0x3ff}, "P5\n1 1\n65535\n\x03\xff"},
		{"depth", frame.Depth16, false, 0, []byte{0xe8, 0x03}, color.Gray16{1000}, "P5\n1 1\n65535\n\x03\xe8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := frame.NewGeometry(c.e, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			g.BigEndian, g.Bits = c.big, c.bits
			var file, ppm bytes.Buffer
			if err := errors.Join(Encode(&file, PNG, g, frame.Color{}, c.data), Encode(&ppm, PPM, g, frame.Color{}, c.data)); err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(&file)
			if err != nil {
				t.Fatal(err)
			}
			want := img.ColorModel().Convert(c.png)
			if got := img.At(0, 0); got != want {
				t.Errorf("png: %v, want %v", got, want)
			}
			if ppm.String() != c.ppm {
				t.Errorf("ppm: %q, want %q", ppm.String(), c.ppm)
			}
		})
	}
}

func TestCompressed(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 16, 8))
	for i := range img.Pix {
		img.Pix[i] = 200
	}
	var data bytes.Buffer
	if err := jpeg.Encode(&data, img, nil); err != nil {
		t.Fatal(err)
	}
	g, err := frame.NewCompressed(frame.JPEG, 16, 8, 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Format{JPEG, Raw} {
		var file bytes.Buffer
		if err := Encode(&file, f, g, frame.Color{}, data.Bytes()); err != nil || !bytes.Equal(file.Bytes(), data.Bytes()) {
			t.Errorf("%s: %d bytes, %v; want the %d as they came", f, file.Len(), err, data.Len())
		}
	}
	// Cameras leave the standard Huffman tables out.
	bare := data.Bytes()
	for i := bytes.Index(bare, []byte{0xff, 0xc4}); i >= 0; i = bytes.Index(bare, []byte{0xff, 0xc4}) {
		bare = append(bytes.Clone(bare[:i]), bare[i+2+int(bare[i+2])<<8+int(bare[i+3]):]...)
	}
	for _, f := range []Format{PNG, PPM} {
		for name, in := range map[string][]byte{"whole": data.Bytes(), "without tables": bare} {
			var file bytes.Buffer
			if err := Encode(&file, f, g, frame.Color{}, in); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := reader(t, f, file.Bytes(), g)(5, 5); got < 198 || got > 202 {
				t.Errorf("%s %s: pixel is %d, want about 200", name, f, got)
			}
		}
		var file bytes.Buffer
		if err := Encode(&file, f, g, frame.Color{}, data.Bytes()[:20]); err == nil {
			t.Errorf("%s: a cut picture was written", f)
		}
	}
}

func TestRefused(t *testing.T) {
	g, err := frame.NewGeometry(frame.BGR8, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	for f, want := range map[Format]error{JPEG: ErrFormat, "gif": ErrFormat, PNG: convert.ErrShort, PPM: convert.ErrShort} {
		if err := Encode(&file, f, g, frame.Color{}, make([]byte, 10)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", f, err, want)
		}
	}
	if err := Encode(&file, Raw, g, frame.Color{}, make([]byte, 10)); err == nil || file.Len() != 0 {
		t.Errorf("raw: %v, %d bytes", err, file.Len())
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{"x.png": PNG, "dir.raw/X.PNG": PNG, "x.ppm": PPM, "x.pgm": PPM, "x.raw": Raw, "x.jpg": JPEG, "x.jpeg": JPEG, "x": "", "x.gif": ""} {
		f, err := FormatOf(name)
		if f != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", name, f, err, want)
		}
	}
}

// PNG files come as topics of ROS: as they came, or decoded.
func TestPNG(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 3, 2))
	img.SetGray(1, 1, color.Gray{Y: 200})
	var file bytes.Buffer
	if err := png.Encode(&file, img); err != nil {
		t.Fatal(err)
	}
	g, err := frame.NewCompressed(frame.PNG, 3, 2, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Encode(&out, PNG, g, frame.Color{}, file.Bytes()); err != nil || !bytes.Equal(out.Bytes(), file.Bytes()) {
		t.Errorf("as png: %v, %d bytes of %d", err, out.Len(), file.Len())
	}
	out.Reset()
	white := string([]byte{200, 200, 200})
	if err := Encode(&out, PPM, g, frame.Color{}, file.Bytes()); err != nil || out.String() != "P6\n3 2\n255\n"+string(make([]byte, 12))+white+string(make([]byte, 3)) {
		t.Errorf("as ppm: %v, %q", err, out.String())
	}
	if err := Encode(&out, JPEG, g, frame.Color{}, file.Bytes()); !errors.Is(err, ErrFormat) {
		t.Errorf("as jpeg: %v", err)
	}
	large, err := frame.NewCompressed(frame.PNG, 1<<16, 1<<16, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := Encode(&out, PPM, large, frame.Color{}, file.Bytes()); !errors.Is(err, ErrFormat) {
		t.Errorf("one that says it is large: %v", err)
	}
	for _, e := range []frame.Encoding{frame.Float32, frame.RGB16, frame.NV21} {
		g, err := frame.NewGeometry(e, 4, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := Encode(&out, PNG, g, frame.Color{}, make([]byte, g.Size())); !errors.Is(err, convert.ErrUnsupported) {
			t.Errorf("%s: %v", e, err)
		}
		if err := Encode(&out, Raw, g, frame.Color{}, make([]byte, g.Size())); err != nil {
			t.Errorf("%s as raw: %v", e, err)
		}
	}
}
