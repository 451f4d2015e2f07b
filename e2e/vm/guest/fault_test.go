// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/capture/v4l2"
	"github.com/seed-3c7e7623/camd/frame"
)

// Frames that the driver dropped are counted, neither more nor less.
func TestDroppedByTheDriver(t *testing.T) {
	setControl(t, camMain, ctrlDropped, 30)
	defer setControl(t, camMain, ctrlDropped, 0)
	const frames = 60
	got := take(t, "cam=v4l2:"+camMain+",320x180", frames, nil)
	got.need(t, frames)
	dropped := got.stats.Dropped[capture.DropDevice]
	span := got.stamps[frames-1].DriverSequence - got.stamps[0].DriverSequence
	// The run may see one more gap before it notices that it shall end.
	if dropped == 0 || uint64(dropped) < span-(frames-1) {
		t.Errorf("%d counted as dropped, the driver's numbers span %d for %d frames", dropped, span, frames)
	}
	if n := got.stats.Dropped[capture.DropDamaged] + got.stats.Dropped[capture.DropNoSlot]; n != 0 {
		t.Errorf("%d dropped for other reasons: %v", n, got.stats.Dropped)
	}
}

// A buffer that the driver flags is not published, and the stream goes on.
func TestErrorFlag(t *testing.T) {
	const frames = 20
	n := 0
	got := take(t, "cam=v4l2:"+camMain+",320x180", frames, func(capturetest.Frame) bool {
		if n++; n == 5 {
			setControl(t, camMain, ctrlErrorFlag, 1)
		}
		return true
	})
	got.need(t, frames)
	if d := got.stats.Dropped[capture.DropDamaged]; d != 1 {
		t.Errorf("%d damaged, want the one: %v", d, got.stats.Dropped)
	}
}

// After a fatal error of the driver the run ends and says so; the next one works.
func TestFatalError(t *testing.T) {
	s := source(t, "cam=v4l2:"+camMain+",320x180")
	n := 0
	got := run(t, s, 1000, func(capturetest.Frame) bool {
		if n++; n == 5 {
			setControl(t, camMain, ctrlFatalError, 1)
		}
		return true
	})
	if !errors.Is(got.err, v4l2.ErrIO) || len(got.stamps) < 5 {
		t.Fatalf("%d frames, %v; want %v", len(got.stamps), got.err, v4l2.ErrIO)
	}
	run(t, s, 10, nil).need(t, 10)
}

func TestUnplugged(t *testing.T) {
	s := source(t, "cam=v4l2:"+camUnplug+",320x180")
	n := 0
	got := run(t, s, 1000, func(capturetest.Frame) bool {
		if n++; n == 5 {
			setControl(t, camUnplug, ctrlDisconnect, 1)
		}
		return true
	})
	if !errors.Is(got.err, capture.ErrDeviceGone) || len(got.stamps) < 5 {
		t.Fatalf("%d frames, %v; want %v", len(got.stamps), got.err, capture.ErrDeviceGone)
	}
	// vivid plugs itself in again when nobody has the node open.
	run(t, s, 5, nil).need(t, 5)
}

// vivid stamps the end of a frame before it is there.
func TestStamps(t *testing.T) {
	for _, c := range []struct {
		name   string
		source int32
		least  int // frames whose stamp cannot be, and is replaced by the arrival
		most   int
	}{
		// On a slow machine some ends of frames have passed when they are seen.
		{"end of frame, in the future", 0, 5, 20},
		{"start of exposure", 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			setControl(t, camMain, ctrlStampSource, c.source)
			defer setControl(t, camMain, ctrlStampSource, 0)
			const frames = 20
			got := take(t, "cam=v4l2:"+camMain+",320x180", frames, nil)
			got.need(t, frames)
			if got.format.Clock != frame.ClockMonotonic {
				t.Errorf("clock of the stream %v", got.format.Clock)
			}
			arrivals := 0
			for i, s := range got.stamps {
				switch {
				case s.CaptureNanos == 0:
					t.Errorf("frame %d has no stamp", i)
				case s.Clock == frame.ClockArrival:
					arrivals++
				case s.Clock != frame.ClockUnknown:
					t.Errorf("frame %d has a stamp of clock %v", i, s.Clock)
				}
				if i > 0 && s.CaptureNanos < got.stamps[i-1].CaptureNanos {
					t.Errorf("frame %d is stamped before the one before it", i)
				}
			}
			if arrivals < c.least || arrivals > c.most {
				t.Errorf("%d frames stamped with their arrival, want %d to %d", arrivals, c.least, c.most)
			}
		})
	}
}

// What the camera grants instead is taken and said, or refused.
func TestGrantsSomethingElse(t *testing.T) {
	s := source(t, "cam=v4l2:"+camWebcam+",650x490@60,encoding=yuyv")
	got := run(t, s, 3, nil)
	got.need(t, 3)
	g := got.format.Geometry
	if g.Width != 640 || g.Height != 480 || g.Encoding != frame.YUV422YUY2 {
		t.Errorf("%v, want the nearest, 640x480 yuv422_yuy2", g)
	}
	for _, want := range []string{"size 640x480 instead of 650x490", "instead of 60"} {
		if d := s.Describe(); !strings.Contains(d, want) {
			t.Errorf("described as %q, which does not say %q", d, want)
		}
	}
	for _, c := range []struct{ name, text, says string }{
		{"strict size", "650x490,strict=true", "size 640x480 instead of 650x490"},
		{"strict rate", "640x480@60,strict=true", "instead of 60"},
		{"encoding that it has not", "encoding=jpeg", "the camera offers yuv422_yuy2 (YUYV)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := take(t, "cam=v4l2:"+camWebcam+","+c.text, 1, nil)
			if !errors.Is(got.err, capture.ErrFormatRefused) || !strings.Contains(got.err.Error(), c.says) {
				t.Errorf("%v; want %v that says %q", got.err, capture.ErrFormatRefused, c.says)
			}
		})
	}
}

// Without a wish a camera gives its largest size that is fast enough.
func TestNothingAsked(t *testing.T) {
	got := take(t, "cam=v4l2:"+camWebcam, 3, nil)
	got.need(t, 3)
	if g := got.format.Geometry; g.Width != 640 || g.Height != 480 {
		t.Errorf("%v, want 640x480: larger ones are slow", g)
	}
}

func TestControls(t *testing.T) {
	d, err := v4l2.Open(camMain)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	value := func(name string) int64 {
		controls, err := d.Controls()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range controls {
			if c.Name == name {
				return c.Value
			}
		}
		t.Fatalf("no control %s among %d", name, len(controls))
		return 0
	}
	take(t, "cam=v4l2:"+camMain+",320x180,control.brightness=77,control.test_pattern=100_white,control.hflip=on", 2, nil).need(t, 2)
	for name, want := range map[string]int64{"brightness": 77, "test_pattern": 6, "horizontal_flip": 1} {
		if got := value(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	take(t, "cam=v4l2:"+camMain+",320x180,control.brightness=128,control.test_pattern=0,control.hflip=off", 2, nil).need(t, 2)
	for _, c := range []struct{ name, option, says string }{
		{"unknown", "control.brigthness=1", "did you mean brightness?"},
		{"out of range", "control.brightness=256", "a whole number from 0 to 255"},
		{"no item", "control.test_pattern=plaid", "6 (100_white)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := take(t, "cam=v4l2:"+camMain+","+c.option, 1, nil)
			if !errors.Is(got.err, capture.ErrConfig) || !strings.Contains(got.err.Error(), c.says) {
				t.Errorf("%v; want %v that says %q", got.err, capture.ErrConfig, c.says)
			}
		})
	}
}

// A signal that goes away is told apart from a camera that does.
func TestSignalLost(t *testing.T) {
	s := source(t, "cam=v4l2:"+camMain+",320x180")
	n := 0
	got := run(t, s, 1000, func(capturetest.Frame) bool {
		if n++; n == 5 {
			setControl(t, camMain, ctrlSignalMode, vividNoSignalMode)
		}
		return true
	})
	setControl(t, camMain, ctrlSignalMode, 0)
	if !errors.Is(got.err, v4l2.ErrNoSignal) || len(got.stamps) < 5 {
		t.Fatalf("%d frames, %v; want %v", len(got.stamps), got.err, v4l2.ErrNoSignal)
	}
	run(t, s, 5, nil).need(t, 5)
}
