// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
	"testing"
	"time"

	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/adapters/go4vl"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	camd "github.com/seed-3c7e7623/camd/capture/v4l2"
	"github.com/seed-3c7e7623/camd/e2e/vm/usbcam"
	"github.com/seed-3c7e7623/camd/frame"
)

const serial = "GO4VL"

// photos are different JPEGs of a size.
func photos(t *testing.T, s usbcam.Size, n int) (all [][]byte) {
	t.Helper()
	for i := range n {
		m := image.NewGray(image.Rect(0, 0, s.Width, s.Height))
		for y := range s.Height {
			for x := range s.Width {
				m.SetGray(x, y, color.Gray{Y: byte(x + y + 30*i)})
			}
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, nil); err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Bytes())
	}
	return all
}

// plug connects a camera to the machine and waits for its node.
func plug(t *testing.T, c usbcam.Camera) (p *usbcam.Plugged, path string) {
	t.Helper()
	p, err := c.Plug(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Unplug)
	deadline := time.NewTimer(hung)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, n := range camd.Nodes("/") {
			if n.Serial != c.Serial || n.Index != 0 {
				continue
			}
			if d, err := camd.Open(n.Path); err == nil {
				_ = d.Close()
				return p, n.Path
			}
		}
		select {
		case <-deadline.C:
			t.Fatalf("no camera %s among %+v", c.Serial, camd.Nodes("/"))
		case <-tick.C:
		}
	}
}

// Motion JPEG of the real uvcvideo driver: both streams, with damaged frames left
// out; then the camera is unplugged and comes back at the same node, since nothing
// of it was kept.
func TestUSB(t *testing.T) {
	size := usbcam.Size{Width: 160, Height: 120}
	good := photos(t, size, 6)
	cam := usbcam.Camera{
		Manufacturer: "camd tests", Product: "Webcam", Serial: serial, Chroma: 128, Sizes: []usbcam.Size{size},
		JPEG: func(n int, _ usbcam.Size) []byte {
			data := good[n%len(good)]
			if n%5 == 3 {
				return data[:len(data)/2]
			}
			return data
		},
	}
	plugged, path := plug(t, cam)
	s := source(t, path, go4vl.Options{Format: v4l2.PixFormat{Width: 160, Height: 120, PixelFormat: v4l2.PixelFmtMJPEG}, FPS: 30})
	const frames = 40 // of both streams
	pictures := 0
	look := func(_ int, f capturetest.Frame) {
		switch f.Stream {
		case "color/jpeg":
			data := f.Data[:f.Stamp.Bytes]
			if !slices.ContainsFunc(good, func(g []byte) bool { return bytes.Equal(g, data) }) || f.Stamp.Copies != 2 {
				t.Errorf("%d bytes that the camera did not send whole, or %d copies", len(data), f.Stamp.Copies)
			}
		case "color":
			pictures++
			if g := f.Format.Geometry; g.Width != 160 || g.Height != 120 || g.Encoding != frame.BGR8 {
				t.Errorf("decoded as %v", g)
			}
		}
	}
	got := take(t, s, frames, look)
	got.need(t, frames)
	if pictures != frames/2 || got.stats.Dropped["damaged_truncated"] < 4 {
		t.Errorf("%d pictures among %d frames, %v dropped", pictures, frames, got.stats.Dropped)
	}
	clean(t)

	got = take(t, s, 1000, func(i int, f capturetest.Frame) {
		if i == 5 {
			plugged.Unplug()
		}
	})
	if !errors.Is(got.err, capture.ErrDeviceGone) {
		t.Errorf("%v after %d frames, want %v", got.err, len(got.stamps), capture.ErrDeviceGone)
	}
	clean(t)
	if got = take(t, s, 1, nil); !errors.Is(got.err, capture.ErrDeviceNotFound) {
		t.Errorf("%v while it is away, want %v", got.err, capture.ErrDeviceNotFound)
	}
	if _, again := plug(t, cam); again != path {
		t.Errorf("it came back as %s, it was %s", again, path)
	}
	take(t, s, frames, look).need(t, frames)
}

// A device of the program's from which nothing comes any more is stopped all the
// same, and streams again.
func TestHandedOverStalled(t *testing.T) {
	const last = 5
	_, path := plug(t, usbcam.Camera{
		Manufacturer: "camd tests", Product: "Webcam", Serial: "STALL", Chroma: 128,
		Sizes: []usbcam.Size{{Width: 320, Height: 240}},
		Fault: func(n int) usbcam.Fault {
			if n == last+1 {
				return usbcam.Silence
			}
			return usbcam.Good
		},
	})
	dev, s := handed(t, path)
	take(t, s, last, nil).need(t, last)
	take(t, s, last, nil).need(t, last)
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	clean(t)
}
