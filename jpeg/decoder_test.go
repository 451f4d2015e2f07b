// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

const padding = 0xa5

// decode decodes into a frame of padding.
func decode(t testing.TB, d *Decoder, g frame.Geometry, data []byte) ([]byte, error) {
	t.Helper()
	dst := bytes.Repeat([]byte{padding}, g.Size())
	err := d.Decode(dst, g, data)
	return dst, err
}

// tight are the samples without padding, as R G B or grey; what is between rows
// must not have been written.
func tight(t testing.TB, g frame.Geometry, data []byte) []byte {
	t.Helper()
	p, n := g.Plane(0), g.Encoding.BytesPerPixel()
	out := make([]byte, 0, p.RowBytes*p.Rows)
	for y := range p.Rows {
		row := data[y*p.Step : (y+1)*p.Step]
		if bytes.Count(row[p.RowBytes:], []byte{padding}) != p.Step-p.RowBytes {
			t.Fatalf("%v: padding of row %d was written", g, y)
		}
		if g.Encoding == frame.RGB8 || g.Encoding == frame.Mono8 {
			out = append(out, row[:p.RowBytes]...)
			continue
		}
		for x := range g.Width {
			pixel := row[n*x : n*(x+1)]
			if g.Encoding == frame.RGBA8 {
				out = append(out, pixel[:3]...)
			} else {
				out = append(out, pixel[2], pixel[1], pixel[0])
			}
			if n == 4 && pixel[3] != 0xff {
				t.Fatalf("%v: alpha %d at %d,%d", g, pixel[3], x, y)
			}
		}
	}
	return out
}

// furthest is the largest difference, and the mean.
func furthest(a, b []byte) (most int, mean float64) {
	sum := 0
	for i := range min(len(a), len(b)) {
		d := int(a[i]) - int(b[i])
		d = max(d, -d)
		sum += d
		most = max(most, d)
	}
	return most, float64(sum) / float64(max(len(a), 1))
}

// libturbojpeg is the reference bit by bit; Go's decoder has another inverse DCT
// and replicates chroma, so that edges of colour differ.
func TestDecodeLikeTheReference(t *testing.T) {
	kinds := map[string][]string{
		"4:2:0":       nil,
		"4:2:2":       {"-sample", "2x1"},
		"4:4:4":       {"-sample", "1x1", "-optimize"},
		"4:4:0":       {"-sample", "1x2"},
		"restarts":    {"-restart", "3B"},
		"progressive": {"-progressive"},
		"grey":        {"-grayscale"},
	}
	for name, args := range kinds {
		for _, size := range [][2]int{{77, 51}, {1, 1}, {16, 16}} {
			data := tool(t, ppm(size[0], size[1]), "cjpeg", args...)
			grey := djpeg(t, data, geometry(t, frame.Mono8, size[0], size[1], 0))
			colour := repeat(grey, 3)
			if name != "grey" {
				colour = djpeg(t, data, geometry(t, frame.RGB8, size[0], size[1], 0))
			}
			for _, b := range []Backend{Turbo, Go} {
				d := decoder(t, b)
				for _, e := range Encodings() {
					g := geometry(t, e, size[0], size[1], 5)
					dst, err := decode(t, d, g, data)
					if err != nil {
						t.Fatalf("%s %s %v: %v", b, name, g, err)
					}
					want := colour
					if e == frame.Mono8 {
						want = grey
					}
					got := tight(t, g, dst)
					if len(got) != len(want) {
						t.Fatalf("%s %s %v: %d samples, want %d", b, name, g, len(got), len(want))
					}
					most, mean := furthest(got, want)
					if (b == Turbo && most != 0) || (e == frame.Mono8 && most > 1) || mean > 12 {
						t.Errorf("%s %s %v: differs by up to %d, %.2f on average", b, name, g, most, mean)
					}
				}
			}
		}
	}
}

// repeat makes n samples of each.
func repeat(data []byte, n int) []byte {
	out := make([]byte, 0, n*len(data))
	for _, v := range data {
		out = append(out, bytes.Repeat([]byte{v}, n)...)
	}
	return out
}

func TestDecodeRefusals(t *testing.T) {
	good := sample(t, 100, 60)
	g := geometry(t, frame.RGB8, 100, 60, 0)
	compressed, err := frame.NewCompressed(frame.JPEG, 100, 60, 5000)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []Backend{Turbo, Go} {
		t.Run(string(b), func(t *testing.T) {
			d := decoder(t, b)
			for _, tc := range []struct {
				name string
				g    frame.Geometry
				data []byte
				want error
			}{
				{"no geometry", frame.Geometry{}, good, frame.ErrEncoding},
				{"not decodable into", geometry(t, frame.NV12, 100, 60, 0), good, frame.ErrEncoding},
				{"into JPEG", compressed, good, frame.ErrEncoding},
				{"another size", geometry(t, frame.RGB8, 100, 61, 0), good, ErrSize},
				{"nothing", g, nil, ErrNotJPEG},
				{"half", g, good[:len(good)/2], ErrTruncated},
				{"EOI in the middle", g, join(good[:len(good)/2], []byte{0xff, markerEOI}), ErrTruncated},
			} {
				if _, err := decode(t, d, tc.g, tc.data); !errors.Is(err, tc.want) {
					t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
				}
			}
			if err := d.Decode(make([]byte, g.Size()-1), g, good); !errors.Is(err, frame.ErrGeometry) {
				t.Errorf("short memory: got %v", err)
			}
			// What follows is none the worse for it.
			if _, err := decode(t, d, g, good); err != nil {
				t.Errorf("a good frame after bad ones: %v", err)
			}
		})
	}
}

// Frames without Huffman tables decode like those with the standard ones, and
// bytes before EOI, which some cameras send, do no harm.
func TestWhatCamerasSend(t *testing.T) {
	good := sample(t, 100, 60)
	g := geometry(t, frame.BGR8, 100, 60, 0)
	for _, b := range []Backend{Turbo, Go} {
		t.Run(string(b), func(t *testing.T) {
			d := decoder(t, b)
			want, err := decode(t, d, g, good)
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string][]byte{
				"no Huffman tables": cut(t, good, markerDHT),
				"zeros behind":      join(good, make([]byte, 4096)),
				"bytes before EOI":  join(good[:len(good)-2], []byte{1, 2, 3}, good[len(good)-2:]),
			} {
				if got, err := decode(t, d, g, data); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: differs, %v", name, err)
				}
			}
			// So many that something must have been lost.
			many := join(good[:len(good)-2], bytes.Repeat([]byte{1}, 40), good[len(good)-2:])
			if _, err := decode(t, d, g, many); b == Turbo && !errors.Is(err, ErrCorrupt) {
				t.Errorf("many bytes before EOI: %v", err)
			}
		})
	}
}

func TestBackends(t *testing.T) {
	d, err := NewDecoder(Auto)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if turbo := d.Backend() == Turbo; turbo != (d.Problem() == nil) || d.Library() == "" || d.Backend() == Auto {
		t.Errorf("backend %q, library %q, problem %v", d.Backend(), d.Library(), d.Problem())
	}
	if !dl.Available && !errors.Is(d.Problem(), dl.ErrBuiltWithoutDL) {
		t.Errorf("problem %v", d.Problem())
	}
	if _, err := NewDecoder("libjpeg"); !errors.Is(err, ErrBackend) {
		t.Errorf("unknown backend: %v", err)
	}
}

func TestTurboDoesNotAllocate(t *testing.T) {
	d := decoder(t, Turbo)
	good := sample(t, 100, 60)
	g := geometry(t, frame.RGB8, 100, 60, 0)
	dst := make([]byte, g.Size())
	if n := testing.AllocsPerRun(20, func() {
		if err := d.Decode(dst, g, good); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
}

// Decoders do not disturb each other.
func TestDecodersSideBySide(t *testing.T) {
	good := sample(t, 100, 60)
	g := geometry(t, frame.RGB8, 100, 60, 0)
	var results [4][]byte
	var group sync.WaitGroup
	for i := range results {
		d := decoder(t, Turbo)
		group.Go(func() {
			for range 20 {
				_ = d.Decode(make([]byte, g.Size()), g, good[:len(good)/2])
				dst := make([]byte, g.Size())
				if err := d.Decode(dst, g, good); err != nil {
					t.Error(err)
				}
				results[i] = dst
			}
		})
	}
	group.Wait()
	if !slices.EqualFunc(results[1:], results[:3], bytes.Equal) {
		t.Error("results differ")
	}
}

func FuzzDecode(f *testing.F) {
	good := sample(f, 33, 17)
	f.Add(good)
	f.Add(cut(f, good, markerDHT))
	f.Add(with(good, len(good)-60, 1, 2, 3, 4, 5, 6, 7, 8))
	var list []*Decoder
	for _, b := range []Backend{Turbo, Go} {
		if d, err := NewDecoder(b); err == nil {
			f.Cleanup(d.Close)
			list = append(list, d)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := Validate(data, Limits{Pixels: 1 << 16})
		if err != nil {
			return
		}
		for _, d := range list {
			g := geometry(t, frame.BGR8, info.Width, info.Height, 3)
			dst, err := decode(t, d, g, data)
			if err != nil && Reason(err) == "" {
				t.Fatalf("%s: no reason for %v", d.Backend(), err)
			}
			tight(t, g, dst)
		}
	})
}

func BenchmarkDecode1080p(b *testing.B) {
	for _, kind := range []struct {
		name string
		args []string
	}{{"420", nil}, {"422", []string{"-sample", "2x1"}}} {
		data := tool(b, ppm(1920, 1080), "cjpeg", append([]string{"-quality", "85"}, kind.args...)...)
		for _, backend := range []Backend{Turbo, Go} {
			for _, e := range []frame.Encoding{frame.RGB8, frame.BGRA8, frame.Mono8} {
				b.Run(fmt.Sprintf("%s/%s/%s", backend, kind.name, e), func(b *testing.B) {
					d := decoder(b, backend)
					g := geometry(b, e, 1920, 1080, 0)
					dst := make([]byte, g.Size())
					b.SetBytes(int64(g.Size()))
					b.ReportAllocs()
					best := time.Hour
					for b.Loop() {
						began := time.Now()
						if err := d.Decode(dst, g, data); err != nil {
							b.Fatal(err)
						}
						best = min(best, time.Since(began))
					}
					// On a busy machine only the best frame says what the code needs.
					b.ReportMetric(float64(best.Microseconds())/1000, "best-ms/frame")
				})
			}
		}
	}
}
