// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/capture/v4l2"
	"github.com/seed-3c7e7623/camd/e2e/vm/usbcam"
	"github.com/seed-3c7e7623/camd/frame"
)

var vga = usbcam.Size{Width: 640, Height: 480}

func usbCamera(serial string) usbcam.Camera {
	return usbcam.Camera{
		Manufacturer: "camd tests", Product: "Webcam", Serial: serial, Chroma: 128,
		Sizes: []usbcam.Size{{Width: 320, Height: 240}, vga},
	}
}

// byID is the name that udev would give the camera; there is no udev here.
func byID(serial string) string {
	return "/dev/v4l/by-id/usb-camd_tests_Webcam_" + serial + "-video-index0"
}

// plug connects a camera and returns its picture node.
func plug(t *testing.T, c usbcam.Camera, port int) (*usbcam.Plugged, v4l2.Node) {
	t.Helper()
	p, err := c.Plug(port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Unplug)
	var found v4l2.Node
	eventually(t, "the kernel finds camera "+c.Serial, func() bool {
		for _, n := range v4l2.Nodes("/") {
			if n.Serial == c.Serial && n.Index == 0 {
				found = n
				d, err := v4l2.Open(n.Path)
				if err != nil {
					return false
				}
				return d.Close() == nil
			}
		}
		return false
	})
	return p, found
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(hung)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %v: %s; nodes are %+v, the kernel says\n%s", hung, what, v4l2.Nodes("/"), kernelLog())
		case <-tick.C:
		}
	}
}

// kernelLog is the end of what the kernel said.
func kernelLog() string {
	const readAll, most = 3, 1000
	b := make([]byte, 1<<18)
	n, err := unix.Klogctl(readAll, b)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, n-most):n])
}

// whole reports a frame that is not one picture of a camera with that chroma.
func whole(f capturetest.Frame, chroma byte) error {
	number := f.Data[0]
	for i := 0; i+1 < len(f.Data); i += 2 {
		if f.Data[i] != number || f.Data[i+1] != chroma {
			return fmt.Errorf("byte %d of frame %d: %d %d, want %d %d", i, f.Stamp.DriverSequence, f.Data[i], f.Data[i+1], number, chroma)
		}
	}
	return nil
}

func checkWhole(t *testing.T, chroma byte) func(capturetest.Frame) bool {
	return func(f capturetest.Frame) bool {
		if err := whole(f, chroma); err != nil {
			t.Error(err)
			return false
		}
		return true
	}
}

func TestUSBCamera(t *testing.T) {
	for _, c := range []struct {
		name, options string
		copies        bool
	}{
		{"userptr", "memory=userptr", false},
		{"mmap", "memory=mmap", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			plug(t, usbCamera("ONE"), 0)
			const frames = 20
			got := take(t, "cam=v4l2:"+byID("ONE")+",640x480@30,strict=true,"+c.options, frames, checkWhole(t, 128))
			got.need(t, frames)
			if got.format.Clock != frame.ClockMonotonic || got.format.Geometry.Encoding != frame.YUV422YUY2 {
				t.Errorf("%+v, want yuv422_yuy2 with monotonic stamps", got.format)
			}
			for i, s := range got.stamps {
				if (s.CopiedBytes != 0) != c.copies || s.Clock != frame.ClockUnknown {
					t.Errorf("frame %d: %d bytes copied, clock %v", i, s.CopiedBytes, s.Clock)
				}
			}
		})
	}
}

func TestUSBMetadataNode(t *testing.T) {
	_, n := plug(t, usbCamera("META"), 0)
	meta := ""
	for _, o := range v4l2.Nodes("/") {
		if o.Serial == "META" && o.Index == 1 {
			meta = o.Path
		}
	}
	if meta == "" {
		t.Fatalf("no metadata node beside %s: %+v", n.Path, v4l2.Nodes("/"))
	}
	got := take(t, "cam=v4l2:"+meta, 1, nil)
	if !errors.Is(got.err, capture.ErrConfig) || !strings.Contains(got.err.Error(), "only metadata") {
		t.Errorf("%v; want %v that says that there are no pictures", got.err, capture.ErrConfig)
	}
}

func TestUSBControls(t *testing.T) {
	plug(t, usbCamera("CTRL"), 0)
	take(t, "cam=v4l2:"+byID("CTRL")+",320x240,control.brightness=80,control.Contrast=20", 3, nil).need(t, 3)
	got := take(t, "cam=v4l2:"+byID("CTRL")+",control.gain=5", 1, nil)
	if !errors.Is(got.err, capture.ErrConfig) || !strings.Contains(got.err.Error(), "it has brightness, contrast") {
		t.Errorf("%v; want %v that lists the controls", got.err, capture.ErrConfig)
	}
}

// What the driver withholds becomes a gap, and half pictures are never published.
func TestUSBDamagedFrames(t *testing.T) {
	c := usbCamera("BAD")
	c.Fault = func(n int) usbcam.Fault {
		switch n % 10 {
		case 5:
			return usbcam.Cut
		case 8:
			return usbcam.ErrorBit
		}
		return usbcam.Good
	}
	plug(t, c, 0)
	const frames = 30
	got := take(t, "cam=v4l2:"+byID("BAD")+",320x240", frames, checkWhole(t, 128))
	got.need(t, frames)
	// Thirty good frames span at least three of each fault.
	if n := got.stats.Dropped[capture.DropDevice] + got.stats.Dropped[capture.DropDamaged]; n < 6 {
		t.Errorf("%v dropped, want at least 6", got.stats.Dropped)
	}
}

// A camera that is plugged in again is found under its new number, and another
// one that took the old number is not mistaken for it.
func TestUSBReplug(t *testing.T) {
	cam := usbCamera("MINE")
	p, before := plug(t, cam, 0)
	s := source(t, "cam=v4l2:"+before.Path+",320x240")
	n := 0
	got := run(t, s, 1000, func(f capturetest.Frame) bool {
		if n++; n == 5 {
			go p.Unplug()
		}
		return checkWhole(t, 128)(f)
	})
	if !errors.Is(got.err, capture.ErrDeviceGone) {
		t.Fatalf("%d frames, %v; want %v", len(got.stamps), got.err, capture.ErrDeviceGone)
	}
	other := usbCamera("OTHER")
	other.Chroma = 64
	_, taken := plug(t, other, 1)
	if taken.Path != before.Path {
		t.Logf("the other camera is %s, not %s", taken.Path, before.Path)
	}
	lost := run(t, s, 1, nil)
	if !errors.Is(lost.err, capture.ErrDeviceNotFound) || !strings.Contains(lost.err.Error(), "serial MINE") || !strings.Contains(lost.err.Error(), "serial OTHER") {
		t.Fatalf("%v; want %v that names both cameras", lost.err, capture.ErrDeviceNotFound)
	}
	_, after := plug(t, cam, 2)
	if after.Path == before.Path {
		t.Fatalf("the camera came back as %s: the test shows nothing", after.Path)
	}
	run(t, s, 10, checkWhole(t, 128)).need(t, 10)
}

// A camera that goes silent is stopped in time all the same.
func TestUSBStopWhileStalled(t *testing.T) {
	c := usbCamera("MUTE")
	c.Fault = func(n int) usbcam.Fault {
		if n > 5 {
			return usbcam.Silence
		}
		return usbcam.Good
	}
	plug(t, c, 0)
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	stalled := false
	sink := &capturetest.Sink{Slots: 10, Alloc: func(bytes int) []byte { return sealed(t, bytes) }}
	super := &capture.Supervisor{
		Name: "cam", Source: source(t, "cam=v4l2:"+byID("MUTE")+",320x240"), Sink: sink,
		StallTimeout: 200 * time.Millisecond,
		OnChange: func(h capture.Health) {
			if h.State == capture.StateStalled {
				stalled = true
				cancel()
			}
		},
	}
	// A source that did not stop within 900 ms is reported as abandoned.
	if err := super.Run(ctx); err != nil || !stalled {
		t.Fatalf("stalled %v, %v", stalled, err)
	}
	if st := sink.Stats(); st.Held != 0 || st.Frames == 0 || len(st.Misuse) != 0 {
		t.Errorf("%+v", st)
	}
}
