// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run makes frames until the stream ends, hands each to see, and returns what

// the sink counted.

func run(t *testing.T, text string, see func(capturetest.Frame)) capturetest.Stats {
	t.Helper()
	spec, err := capture.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	sink := &capturetest.Sink{OnFrame: see}
	if err := src.Run(t.Context(), sink); !errors.Is(err, capture.ErrEndOfStream) {
		t.Fatalf("Run: %v, want the end of the stream", err)
	}
	st := sink.Stats()
	if st.Held != 0 || len(st.Misuse) != 0 {
		t.Errorf("held %d slots at the end, misuse %v", st.Held, st.Misuse)
	}
	return st
}

func TestEveryFrameProvesItself(t *testing.T) {
	sizes := []string{"1803x35", "911x64", "640x48", "320x240", "64x48", "101x77", "241x9", "8x1"}
	for _, enc := range encodings() {
		for _, size := range sizes {
			for _, style := range []string{"bars", "rows"} {
				t.Run(fmt.Sprintf("%s %s %s", enc, size, style), func(t *testing.T) {
					want := uint64(0)
					run(t, fmt.Sprintf("t=pattern,%s@0,encoding=%s,style=%s,count=11,camera=9", size, enc, style), func(f capturetest.Frame) {
						want++
						g := f.Format.Geometry
						if err := VerifyNumber(g, f.Data, want); err != nil {
							t.Fatalf("frame %d: %v", want, err)
						}
						info, err := Decode(g, f.Data)
						if err != nil || info.Number != want || !info.HasNumber {
							t.Fatalf("frame %d: Decode says %+v, %v", want, info, err)
						}
						coded := style == "bars" && cellSize(g.Width, g.Height) > 0
						if info.HasTop != coded || info.HasBottom != coded {
							t.Fatalf("barcodes top %v bottom %v, want %v", info.HasTop, info.HasBottom, coded)
						}
						code := Code{1, 9, uint32(want), uint64(f.Stamp.CaptureNanos/1000) & (1<<44 - 1)}
						if coded && (info.Top != code || info.Bottom != code) {
							t.Fatalf("barcodes %v and %v, want %v", info.Top, info.Bottom, code)
						}
						if f.Stamp.Flags != frame.Pattern || f.Stamp.CopiedBytes != 0 || f.Stamp.DriverSequence != want {
							t.Fatalf("stamp %+v", f.Stamp)
						}
					})
					if want != 11 {
						t.Fatalf("%d frames, want 11", want)
					}
				})
			}
		}
	}
}

// A frame drawn into a slot that was used before must be the frame drawn into

// a new slot, byte for byte.

func TestDirtyRectanglesLeaveNoTrace(t *testing.T) {
	for _, enc := range encodings() {
		for _, size := range [][2]int{{640, 480}, {101, 77}, {1281, 101}} {
			t.Run(fmt.Sprintf("%s %v", enc, size), func(t *testing.T) {
				g, err := frame.NewGeometry(enc, size[0], size[1])
				if err != nil {
					t.Fatal(err)
				}
				used, data := newPicture(g, styleBars, 7), make([]byte, g.Size())
				for n := uint64(1); n < 2000; n += 333 {
					c := Code{Version: codeVersion, Counter: uint32(n), CaptureMicros: n * 977}
					used.draw(3, data, n, c)
					fresh := make([]byte, g.Size())
					newPicture(g, styleBars, 7).draw(0, fresh, n, c)
					if !slices.Equal(data, fresh) {
						t.Fatalf("frame %d differs", n)
					}
				}
			})
		}
	}
}

func TestFaults(t *testing.T) {
	type seen struct {
		numbers []uint64
		widths  map[int]int
		stats   capturetest.Stats
	}
	do := func(t *testing.T, text string) seen {
		s := seen{widths: map[int]int{}}
		s.stats = run(t, text, func(f capturetest.Frame) {
			if err := VerifyNumber(f.Format.Geometry, f.Data, f.Stamp.DriverSequence); err != nil {
				t.Error(err)
			}
			s.numbers = append(s.numbers, f.Stamp.DriverSequence)
			s.widths[f.Format.Geometry.Width]++
		})
		return s
	}
	const small = "t=pattern,256x16@0,count=1000,seed=4,"
	t.Run("drop", func(t *testing.T) {
		a, b, c := do(t, small+"fault.drop=10%"), do(t, small+"fault.drop=10%"), do(t, small+"fault.drop=10%,camera=1")
		n := a.stats.Dropped[capture.DropFault]
		if n < 60 || n > 150 || n+len(a.numbers) != 1000 {
			t.Errorf("%d dropped of 1000 at 10%%, %d delivered", n, len(a.numbers))
		}
		if !slices.Equal(a.numbers, b.numbers) {
			t.Error("the same seed gave other frames")
		}
		if slices.Equal(a.numbers, c.numbers) {
			t.Error("another camera lost the same frames")
		}
	})
	t.Run("duplicate", func(t *testing.T) {
		a := do(t, small+"fault.duplicate=20")
		distinct := len(slices.Compact(slices.Clone(a.numbers)))
		if twice := len(a.numbers) - distinct; distinct != 1000 || twice < 140 || twice > 270 {
			t.Errorf("%d frames, %d of them twice, want 1000 and about 200", distinct, twice)
		}
	})
	t.Run("resize", func(t *testing.T) {
		a := do(t, "t=pattern,256x16@1000,count=200,fault.resize=20ms")
		lost := a.stats.Dropped[capture.DropLate]
		if a.widths[256]+a.widths[128]+lost != 200 || a.widths[128] == 0 || a.stats.Opens < 2 {
			t.Errorf("frames by width %v, %d late, %d formats", a.widths, lost, a.stats.Opens)
		}
	})
	t.Run("stall", func(t *testing.T) {
		a := do(t, "t=pattern,64x16@1000,count=200,fault.stall=40ms/60ms")
		stalled, late := a.stats.Dropped[capture.DropFault], a.stats.Dropped[capture.DropLate]
		if stalled == 0 || stalled+late < 120 || len(a.numbers)+stalled+late != 200 {
			t.Errorf("%d stalled, %d late and %d delivered of 200, want 120 stalled", stalled, late, len(a.numbers))
		}
		for _, n := range a.numbers {
			if (n-1)%100 >= 40 {
				t.Errorf("frame %d came during a stall", n)
			}
		}
	})
	t.Run("jitter", func(t *testing.T) {
		a := do(t, "t=pattern,64x16@500,count=50,fault.jitter=1ms")
		if len(a.numbers)+a.stats.Dropped[capture.DropLate] != 50 {
			t.Errorf("%d delivered, %d late, want 50 together", len(a.numbers), a.stats.Dropped[capture.DropLate])
		}
	})
}

func TestPacingHasNoDrift(t *testing.T) {
	var first int64
	run(t, "t=pattern,64x48@1000,count=100", func(f capturetest.Frame) {
		if first == 0 {
			first = f.Stamp.CaptureNanos - int64(f.Stamp.DriverSequence-1)*1e6
		}
		if want := first + int64(f.Stamp.DriverSequence-1)*1e6; f.Stamp.CaptureNanos != want {
			t.Errorf("frame %d stamped %d ns, want %d", f.Stamp.DriverSequence, f.Stamp.CaptureNanos, want)
		}
		if f.Format.Interval != time.Millisecond {
			t.Errorf("interval %v", f.Format.Interval)
		}
	})
}

func TestNoSlot(t *testing.T) {
	src := mustNew(t, "t=pattern,64x48@0,count=5")
	var w fullWriter
	if err := src.Run(t.Context(), openFunc(func() capture.Writer { return &w })); !errors.Is(err, capture.ErrEndOfStream) {
		t.Fatal(err)
	}
	if w.dropped != 5 {
		t.Fatalf("%d frames dropped, want 5", w.dropped)
	}
}

type openFunc func() capture.Writer

func (f openFunc) Open(string, capture.Format) (capture.Writer, error) { return f(), nil }

type fullWriter struct {
	capture.Writer
	dropped int
}

func (w *fullWriter) Acquire() (*capture.Slot, error) { return nil, capture.ErrNoSlot }

func (w *fullWriter) Drop(n int, r capture.DropReason) {
	if r == capture.DropNoSlot {
		w.dropped += n
	}
}

func TestStops(t *testing.T) {
	for _, text := range []string{"t=pattern,64x48@0", "t=pattern,64x48@0.01", "t=pattern,64x48@100,fault.stall=1ms/1h"} {
		t.Run(text, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			sink := &capturetest.Sink{OnFrame: func(capturetest.Frame) { cancel() }}
			if err := mustNew(t, text).Run(ctx, sink); !errors.Is(err, context.Canceled) {
				t.Fatalf("Run: %v", err)
			}
		})
	}
}

func TestFramesDoNotAllocate(t *testing.T) {
	for _, text := range []string{"t=pattern,1280x720@0", "t=pattern,1280x720@0,encoding=nv12,fault.duplicate=10%", "t=pattern,64x48@100000"} {
		t.Run(text, func(t *testing.T) {
			src := mustNew(t, text)
			w, err := (&capturetest.Sink{}).Open("color", capture.Format{Geometry: src.sizes[0]})
			if err != nil {
				t.Fatal(err)
			}
			r := newRunner(src, openFunc(func() capture.Writer { return w }))
			if err := r.open(0); err != nil {
				t.Fatal(err)
			}
			step := func() {
				if err := r.step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for range 8 {
				step()
			}
			if n := testing.AllocsPerRun(100, step); n != 0 {
				t.Errorf("%v allocations a frame", n)
			}
		})
	}
	g, _ := frame.NewGeometry(frame.BGRA8, 1280, 720)
	data := make([]byte, g.Size())
	newPicture(g, styleBars, 0).draw(0, data, 1, Code{Version: codeVersion, Counter: 1})
	if n := testing.AllocsPerRun(100, func() {
		if err := VerifyNumber(g, data, 1); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations to verify", n)
	}
}

func mustNew(t testing.TB, text string) *Source {
	t.Helper()
	spec, err := capture.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestOptionsRefused(t *testing.T) {
	for _, text := range []string{
		"t=pattern:x", "t=pattern,encoding=bgr9", "t=pattern,encoding=mono16", "t=pattern,camera=256", "t=pattern,fault.drop=101%", "t=pattern,fault.stall=10s",
		"t=pattern,fault.stall=0s/2s", "t=pattern,style=stars", "t=pattern,count=-1", "t=pattern,60000x60000", "t=pattern,fault.drp=1",
	} {
		spec, err := capture.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(spec); !errors.Is(err, capture.ErrConfig) {
			t.Errorf("%s: %v, want %v", text, err, capture.ErrConfig)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, c := range []struct {
		name string
		w, h int
		enc  frame.Encoding
	}{{"1080p bgra8", 1920, 1080, frame.BGRA8}, {"4K yuv422_yuy2", 3840, 2160, frame.YUV422YUY2}, {"64x48 mono8", 64, 48, frame.Mono8}} {
		b.Run(c.name, func(b *testing.B) {
			src := mustNew(b, fmt.Sprintf("t=pattern,%dx%d@0,encoding=%s,count=%d", c.w, c.h, c.enc, b.N+16))
			b.ReportAllocs()
			sink := &capturetest.Sink{Slots: 12}
			b.ResetTimer()
			if err := src.Run(b.Context(), sink); !errors.Is(err, capture.ErrEndOfStream) {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N+16)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}
