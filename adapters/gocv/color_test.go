// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat_test

import (
	"encoding/binary"
	"errors"
	"image/color"
	"math"
	"testing"

	"gocv.io/x/gocv"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"

	cvmat "github.com/seed-3c7e7623/camd/adapters/gocv"
)

var blue = color.RGBA{B: 255}

// byConvert is the picture that package convert makes.
func byConvert(t *testing.T, g frame.Geometry, c frame.Color, data []byte) []byte {
	t.Helper()
	to := geometry(t, frame.BGR8, g.Width, g.Height, 0)
	conv, err := convert.New(g, to, convert.Options{Color: c})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, to.Size())
	if err := conv.Convert(out, data); err != nil {
		t.Fatal(err)
	}
	return out
}

// bgr is the picture that BGR makes.
func bgr(t *testing.T, g frame.Geometry, c frame.Color, data []byte) []byte {
	t.Helper()
	dst := gocv.NewMat()
	defer dst.Close()
	if err := cvmat.ToBGR(g, c, data, &dst); err != nil {
		t.Fatalf("%v: %v", g, err)
	}
	if dst.Rows() != g.Height || dst.Cols() != g.Width || dst.Type() != gocv.MatTypeCV8UC3 {
		t.Fatalf("%v: %dx%d of type %d", g, dst.Cols(), dst.Rows(), dst.Type())
	}
	return dst.ToBytes()
}

// OpenCV and package convert, each a reference of the other, within one level.
// They differ on purpose where luma is below 16, which OpenCV takes for 16 before
// it adds colour, and at the edges of a mosaic, which OpenCV copies.
func TestConvertAgreesWithOpenCV(t *testing.T) {
	const w, h = 48, 32
	for _, e := range []frame.Encoding{
		frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.Mono8, frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12,
		frame.BayerRGGB8, frame.BayerBGGR8, frame.BayerGBRG8, frame.BayerGRBG8,
	} {
		g := geometry(t, e, w, h, pad)
		data := noise(g, 11)
		if e.YUV() {
			for i := range data {
				data[i] = 16 + data[i]%220
			}
		}
		if e != frame.BGR8 && !cvmat.Direct(g, frame.Color{}) {
			t.Errorf("%s is not converted by OpenCV", e)
		}
		most := byte(0)
		if e.YUV() {
			most = 1
		}
		got, want := bgr(t, g, frame.Color{}, data), byConvert(t, g, frame.Color{}, data)
		for i := range want {
			x, y := i/3%w, i/3/w
			if e.Bayer() && (x == 0 || y == 0 || x == w-1 || y == h-1) {
				continue
			}
			if !near(got[i], want[i], int(most)) {
				t.Fatalf("%s at %d,%d channel %d: OpenCV %d, convert %d", e, x, y, i%3, got[i], want[i])
			}
		}
	}
}

// A patch of one colour, as each encoding says it, is that colour.
func TestBGR(t *testing.T) {
	yuv := func(y, u, v byte, order ...int) []byte {
		s := []byte{y, u, v}
		var b []byte
		for _, i := range order {
			b = append(b, s[i])
		}
		return b
	}
	// The colour B 40, G 90, R 200 in each matrix and range, by its formula.
	ycc := func(kr, kb float64, limited bool) (y, u, v byte) {
		b, g, r := 40.0/255, 90.0/255, 200.0/255
		l := kr*r + (1-kr-kb)*g + kb*b
		cb, cr := (b-l)/(2-2*kb), (r-l)/(2-2*kr)
		if limited {
			return byte(math.Round(16 + 219*l)), byte(math.Round(128 + 224*cb)), byte(math.Round(128 + 224*cr))
		}
		return byte(math.Round(255 * l)), byte(math.Round(128 + 255*cb)), byte(math.Round(128 + 255*cr))
	}
	for _, size := range [][2]int{{16, 8}, {15, 7}} {
		for _, m := range []struct {
			color  frame.Color
			kr, kb float64
		}{
			{frame.Color{}, 0.299, 0.114},
			{frame.Color{Matrix: frame.BT601, Range: frame.Full}, 0.299, 0.114},
			{frame.Color{Matrix: frame.BT709, Range: frame.Limited}, 0.2126, 0.0722},
			{frame.Color{Matrix: frame.BT2020, Range: frame.Full}, 0.2627, 0.0593},
		} {
			y, u, v := ycc(m.kr, m.kb, m.color.Range != frame.Full)
			for e, group := range map[frame.Encoding][]byte{
				frame.YUV422YUY2: yuv(y, u, v, 0, 1, 0, 2),
				frame.YUV422UYVY: yuv(y, u, v, 1, 0, 2, 0),
				frame.NV12:       yuv(y, u, v, 1, 2),
				frame.NV21:       yuv(y, u, v, 2, 1),
			} {
				if e == frame.NV21 && m.color != (frame.Color{}) {
					continue // of topics, which say nothing of colours
				}
				g := geometry(t, e, size[0], size[1], 6)
				data := make([]byte, g.Size())
				for i := range data {
					switch {
					case g.PlaneCount() == 2 && i < g.Plane(1).Offset:
						data[i] = y
					case g.PlaneCount() == 2:
						data[i] = group[(i-g.Plane(1).Offset)%g.Step%2]
					default:
						data[i] = group[i%g.Step%4]
					}
				}
				patch(t, g, m.color, data, [3]byte{40, 90, 200}, 3)
			}
		}
		for _, tc := range []struct {
			encoding frame.Encoding
			samples  []int
			want     [3]byte
		}{
			{frame.RGB16, []int{200, 90, 40}, [3]byte{40, 90, 200}},
			{frame.BGR16, []int{40, 90, 200}, [3]byte{40, 90, 200}},
			{frame.RGBA16, []int{200, 90, 40, 7}, [3]byte{40, 90, 200}},
			{frame.BGRA16, []int{40, 90, 200, 7}, [3]byte{40, 90, 200}},
			{frame.Mono16, []int{90}, [3]byte{90, 90, 90}},
			{frame.BayerRGGB16, []int{90}, [3]byte{90, 90, 90}},
		} {
			for _, big := range []bool{false, true} {
				g := geometry(t, tc.encoding, size[0], size[1], 6)
				g.BigEndian = big
				var order binary.ByteOrder = binary.LittleEndian
				if big {
					order = binary.BigEndian
				}
				data := make([]byte, g.Size())
				for y := range g.Height {
					for x := range g.Width * len(tc.samples) {
						order.PutUint16(data[y*g.Step+2*x:], uint16(tc.samples[x%len(tc.samples)]<<8|0x7f))
					}
				}
				patch(t, g, frame.Color{}, data, tc.want, 0)
			}
		}
		g := geometry(t, frame.Y8I, size[0], size[1], 0)
		data := make([]byte, g.Size())
		for i := 0; i < len(data); i += 2 {
			data[i], data[i+1] = 60, 200
		}
		patch(t, g, frame.Color{}, data, [3]byte{60, 60, 60}, 0)
		g = geometry(t, frame.Y12I, size[0], size[1], 0)
		data = make([]byte, g.Size())
		for i := 0; i < len(data); i += 3 {
			data[i], data[i+1], data[i+2] = 0xf0, 0xf3, 0xff // left 0x3f0
		}
		patch(t, g, frame.Color{}, data, [3]byte{0x3f, 0x3f, 0x3f}, 0)
	}
}

// patch checks that every pixel of the picture is want.
func patch(t *testing.T, g frame.Geometry, c frame.Color, data []byte, want [3]byte, most int) {
	t.Helper()
	for i, v := range bgr(t, g, c, data) {
		if !near(v, want[i%3], most) {
			t.Errorf("%v, %v: pixel %d channel %d is %d, want %d", g, c, i/3, i%3, v, want[i%3])
			return
		}
	}
}

// Distances: red near, blue far, black where there is none, and the same in both
// encodings and both byte orders.
func TestColorDepth(t *testing.T) {
	metres := []float64{0, 0.1, 0.3, 1, 5, 10, 60}
	g16, g32 := geometry(t, frame.Depth16, len(metres), 1, 2), geometry(t, frame.Float32, len(metres), 1, 4)
	big := g16
	big.BigEndian = true
	d16, dBig, d32 := make([]byte, g16.Size()), make([]byte, g16.Size()), make([]byte, g32.Size())
	for i, m := range metres {
		binary.LittleEndian.PutUint16(d16[2*i:], uint16(1000*m))
		binary.BigEndian.PutUint16(dBig[2*i:], uint16(1000*m))
		binary.LittleEndian.PutUint32(d32[4*i:], math.Float32bits(float32(m)))
	}
	got := bgr(t, g16, frame.Color{}, d16)
	for name, other := range map[string][]byte{"big-endian": bgr(t, big, frame.Color{}, dBig), "32FC1": bgr(t, g32, frame.Color{}, d32)} {
		for i := range got {
			if got[i] != other[i] {
				t.Fatalf("%s: %v, 16UC1 %v", name, other, got)
			}
		}
	}
	at := func(i int) [3]byte { return [3]byte(got[3*i:]) }
	if at(0) != [3]byte{} {
		t.Errorf("no data is %v", at(0))
	}
	if at(1) != at(2) || at(5) != at(6) || at(2) == at(3) || at(3) == at(4) || at(4) == at(5) {
		t.Errorf("colours %v", got)
	}
	if n, f := at(2), at(5); n[2] < 100 || n[0] > 20 || f[0] <= f[2] {
		t.Errorf("near %v is not red, or far %v not blue", n, f)
	}
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		binary.LittleEndian.PutUint32(d32[4*i:], math.Float32bits(float32(v)))
	}
	for i, v := range bgr(t, g32, frame.Color{}, d32)[:12] {
		if v != 0 {
			t.Errorf("no distance: pixel %d is not black", i/3)
		}
	}
	grey, dst := gocv.NewMatWithSize(2, 2, gocv.MatTypeCV8UC1), gocv.NewMat()
	defer grey.Close()
	defer dst.Close()
	if err := cvmat.ColorDepth(grey, &dst, 0, 1); !errors.Is(err, cvmat.ErrDepth) {
		t.Errorf("grey: %v", err)
	}
	depth := gocv.NewMatWithSize(2, 2, gocv.MatTypeCV16UC1)
	defer depth.Close()
	for _, r := range [][2]float64{{1, 1}, {2, 1}, {-1, 1}, {math.NaN(), 1}, {0, math.NaN()}, {0, math.Inf(1)}} {
		if err := cvmat.ColorDepth(depth, &dst, r[0], r[1]); !errors.Is(err, cvmat.ErrDepth) {
			t.Errorf("from %g to %g: %v", r[0], r[1], err)
		}
	}
}
