// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

// pixel is one pixel as the definitions give it, in floating point, 0 to 255.
type pixel struct{ r, g, b, a float64 }

// wordAt is a sample of 16 bits.
func wordAt(g frame.Geometry, data []byte, at int) float64 {
	if g.BigEndian {
		return float64(int(data[at])<<8 | int(data[at+1]))
	}
	return float64(int(data[at+1])<<8 | int(data[at]))
}

// at looks one pixel up, slowly and independently of what is tested.
func at(g frame.Geometry, data []byte, c frame.Color, x, y int) pixel {
	row := y * g.Step
	grey := func(v float64) pixel { return pixel{v, v, v, 255} }
	high8 := func(v float64) float64 { return math.Floor(v / math.Exp2(float64(g.SampleBits()-8))) }
	f := func(i int) float64 { return float64(data[i]) }
	switch g.Encoding {
	case frame.RGB8:
		return pixel{f(row + 3*x), f(row + 3*x + 1), f(row + 3*x + 2), 255}
	case frame.BGR8:
		return pixel{f(row + 3*x + 2), f(row + 3*x + 1), f(row + 3*x), 255}
	case frame.RGBA8:
		return pixel{f(row + 4*x), f(row + 4*x + 1), f(row + 4*x + 2), f(row + 4*x + 3)}
	case frame.BGRA8:
		return pixel{f(row + 4*x + 2), f(row + 4*x + 1), f(row + 4*x), f(row + 4*x + 3)}
	case frame.Mono8:
		return grey(f(row + x))
	case frame.YUV422YUY2:
		return yuv(c, f(row+2*x), f(row+x/2*4+1), f(row+x/2*4+3))
	case frame.YUV422UYVY:
		return yuv(c, f(row+2*x+1), f(row+x/2*4), f(row+x/2*4+2))
	case frame.NV12:
		chroma := g.Step*g.Height + y/2*g.Step + x/2*2
		return yuv(c, f(row+x), f(chroma), f(chroma+1))
	case frame.Mono16, frame.Depth16:
		return grey(high8(wordAt(g, data, row+2*x)))
	case frame.Y8I:
		return grey(f(row + 2*x))
	case frame.Y12I:
		return grey(math.Floor((f(row+3*x) + 256*float64(data[row+3*x+1]&15)) / 16))
	}
	r, gr, b := bayerAt(g, data, x, y)
	if g.Encoding.Wide() {
		return pixel{high8(r), high8(gr), high8(b), 255}
	}
	return pixel{r, gr, b, 255}
}

// yuv is the definition: the inverse of Y' = Kr R + Kg G + Kb B.
func yuv(c frame.Color, y, u, v float64) pixel {
	kr, kb := 0.299, 0.114
	switch c.Matrix {
	case frame.BT709:
		kr, kb = 0.2126, 0.0722
	case frame.BT2020:
		kr, kb = 0.2627, 0.0593
	}
	u, v = u-128, v-128
	if c.Range == frame.Full {
		y, u, v = y/255, u/255, v/255
	} else {
		y, u, v = (y-16)/219, u/224, v/224
	}
	r, b := y+2*(1-kr)*v, y+2*(1-kb)*u
	g := (y - kr*r - kb*b) / (1 - kr - kb)
	to8 := func(v float64) float64 { return min(max(255*v, 0), 255) }
	return pixel{to8(r), to8(g), to8(b), 255}
}

// bayerAt averages, for each colour, the nearest sites of that colour in the
// three by three around, mirrored at the edges.
func bayerAt(g frame.Geometry, data []byte, x, y int) (r, gr, b float64) {
	name := string(g.Encoding)[len("bayer_"):]
	sample := func(x, y int) float64 {
		if g.Encoding.Wide() {
			return wordAt(g, data, y*g.Step+2*x)
		}
		return float64(data[y*g.Step+x])
	}
	inside := func(i, n int) int {
		switch {
		case n == 1:
			return 0
		case i < 0:
			return -i
		case i >= n:
			return 2*n - 2 - i
		}
		return i
	}
	colour := func(x, y int) byte { return name[y&1*2+x&1] }
	mean := func(want byte) float64 {
		best, sum, n := 9, 0.0, 0.0
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				if colour(x+dx, y+dy) != want {
					continue
				}
				switch d := dx*dx + dy*dy; {
				case d < best:
					best, sum, n = d, 0, 0
				case d > best:
					continue
				}
				sum += sample(inside(x+dx, g.Width), inside(y+dy, g.Height))
				n++
			}
		}
		return math.Floor(sum/n + 0.5)
	}
	return mean('r'), mean('g'), mean('b')
}

// compare holds every pixel of a result against the definition.
func compare(t *testing.T, src frame.Geometry, from []byte, dst frame.Geometry, to []byte, c frame.Color, tolerance float64) {
	t.Helper()
	for y := range src.Height {
		for x := range src.Width {
			want := at(src, from, c, x, y)
			got := at(dst, to, c, x, y)
			if dst.Encoding == frame.Mono8 {
				v := 0.299*want.r + 0.587*want.g + 0.114*want.b
				if src.Encoding.YUV() {
					v = yuv(c, lumaOf(src, from, x, y), 128, 128).r
				}
				want = pixel{v, v, v, 255}
			}
			if dst.Encoding.BytesPerPixel() == 3 {
				want.a = 255
			}
			for i, d := range [...]float64{got.r - want.r, got.g - want.g, got.b - want.b, got.a - want.a} {
				if math.Abs(d) > tolerance {
					t.Fatalf("%v into %v: pixel %d,%d channel %d: got %v, want %v", src, dst, x, y, i, got, want)
				}
			}
		}
	}
}

func lumaOf(g frame.Geometry, data []byte, x, y int) float64 {
	switch g.Encoding {
	case frame.YUV422YUY2:
		return float64(data[y*g.Step+2*x])
	case frame.YUV422UYVY:
		return float64(data[y*g.Step+2*x+1])
	}
	return float64(data[y*g.Step+x])
}

func viewable() []frame.Encoding {
	return []frame.Encoding{frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.Mono8}
}

// Every uncompressed encoding, tight and padded, of sizes that end in the
// middle of groups, into every encoding that people look at.
func TestEveryPairAgainstTheDefinition(t *testing.T) {
	for _, e := range frame.Encodings() {
		if e.Compressed() {
			continue
		}
		for _, size := range [][2]int{{1, 1}, {2, 1}, {1, 3}, {3, 2}, {4, 4}, {7, 5}, {9, 6}, {37, 11}} {
			for _, pad := range []int{0, 5} {
				src := geometry(t, e, size[0], size[1], pad)
				if e.Wide() && pad != 0 {
					src = wide(t, e, size[0], size[1], pad, true, 10)
				}
				from := noise(src, 3)
				for _, target := range viewable() {
					dst := geometry(t, target, size[0], size[1], pad*3)
					c, err := convert.New(src, dst, convert.Options{})
					if err != nil {
						t.Fatal(err)
					}
					to := blank(dst)
					// Drivers may leave the padding of the last row out.
					if err := c.Convert(to[:dst.Extent()], from[:src.Extent()]); err != nil {
						t.Fatal(err)
					}
					// Half for exact rounding, a little for fixed point.
					compare(t, src, from, dst, to, frame.Color{}.OrDefault(e), 0.52)
					if i := paddingKept(dst, to); i >= 0 {
						t.Fatalf("%v into %v: byte %d of the padding was written", src, dst, i)
					}
				}
			}
		}
	}
}

func TestMatricesAndRanges(t *testing.T) {
	for _, e := range []frame.Encoding{frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12} {
		for _, m := range []frame.Matrix{frame.BT601, frame.BT709, frame.BT2020} {
			for _, r := range []frame.Range{frame.Limited, frame.Full} {
				t.Run(fmt.Sprint(e, m, r), func(t *testing.T) {
					src := geometry(t, e, 64, 48, 0)
					from := noise(src, 11)
					color := frame.Color{Matrix: m, Range: r}
					for _, target := range viewable() {
						dst := geometry(t, target, 64, 48, 0)
						c, err := convert.New(src, dst, convert.Options{Color: color})
						if err != nil {
							t.Fatal(err)
						}
						to := blank(dst)
						if err := c.Convert(to, from); err != nil {
							t.Fatal(err)
						}
						compare(t, src, from, dst, to, color, 0.52)
					}
				})
			}
		}
	}
}
