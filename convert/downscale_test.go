// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

// sample finds a sample by what it stands for: channel c at (x, y), where chroma
// of 4:2:2 has half as many columns and that of 4:2:0 also half as many rows.
func sample(g frame.Geometry, data []byte, c, x, y int) (value byte, ok bool) {
	width, height := g.Width, g.Height
	at := 0
	switch g.Encoding {
	case frame.YUV422YUY2, frame.YUV422UYVY:
		luma := 0
		if g.Encoding == frame.YUV422UYVY {
			luma = 1
		}
		at = y*g.Step + 2*x + luma
		if c > 0 {
			width = (width + 1) / 2
			at = y*g.Step + 4*x + 2*(c-1) + 1 - luma
		}
	case frame.NV12:
		at = y*g.Step + x
		if c > 0 {
			width, height = (width+1)/2, (height+1)/2
			at = g.Step*g.Height + y*g.Step + 2*x + c - 1
		}
	default:
		at = y*g.Step + x*g.Encoding.BytesPerPixel() + c
	}
	if x >= width || y >= height {
		return 0, false
	}
	return data[at], true
}

func channels(e frame.Encoding) int {
	if e.YUV() {
		return 3
	}
	return e.BytesPerPixel()
}

// mean is the definition: of the samples of the square that there are.
func mean(g frame.Geometry, data []byte, factor, c, x, y int) byte {
	sum, n := 0, 0
	for j := range factor {
		for i := range factor {
			if v, ok := sample(g, data, c, x*factor+i, y*factor+j); ok {
				sum, n = sum+int(v), n+1
			}
		}
	}
	return byte((sum + n/2) / n)
}

func TestDownscaleIsTheMean(t *testing.T) {
	for _, e := range []frame.Encoding{
		frame.Mono8, frame.RGB8, frame.BGR8, frame.RGBA8, frame.BGRA8, frame.YUV422YUY2, frame.YUV422UYVY, frame.NV12,
	} {
		for _, size := range []struct{ width, height, pad int }{{64, 32, 0}, {23, 41, 6}, {8, 8, 0}, {30, 9, 2}, {1366, 16, 0}} {
			for _, factor := range convert.Factors() {
				t.Run(fmt.Sprintf("%s %dx%d by %d", e, size.width, size.height, factor), func(t *testing.T) {
					g := geometry(t, e, size.width, size.height, size.pad)
					d, err := convert.Downscale(g, factor)
					if err != nil {
						t.Fatal(err)
					}
					small := d.Geometry()
					if small.Width != size.width/factor || small.Height != size.height/factor || small.Encoding != e {
						t.Fatalf("%v of %v", small, g)
					}
					from, to := noise(g, 3)[:g.Extent()], blank(small)
					if err := d.Scale(to, from); err != nil {
						t.Fatal(err)
					}
					compared := 0
					for y := range small.Height {
						for x := range small.Width {
							for c := range channels(e) {
								got, ok := sample(small, to, c, x, y)
								if !ok {
									continue
								}
								if want := mean(g, from, factor, c, x, y); got != want {
									t.Fatalf("channel %d at %d,%d: %d, want %d", c, x, y, got, want)
								}
								compared++
							}
						}
					}
					if compared < small.Width*small.Height {
						t.Errorf("%d samples compared of %v", compared, small)
					}
				})
			}
		}
	}
}

// The spare luma sample of an odd width is not left as it was.
func TestDownscaleFillsThePair(t *testing.T) {
	for e, want := range map[frame.Encoding]string{frame.YUV422YUY2: "auav", frame.YUV422UYVY: "uava"} {
		g := geometry(t, e, 2, 2, 0)
		d, err := convert.Downscale(g, 2)
		if err != nil {
			t.Fatal(err)
		}
		to := blank(d.Geometry())
		if err := d.Scale(to, bytes.Repeat([]byte(want), 2)); err != nil || string(to) != want {
			t.Errorf("%s: %q, want %q (%v)", e, to, want, err)
		}
	}
}

func TestDownscaleRefuses(t *testing.T) {
	jpeg, err := frame.NewCompressed(frame.JPEG, 64, 64, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		g      frame.Geometry
		factor int
		want   error
	}{
		{"factor of 3", geometry(t, frame.RGB8, 64, 64, 0), 3, convert.ErrUnsupported},
		{"factor of 1", geometry(t, frame.RGB8, 64, 64, 0), 1, convert.ErrUnsupported},
		{"bayer", geometry(t, frame.BayerRGGB8, 64, 64, 0), 2, convert.ErrUnsupported},
		{"depth", geometry(t, frame.Depth16, 64, 64, 0), 2, convert.ErrUnsupported},
		{"compressed", jpeg, 2, convert.ErrUnsupported},
		{"too narrow", geometry(t, frame.RGB8, 7, 64, 0), 8, convert.ErrSize},
		{"too low", geometry(t, frame.RGB8, 64, 3, 0), 4, convert.ErrSize},
		{"no geometry", frame.Geometry{}, 2, frame.ErrEncoding},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d, err := convert.Downscale(tc.g, tc.factor); d != nil || !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
	d, err := convert.Downscale(geometry(t, frame.NV12, 64, 64, 0), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Scale(make([]byte, 32*32*3/2), make([]byte, 64*64*3/2-1)); !errors.Is(err, convert.ErrShort) {
		t.Errorf("short source: %v", err)
	}
	if err := d.Scale(make([]byte, 32*32*3/2-1), make([]byte, 64*64*3/2)); !errors.Is(err, convert.ErrShort) {
		t.Errorf("short destination: %v", err)
	}
}

func BenchmarkDownscale1080p(b *testing.B) {
	for _, e := range []frame.Encoding{frame.RGB8, frame.BGRA8, frame.YUV422YUY2, frame.NV12} {
		for _, factor := range convert.Factors() {
			b.Run(fmt.Sprintf("%s by %d", e, factor), func(b *testing.B) {
				g := geometry(b, e, 1920, 1080, 0)
				d, err := convert.Downscale(g, factor)
				if err != nil {
					b.Fatal(err)
				}
				from, to := natural(g), blank(d.Geometry())
				b.SetBytes(int64(len(from) + len(to)))
				b.ReportAllocs()
				best := time.Hour
				for b.Loop() {
					began := time.Now()
					if err := d.Scale(to, from); err != nil {
						b.Fatal(err)
					}
					best = min(best, time.Since(began))
				}
				b.ReportMetric(float64(best.Microseconds())/1000, "best-ms/frame")
			})
		}
	}
}
