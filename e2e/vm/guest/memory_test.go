// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
)

// red reports what is wrong with a frame of vivid's "100% Red": BT.709 in
// limited range, but for single luma planes, which have the full range.
func red(f capturetest.Frame) error {
	g, n := f.Format.Geometry, 0
	pixel := map[frame.Encoding][]int{
		frame.RGB8: {255, 0, 0}, frame.BGR8: {0, 0, 255}, frame.BGRA8: {0, 0, 255, -1},
		frame.YUV422YUY2: {63, 102, 63, 240}, frame.YUV422UYVY: {102, 63, 240, 63},
		frame.Mono8: {54}, frame.NV12: {63},
	}[g.Encoding]
	if pixel == nil {
		return fmt.Errorf("no expectation for %s", g.Encoding)
	}
	planes := [][]int{pixel, {102, 240}}
	for p := range g.PlaneCount() {
		l := g.Plane(p)
		want := planes[p]
		for y := range l.Rows {
			row := f.Data[l.Offset+y*l.Step : l.Offset+y*l.Step+l.RowBytes]
			for x, b := range row {
				w := want[x%len(want)]
				if d := int(b) - w; w >= 0 && (d < -3 || d > 3) {
					return fmt.Errorf("%v: plane %d, row %d, byte %d is %d, want about %d", g, p, y, x, b, w)
				}
				n++
			}
		}
	}
	if n < g.Width*g.Height {
		return fmt.Errorf("%v: only %d samples looked at", g, n)
	}
	return nil
}

func checkRed(t *testing.T, path string) func(capturetest.Frame) bool {
	t.Helper()
	setControl(t, path, ctrlTestPattern, vividRed)
	setControl(t, path, ctrlTextMode, vividTextNone)
	bad := false
	return func(f capturetest.Frame) bool {
		if err := red(f); err != nil && !bad {
			bad = true
			t.Error(err)
		}
		return true
	}
}

// A stream labelled X contains X, wherever its memory is.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		name, camera, options string
		copies                bool
		planes                int
	}{
		{"userptr yuyv", camMain, "640x360,encoding=yuyv,memory=userptr", false, 1},
		{"userptr uyvy", camMain, "320x180,encoding=uyvy,memory=userptr", false, 1},
		{"userptr rgb8", camMain, "320x180,encoding=rgb8,memory=userptr", false, 1},
		{"userptr bgr8", camMain, "320x180,encoding=bgr8,memory=userptr", false, 1},
		{"userptr bgra8", camMain, "320x180,encoding=bgra8,memory=userptr", false, 1},
		{"userptr mono8", camMain, "1366x768,encoding=mono8,memory=userptr", false, 1},
		{"userptr nv12", camMain, "320x180,encoding=nv12,memory=userptr", false, 2},
		{"userptr small", camMain, "16x16,encoding=rgb8,memory=userptr", false, 1},
		{"userptr by itself", camMain, "320x180,encoding=yuyv", false, 1},
		{"mmap yuyv", camMain, "640x360,encoding=yuyv,memory=mmap", true, 1},
		{"mmap rgb8", camMain, "320x180,encoding=rgb8,memory=mmap", true, 1},
		{"mmap nv12", camMain, "320x180,encoding=nv12,memory=mmap", true, 2},
		{"multi-planar userptr yuyv", camPlanes, "320x180,encoding=yuyv,memory=userptr", false, 1},
		{"multi-planar userptr nv12", camPlanes, "320x180,encoding=nv12,memory=userptr", false, 2},
		{"multi-planar mmap nv12", camPlanes, "320x180,encoding=nv12,memory=mmap", true, 2},
		{"userptr refused", camContig, "320x180,encoding=yuyv", true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			const frames = 8
			got := take(t, "cam=v4l2:"+c.camera+","+c.options, frames, checkRed(t, c.camera))
			got.need(t, frames)
			g := got.format.Geometry
			for i, s := range got.stamps {
				want := 0
				if c.copies {
					want = g.Size()
				}
				if s.CopiedBytes != want {
					t.Fatalf("frame %d: %d bytes copied, want %d", i, s.CopiedBytes, want)
				}
			}
			if n := g.PlaneCount(); n != c.planes {
				t.Errorf("%v has %d planes, want %d", g, n, c.planes)
			}
		})
	}
}

func TestUserptrDemandedWhereItIsRefused(t *testing.T) {
	got := take(t, "cam=v4l2:"+camContig+",320x180,memory=userptr", 1, nil)
	if !errors.Is(got.err, capture.ErrUnsupported) {
		t.Errorf("%v, want %v", got.err, capture.ErrUnsupported)
	}
}
