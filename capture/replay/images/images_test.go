// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestCompare(t *testing.T) {
	want := []string{"1.png", "02.png", "2.png", "10.png", "A1.png", "a.png", "a1.png", "a1b2.png", "a1b10.png", "a2.png", "a10.png", "a99999999999999999999998.png", "a99999999999999999999999.png", "b.png"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Compare)
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, a := range want {
		for _, b := range want {
			if (Compare(a, b) == 0) != (a == b) || Compare(a, b) != -Compare(b, a) {
				t.Errorf("%s and %s: %d, %d", a, b, Compare(a, b), Compare(b, a))
			}
		}
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"f10.png", "f9.JPG", "f1.jpeg", "notes.txt", ".hidden.png", "f2.png"} {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "f3.png"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = filepath.Base(got[i])
	}
	if want := []string{"f1.jpeg", "f2.png", "f9.JPG", "f10.png"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := List(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// picture has another colour in every pixel.
func picture(set func(x, y int, c color.NRGBA64)) {
	for y := range 5 {
		for x := range 7 {
			set(x, y, color.NRGBA64{uint16(x * 9000), uint16(y * 13000), uint16(x * y * 2000), 0xffff})
		}
	}
}

func TestPut(t *testing.T) {
	r := image.Rect(0, 0, 7, 5)
	rgb, rgba, grey, wide, deep := image.NewRGBA(r), image.NewNRGBA(r), image.NewGray(r), image.NewGray16(r), image.NewNRGBA64(r)
	picture(func(x, y int, c color.NRGBA64) {
		rgb.Set(x, y, c)
		deep.Set(x, y, c)
		c.A = uint16(x) << 12
		rgba.SetNRGBA(x, y, color.NRGBA{byte(c.R >> 8), byte(c.G >> 8), byte(c.B >> 8), byte(x * 16)})
		grey.SetGray(x, y, color.Gray{byte(x*16 + y)})
		wide.SetGray16(x, y, color.Gray16{uint16(x*4096 + y)})
	})
	for _, c := range []struct {
		name     string
		img      image.Image
		natural  frame.Encoding
		encoding frame.Encoding
		want     []byte // pixel (3, 2)
	}{
		{"colour", rgb, frame.BGR8, frame.RGB8, []byte{27000 >> 8, 26000 >> 8, 12000 >> 8}},
		{"colour turned", rgb, frame.BGR8, frame.BGR8, []byte{12000 >> 8, 26000 >> 8, 27000 >> 8}},
		{"alpha is not multiplied", rgba, frame.BGR8, frame.RGBA8, []byte{27000 >> 8, 26000 >> 8, 12000 >> 8, 48}},
		{"alpha left out", rgba, frame.BGR8, frame.BGR8, []byte{12000 >> 8, 26000 >> 8, 27000 >> 8}},
		{"alpha put in", rgb, frame.BGR8, frame.BGRA8, []byte{12000 >> 8, 26000 >> 8, 27000 >> 8, 255}},
		{"16 bits of colour", deep, frame.BGR8, frame.RGB8, []byte{27000 >> 8, 26000 >> 8, 12000 >> 8}},
		{"grey", grey, frame.Mono8, frame.Mono8, []byte{50}},
		{"grey as colour", grey, frame.Mono8, frame.BGR8, []byte{50, 50, 50}},
		{"16 bits of grey", wide, frame.Mono16, frame.Mono16, []byte{2, 0x30}},
		{"depth", wide, frame.Mono16, frame.Depth16, []byte{2, 0x30}},
		{"16 bits cut", wide, frame.Mono16, frame.Mono8, []byte{0x30}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var file bytes.Buffer
			if err := png.Encode(&file, c.img); err != nil {
				t.Fatal(err)
			}
			img, err := decode(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if n := Natural(img); n != c.natural {
				t.Errorf("natural is %s, want %s", n, c.natural)
			}
			g, err := frame.NewGeometryStep(c.encoding, 7, 5, 64)
			if err != nil {
				t.Fatal(err)
			}
			dst := make([]byte, g.Size())
			if err := Put(dst, g, img); err != nil {
				t.Fatal(err)
			}
			at := 2*g.Step + 3*len(c.want)
			if !bytes.Equal(dst[at:at+len(c.want)], c.want) {
				t.Errorf("pixel % x, want % x", dst[at:at+len(c.want)], c.want)
			}
			if tight := 7 * len(c.want); !bytes.Equal(dst[tight:g.Step], make([]byte, g.Step-tight)) {
				t.Error("the padding was written to")
			}
		})
	}
	g, err := frame.NewGeometry(frame.NV12, 7, 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := Put(make([]byte, g.Size()), g, rgb); !errors.Is(err, ErrEncoding) {
		t.Errorf("nv12: %v", err)
	}
	if g, err = frame.NewGeometry(frame.RGB8, 5, 5); err != nil {
		t.Fatal(err)
	}
	if err := Put(make([]byte, g.Size()), g, rgb); !errors.Is(err, ErrPicture) {
		t.Errorf("another size: %v", err)
	}
}

func TestJPEG(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range 16 * 16 {
		img.Set(i%16, i/16, color.NRGBA{200, 100, 50, 255})
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.png") // the content counts, not the name
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Decode(path)
	if err != nil {
		t.Fatal(err)
	}
	g, err := frame.NewGeometry(frame.RGB8, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, g.Size())
	if err := Put(dst, g, got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{200, 100, 50} {
		if d := int(dst[i]) - want; d < -2 || d > 2 {
			t.Errorf("sample %d is %d, want about %d", i, dst[i], want)
		}
	}
	if err := os.WriteFile(path, file.Bytes()[:file.Len()/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(path); !errors.Is(err, ErrPicture) {
		t.Errorf("half a picture: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray16(image.Rect(0, 0, 3, 2))); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte("\xff\xd8\xff\xd9"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err != nil || c.Width*c.Height > 1<<20 {
			return // memory for it is taken, as it should be
		}
		img, err := decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		b := img.Bounds()
		g, err := frame.NewGeometry(Natural(img), b.Dx(), b.Dy())
		if err != nil {
			return
		}
		if err := Put(make([]byte, g.Size()), g, img); err != nil {
			t.Fatal(err)
		}
	})
}
