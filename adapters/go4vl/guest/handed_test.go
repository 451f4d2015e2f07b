// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"context"
	"errors"
	"testing"

	"github.com/vladimirvivien/go4vl/device"
	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/adapters/go4vl"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	camd "github.com/seed-3c7e7623/camd/capture/v4l2"
)

// handed is a device that the program opens.
func handed(t *testing.T, path string) (*device.Device, *go4vl.Source) {
	t.Helper()
	dev, err := device.Open(path, device.WithBufferSize(4), device.WithPixFormat(v4l2.PixFormat{
		Width: 320, Height: 180, PixelFormat: v4l2.PixelFmtYUYV, Field: v4l2.FieldNone,
	}))
	if err != nil {
		t.Fatal(err)
	}
	s := go4vl.FromDevice(dev)
	s.Log = quiet
	return dev, s
}

// A device of the program's can be run again and again, is used by it meanwhile,
// and is the program's again afterwards.
func TestHandedOver(t *testing.T) {
	dev, s := handed(t, camMain)
	for range 3 {
		take(t, s, 5, func(i int, _ capturetest.Frame) {
			if i != 2 {
				return
			}
			// A control by go4vl while it streams.
			if err := s.Do(func(d *device.Device) error { return d.SetControlBrightness(100) }); err != nil {
				t.Error(err)
			}
		}).need(t, 5)
		if _, maps := traces(t); maps != 0 {
			t.Errorf("%d mappings are left", maps)
		}
	}
	if c, err := dev.GetControl(v4l2.CtrlBrightness); err != nil || c.Value != 100 {
		t.Errorf("brightness %d, %v; want 100", c.Value, err)
	}
	if err := dev.SetControlBrightness(128); err != nil {
		t.Error(err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	clean(t)
}

// Refused while another streams, a device can be started later.
func TestHandedOverInUse(t *testing.T) {
	dev, s := handed(t, camMain)
	defer dev.Close()
	take(t, ours(t, "cam=v4l2:"+camMain+",320x180,encoding=yuyv"), 2, func(i int, _ capturetest.Frame) {
		if i == 1 {
			if got := take(t, s, 1, nil); !errors.Is(got.err, camd.ErrBusy) {
				t.Errorf("%v, want %v", got.err, camd.ErrBusy)
			}
		}
	}).need(t, 2)
	take(t, s, 3, nil).need(t, 3)
}

// After its stream ended by itself go4vl could only send on a closed channel.
func TestHandedOverUsedUp(t *testing.T) {
	dev, s := handed(t, camMain)
	got := take(t, s, 1000, func(i int, _ capturetest.Frame) {
		if i == 3 {
			set(t, camMain, ctrlFatalError, 1)
		}
	})
	if !errors.Is(got.err, camd.ErrIO) {
		t.Fatalf("%v, want %v", got.err, camd.ErrIO)
	}
	for range 2 {
		if got := take(t, s, 1, nil); !errors.Is(got.err, go4vl.ErrUsedUp) || !errors.Is(got.err, capture.ErrUnsupported) {
			t.Errorf("%v, want %v", got.err, go4vl.ErrUsedUp)
		}
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	clean(t)
}

// The same if the program itself streamed, and ended that by its context.
func TestHandedOverAfterStream(t *testing.T) {
	dev, s := handed(t, camMain)
	ctx, cancel := context.WithCancel(t.Context())
	if err := dev.Start(ctx); err != nil {
		t.Fatal(err)
	}
	frames := dev.GetFrames()
	(<-frames).Release()
	cancel()
	for f := range frames {
		f.Release()
	}
	if got := take(t, s, 1, nil); !errors.Is(got.err, go4vl.ErrUsedUp) {
		t.Errorf("%v, want %v", got.err, go4vl.ErrUsedUp)
	}
	// What go4vl has left is the program's to clean up.
	if err := v4l2.StreamOff(dev); err != nil {
		t.Error(err)
	}
	if err := v4l2.UnmapMemoryBuffers(dev); err != nil {
		t.Error(err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	clean(t)
}

// go4vl would panic, as frames are read in one way or the other. The program has
// its device back.
func TestHandedOverWithOutput(t *testing.T) {
	dev, s := handed(t, camMain)
	_ = dev.GetOutput() //lint:ignore SA1019 programs call it still
	if got := take(t, s, 1, nil); !errors.Is(got.err, go4vl.ErrUsedUp) || !errors.Is(got.err, capture.ErrUnsupported) {
		t.Errorf("%v, want %v", got.err, go4vl.ErrUsedUp)
	}
	other := go4vl.FromDevice(dev)
	other.Log = quiet
	take(t, other, 3, nil).need(t, 3)
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	clean(t)
}

// A second run beside the first, as a supervisor begins it that gave the first up,
// does not touch the device.
func TestHandedOverTwice(t *testing.T) {
	dev, s := handed(t, camMain)
	take(t, s, 20, func(i int, _ capturetest.Frame) {
		if got := take(t, s, 1, nil); !errors.Is(got.err, camd.ErrBusy) || errors.Is(got.err, capture.ErrUnsupported) {
			t.Errorf("%v, want %v", got.err, camd.ErrBusy)
		}
	}).need(t, 20)
	take(t, s, 3, nil).need(t, 3)
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	clean(t)
}

func TestHandedOverUnplugged(t *testing.T) {
	dev, s := handed(t, camUnplug)
	got := take(t, s, 1000, func(i int, _ capturetest.Frame) {
		if i == 3 {
			set(t, camUnplug, ctrlDisconnect, 1)
		}
	})
	if !errors.Is(got.err, capture.ErrDeviceGone) || !errors.Is(got.err, capture.ErrUnsupported) {
		t.Errorf("%v, want %v for good", got.err, capture.ErrDeviceGone)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	clean(t)
}
