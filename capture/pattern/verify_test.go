// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

func TestVerifyFindsDamage(t *testing.T) {
	type picture struct {
		g    frame.Geometry
		data []byte
	}
	make := func(enc frame.Encoding, w, h int, style string, n uint64) picture {
		g, err := frame.NewGeometry(enc, w, h)
		if err != nil {
			t.Fatal(err)
		}
		p := picture{g, make([]byte, g.Size())}
		newPicture(g, style, 0).draw(0, p.data, n, Code{Version: codeVersion, Counter: uint32(n)})
		return p
	}
	cases := []struct {
		name string
		of   func() picture
		want error
	}{
		{"lower half of the next frame", func() picture {
			p, q := make(frame.BGRA8, 640, 480, styleBars, 5), make(frame.BGRA8, 640, 480, styleBars, 6)
			copy(p.data[len(p.data)/2:], q.data[len(q.data)/2:])
			return p
		}, ErrTorn},
		{"one row of another frame, numbers only", func() picture {
			p := make(frame.Mono8, 64, 48, styleRows, 5)
			p.data[64*47] = 6
			return p
		}, ErrTorn},
		{"chroma of another frame", func() picture {
			p, q := make(frame.NV12, 640, 480, styleBars, 5), make(frame.NV12, 640, 480, styleBars, 6)
			copy(p.data[640*480:], q.data[640*480:])
			return p
		}, ErrTorn},
		{"barcode overwritten at the top", func() picture {
			p := make(frame.RGB8, 640, 480, styleBars, 5)
			clear(p.data[8*3 : 640*3])
			clear(p.data[640*3+8*3 : 2*640*3])
			clear(p.data[2*640*3+8*3 : 3*640*3])
			return p
		}, ErrTorn},
		{"rows of one frame, barcodes of another", func() picture {
			p := make(frame.YUV422YUY2, 640, 480, styleBars, 5)
			writeNumbers(p.g, p.data, 6)
			return p
		}, ErrTorn},
		{"zeros", func() picture { p := make(frame.BGR8, 640, 480, styleBars, 1); clear(p.data); return p }, ErrNoPattern},
		{"zeros, no room for barcodes", func() picture { p := make(frame.BGR8, 64, 48, styleBars, 1); clear(p.data); return p }, ErrNoPattern},
		{"another picture", func() picture {
			p := make(frame.BGR8, 640, 480, styleBars, 1)
			for i := range p.data {
				p.data[i] = byte(i * i >> 7)
			}
			return p
		}, ErrNoPattern},
		{"short data", func() picture {
			p := make(frame.BGR8, 640, 480, styleBars, 1)
			p.data = p.data[:len(p.data)-1]
			return p
		}, frame.ErrGeometry},
		{"whole", func() picture { return make(frame.BGR8, 640, 480, styleBars, 1) }, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := c.of()
			if _, err := Verify(p.g, p.data); !errors.Is(err, c.want) {
				t.Fatalf("Verify: %v, want %v", err, c.want)
			}
		})
	}
	p := make(frame.BGRA8, 640, 480, styleBars, 5)
	if err := VerifyNumber(p.g, p.data, 4); !errors.Is(err, ErrTorn) {
		t.Errorf("another whole frame: %v, want %v", err, ErrTorn)
	}
}

func TestBarcodeSurvivesNoise(t *testing.T) {
	g, err := frame.NewGeometry(frame.BGRA8, 1280, 720)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, g.Size())
	want := Code{Version: codeVersion, Camera: 200, Counter: 0xdeadbeef, CaptureMicros: 1<<44 - 1}
	newPicture(g, styleBars, 0).draw(0, data, 0xdeadbeef, want)
	for i := range data {
		data[i] = byte(min(255, int(data[i])*3/4+20+i*7%31))
	}
	info, err := Decode(g, data)
	if err != nil || info.Top != want || info.Bottom != want || info.HasNumber {
		t.Fatalf("Decode says %+v, %v; want %v in the barcodes alone", info, err, want)
	}
}

func TestCRC16(t *testing.T) {
	if got := crc16([]byte("123456789")); got != 0x29b1 {
		t.Fatalf("check value %#x, want 0x29b1 (CRC-16/IBM-3740)", got)
	}
}

func FuzzDecode(f *testing.F) {
	g, _ := frame.NewGeometry(frame.Mono8, 240, 8)
	data := make([]byte, g.Size())
	newPicture(g, styleBars, 0).draw(0, data, 7, Code{Version: codeVersion, Counter: 7})
	f.Add(uint8(4), uint16(240), uint16(8), uint16(0), data)
	f.Add(uint8(7), uint16(241), uint16(9), uint16(3), data)
	f.Add(uint8(0), uint16(1), uint16(1), uint16(0), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, enc uint8, w, h, step uint16, data []byte) {
		all := frame.Encodings()
		g := frame.Geometry{Width: int(w), Height: int(h), Encoding: all[int(enc)%len(all)], Step: int(step)}
		if step == 0 {
			g, _ = frame.NewGeometry(g.Encoding, g.Width, g.Height)
		}
		info, err := Decode(g, data)
		if err == nil && !info.HasNumber && !info.HasTop && !info.HasBottom {
			t.Fatal("decoded nothing without an error")
		}
		n, err := Verify(g, data)
		if err == nil {
			// Whole: then any changed number must be found.
			if p := g.Plane(0); p.RowBytes >= numberBytes && p.Rows > 1 {
				binary.LittleEndian.PutUint64(data[p.Step*(p.Rows-1):], n+1)
				if _, err := Verify(g, data); err == nil {
					t.Fatal("a changed last row was not found")
				}
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	g, _ := frame.NewGeometry(frame.BGRA8, 1920, 1080)
	data := make([]byte, g.Size())
	newPicture(g, styleBars, 0).draw(0, data, 1, Code{Version: codeVersion, Counter: 1})
	b.ReportAllocs()
	for b.Loop() {
		if err := VerifyNumber(g, data, 1); err != nil {
			b.Fatal(err)
		}
	}
}
