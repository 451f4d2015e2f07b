// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
)

// bars are the luma of vivid's picture, 75% colour bars in BT.709, limited range
// (ITU-R BT.709, and 16 + 219*Y').
var bars = []byte{180, 168, 145, 133, 63, 51, 28, 16}

// checkBars holds the middle of each bar against what it must be.
func checkBars(t *testing.T, g frame.Geometry, data []byte) {
	t.Helper()
	for i, want := range bars {
		x := g.Width*i/len(bars) + g.Width/len(bars)/2
		got := data[g.Height/2*g.Step+2*x]
		if int(got)-int(want) > 2 || int(want)-int(got) > 2 {
			t.Errorf("bar %d has luma %d, want %d", i, got, want)
		}
	}
}

// What comes by go4vl is what comes by camd's own layer: format and every pixel.
func TestSameAsOurs(t *testing.T) {
	set(t, camMain, ctrlTextMode, textNone)
	const frames = 10
	for _, c := range []struct {
		encoding frame.Encoding
		code     v4l2.FourCCType
	}{
		{frame.YUV422YUY2, v4l2.PixelFmtYUYV},
		{frame.NV12, v4l2.PixelFmtNV12},
		{frame.RGB8, v4l2.PixelFmtRGB24},
	} {
		t.Run(string(c.encoding), func(t *testing.T) {
			want := take(t, ours(t, "cam=v4l2:"+camMain+",320x180,encoding="+string(c.encoding)), frames, nil)
			want.need(t, frames)
			got := take(t, source(t, camMain, small(c.code)), frames, nil)
			got.need(t, frames)
			want.format.Held, want.format.MinSlotBytes = 1, 0 // of writing in place
			if got.format != want.format {
				t.Errorf("format\n%+v, want that of camd's own layer\n%+v", got.format, want.format)
			}
			if !bytes.Equal(got.last, want.last) {
				t.Errorf("pixels differ from those of camd's own layer")
			}
			if c.encoding == frame.YUV422YUY2 {
				checkBars(t, got.format.Geometry, got.last)
			}
			for i, s := range got.stamps[1:] {
				before := got.stamps[i]
				// vivid repeats a number, or steps back by one, when it is late.
				if s.DriverSequence+1 < before.DriverSequence || s.CaptureNanos < before.CaptureNanos || s.CaptureNanos == 0 {
					t.Errorf("frame %d: %+v after %+v", i+1, s, before)
				}
			}
			clean(t)
		})
	}
}

// cost is copies and allocations of a source, per frame after its first ones.
func cost(t *testing.T, s capture.Source) (copies, allocations float64) {
	t.Helper()
	const warm, frames = 20, 120
	var before, after runtime.MemStats
	got := take(t, s, warm+frames, func(i int, _ capturetest.Frame) {
		switch i {
		case warm:
			runtime.ReadMemStats(&before)
		case warm + frames:
			runtime.ReadMemStats(&after)
		}
	})
	got.need(t, warm+frames)
	bytes := 0
	for _, st := range got.stamps[warm:] {
		bytes += st.CopiedBytes
	}
	t.Logf("%s: %v dropped", s.Describe(), got.stats.Dropped)
	return float64(bytes) / float64(frames*got.format.Geometry.Size()), float64(after.Mallocs-before.Mallocs) / frames
}

func TestCost(t *testing.T) {
	copies, allocations := cost(t, source(t, camMain, small(v4l2.PixelFmtYUYV)))
	t.Logf("by go4vl: %g copies, %.2f allocations a frame", copies, allocations)
	// Its own are about 3; more come when the garbage collector empties its pool, and
	// with the race detector, which has the pool lose some on purpose.
	if copies != 2 || allocations > 10 {
		t.Errorf("by go4vl: %g copies and %.2f allocations a frame", copies, allocations)
	}
	copies, allocations = cost(t, ours(t, "cam=v4l2:"+camMain+",320x180,encoding=yuyv"))
	t.Logf("by camd's own layer: %g copies, %.2f allocations a frame", copies, allocations)
	// Of those of the test there may be some.
	if copies != 0 || allocations >= 0.5 {
		t.Errorf("by camd's own layer: %g copies and %.2f allocations a frame", copies, allocations)
	}
}
