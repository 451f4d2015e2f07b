// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	std "image/jpeg"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

func encoders(t *testing.T) []*Encoder {
	t.Helper()
	var out []*Encoder
	for _, b := range []Backend{Turbo, Go} {
		e, err := NewEncoder(b)
		if errors.Is(err, dl.ErrNoLibrary) || errors.Is(err, dl.ErrBuiltWithoutDL) {
			t.Logf("without %s: %v", b, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		out = append(out, e)
	}
	return out
}

// gradient is smooth, with padding that no decoder may see.
func gradient(g frame.Geometry) []byte {
	data := bytes.Repeat([]byte{0xEE}, g.Size())
	n := g.Encoding.BytesPerPixel()
	for y := range g.Height {
		for x := range g.Width {
			r, gr, b := byte(x*255/g.Width), byte(y*255/g.Height), byte(128)
			p := data[y*g.Step+x*n:]
			switch g.Encoding {
			case frame.RGB8, frame.RGBA8:
				p[0], p[1], p[2] = r, gr, b
			case frame.BGR8, frame.BGRA8:
				p[0], p[1], p[2] = b, gr, r
			default:
				p[0] = r
			}
		}
	}
	return data
}

func TestEncode(t *testing.T) {
	for _, e := range encoders(t) {
		for _, enc := range Encodings() {
			t.Run(fmt.Sprint(e.Backend(), " ", enc), func(t *testing.T) {
				g, err := frame.NewGeometry(enc, 77, 51)
				if err != nil {
					t.Fatal(err)
				}
				g.Step += 19
				out, err := e.Encode(nil, g, gradient(g), 95)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := Validate(out, Limits{}); err != nil {
					t.Fatal(err)
				}
				picture, err := std.Decode(bytes.NewReader(out))
				if err != nil {
					t.Fatal(err)
				}
				if picture.Bounds() != image.Rect(0, 0, 77, 51) {
					t.Fatalf("%v", picture.Bounds())
				}
				for _, at := range [][2]int{{10, 10}, {70, 10}, {10, 45}, {76, 50}} {
					r, gr, b, _ := picture.At(at[0], at[1]).RGBA()
					want := [3]int{at[0] * 255 / 77, at[1] * 255 / 51, 128}
					if enc == frame.Mono8 {
						want = [3]int{want[0], want[0], want[0]}
					}
					for i, v := range []uint32{r, gr, b} {
						if d := int(v>>8) - want[i]; d < -12 || d > 12 {
							t.Errorf("at %v: %d %d %d, want %v", at, r>>8, gr>>8, b>>8, want)
							break
						}
					}
				}
			})
		}
	}
}

func TestEncodeIntoGivenMemory(t *testing.T) {
	for _, e := range encoders(t) {
		g, err := frame.NewGeometry(frame.RGB8, 320, 240)
		if err != nil {
			t.Fatal(err)
		}
		data, dst := gradient(g), make([]byte, 0, MaxEncoded(320, 240))
		var out []byte
		n := testing.AllocsPerRun(20, func() {
			if out, err = e.Encode(dst, g, data, 80); err != nil {
				t.Error(err)
			}
		})
		if &out[0] != &dst[:1][0] {
			t.Errorf("%s: not in the memory given", e.Backend())
		}
		if e.Backend() == Turbo && n > 0 {
			t.Errorf("%v allocations a picture", n)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, e := range encoders(t) {
		g, _ := frame.NewGeometry(frame.Mono16, 8, 8)
		if _, err := e.Encode(nil, g, make([]byte, 128), 80); !errors.Is(err, frame.ErrEncoding) {
			t.Errorf("mono16: %v", err)
		}
		g, _ = frame.NewGeometry(frame.Mono8, 8, 8)
		if _, err := e.Encode(nil, g, make([]byte, 63), 80); !errors.Is(err, frame.ErrGeometry) {
			t.Errorf("short: %v", err)
		}
		g, _ = frame.NewGeometry(frame.Mono8, frame.MaxSide, 1)
		if _, err := e.Encode(nil, g, make([]byte, frame.MaxSide), 80); !errors.Is(err, ErrUnsupported) {
			t.Errorf("wide: %v", err)
		}
	}
}
