// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"errors"
	"strings"
	"testing"

	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	camd "github.com/seed-3c7e7623/camd/capture/v4l2"
)

// What the driver dropped is counted, neither more nor less.
func TestDroppedByTheDriver(t *testing.T) {
	set(t, camMain, ctrlDropped, 30)
	defer set(t, camMain, ctrlDropped, 0)
	const frames = 60
	got := take(t, source(t, camMain, small(v4l2.PixelFmtYUYV)), frames, nil)
	got.need(t, frames)
	// On a slow machine go4vl drops some, too.
	dropped := got.stats.Dropped[capture.DropDevice] + got.stats.Dropped[capture.DropLate]
	span := got.stamps[frames-1].DriverSequence - got.stamps[0].DriverSequence
	// The run may see one more gap before it notices that it shall end.
	if dropped == 0 || uint64(dropped) < span-(frames-1) {
		t.Errorf("%d counted as dropped, the driver's numbers span %d for %d frames", dropped, span, frames)
	}
	if n := got.stats.Dropped[capture.DropDamaged]; n != 0 {
		t.Errorf("%d counted as damaged: %v", n, got.stats.Dropped)
	}
}

// A buffer that the driver flags is counted as damaged, and the stream goes on.
func TestErrorFlag(t *testing.T) {
	const frames = 30
	got := take(t, source(t, camMain, small(v4l2.PixelFmtYUYV)), frames, func(i int, _ capturetest.Frame) {
		if i == 5 {
			set(t, camMain, ctrlErrorFlag, 1)
		}
	})
	got.need(t, frames)
	// go4vl keeps one error at a time: one of a slow machine may be in its way.
	if d := got.stats.Dropped; d[capture.DropDamaged] != 1 && d[capture.DropLate] == 0 {
		t.Errorf("%v dropped, want one as damaged", d)
	}
}

// A fatal error of the driver is told from an unplugged camera although go4vl has
// one error for both, and the next run works.
func TestFatalError(t *testing.T) {
	s := source(t, camMain, small(v4l2.PixelFmtYUYV))
	got := take(t, s, 1000, func(i int, _ capturetest.Frame) {
		if i == 5 {
			set(t, camMain, ctrlFatalError, 1)
		}
	})
	if !errors.Is(got.err, camd.ErrIO) || !errors.Is(got.err, v4l2.ErrorSystem) || errors.Is(got.err, capture.ErrDeviceGone) || len(got.stamps) < 5 {
		t.Fatalf("%d frames, %v; want %v", len(got.stamps), got.err, camd.ErrIO)
	}
	clean(t)
	take(t, s, 10, nil).need(t, 10)
	clean(t)
}

func TestUnplugged(t *testing.T) {
	s := source(t, camUnplug, small(v4l2.PixelFmtYUYV))
	got := take(t, s, 1000, func(i int, _ capturetest.Frame) {
		if i == 5 {
			set(t, camUnplug, ctrlDisconnect, 1)
		}
	})
	if !errors.Is(got.err, capture.ErrDeviceGone) || !errors.Is(got.err, v4l2.ErrorSystem) || len(got.stamps) < 5 {
		t.Fatalf("%d frames, %v; want %v", len(got.stamps), got.err, capture.ErrDeviceGone)
	}
	t.Logf("%v", got.err)
	// vivid plugs itself in again when nobody has the node open or mapped.
	clean(t)
	again(t, s, 5)
}

// A start that fails leaves nothing behind: neither buffers nor descriptors.
func TestStartFails(t *testing.T) {
	s := source(t, camMain, small(v4l2.PixelFmtYUYV))
	set(t, camMain, ctrlStreamOn, 1)
	got := take(t, s, 1, nil)
	if got.err == nil || !strings.Contains(got.err.Error(), "stream on") {
		t.Fatalf("%v; want the error of the start", got.err)
	}
	clean(t)
	take(t, s, 3, nil).need(t, 3)
}
