// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/vladimirvivien/go4vl/device"
	"github.com/vladimirvivien/go4vl/v4l2"
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/adapters/go4vl"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	camd "github.com/seed-3c7e7623/camd/capture/v4l2"
	"github.com/seed-3c7e7623/camd/frame"
)

// What the driver grants instead is taken and said, or refused.
func TestGrantsSomethingElse(t *testing.T) {
	odd := go4vl.Options{Format: v4l2.PixFormat{Width: 650, Height: 490, PixelFormat: v4l2.PixelFmtYUYV}, FPS: 60}
	s := source(t, camWebcam, odd)
	got := take(t, s, 3, nil)
	got.need(t, 3)
	if g := got.format.Geometry; g.Width != 640 || g.Height != 480 || g.Encoding != frame.YUV422YUY2 || len(got.last) != g.Size() {
		t.Errorf("%v of %d bytes, want what the driver granted, 640x480 yuv422_yuy2", g, len(got.last))
	}
	for _, want := range []string{"size 640x480 instead of 650x490", "instead of 60"} {
		if d := s.Describe(); !strings.Contains(d, want) {
			t.Errorf("described as %q, which does not say %q", d, want)
		}
	}
	strict := odd
	strict.Strict = true
	for _, c := range []struct {
		name, says string
		options    go4vl.Options
	}{
		{"strict", "size 640x480 instead of 650x490", strict},
		{"a pixel format that it has not", "asked for MJPG", go4vl.Options{Format: v4l2.PixFormat{PixelFormat: v4l2.PixelFmtMJPEG}}},
		{"one that camd does not carry", "carries nothing like", go4vl.Options{Format: v4l2.PixFormat{PixelFormat: v4l2.PixelFmtYVU420}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := take(t, source(t, camWebcam, c.options), 1, nil)
			if !errors.Is(got.err, capture.ErrFormatRefused) || !strings.Contains(got.err.Error(), c.says) {
				t.Errorf("%v; want %v that says %q", got.err, capture.ErrFormatRefused, c.says)
			}
			clean(t)
		})
	}
}

// A device that another one streams from is refused each time, and costs nothing.
func TestInUse(t *testing.T) {
	for _, first := range []struct {
		name   string
		source capture.Source
	}{
		{"by camd's own layer", ours(t, "cam=v4l2:"+camMain+",320x180,encoding=yuyv")},
		{"by go4vl", source(t, camMain, small(v4l2.PixelFmtYUYV))},
	} {
		t.Run(first.name, func(t *testing.T) {
			const refusals = 5
			take(t, first.source, 2, func(i int, _ capturetest.Frame) {
				if i > 1 {
					return
				}
				files, maps := traces(t)
				for range refusals {
					second := small(v4l2.PixelFmtRGB24)
					if got := take(t, source(t, camMain, second), 1, nil); !errors.Is(got.err, camd.ErrBusy) {
						t.Errorf("another format while it is in use: %v, want %v", got.err, camd.ErrBusy)
					}
					if got := take(t, source(t, camMain, go4vl.Options{}), 1, nil); !errors.Is(got.err, camd.ErrBusy) {
						t.Errorf("nothing asked while it is in use: %v, want %v", got.err, camd.ErrBusy)
					}
				}
				if f, m := traces(t); f != files || m != maps {
					t.Errorf("%d descriptors and %d mappings, %d and %d before the refusals", f, m, files, maps)
				}
			}).need(t, 2)
			clean(t)
		})
	}
}

func TestNotThere(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       error
	}{
		{"no such node", "/dev/video77", capture.ErrDeviceNotFound},
		{"no camera", "/dev/null", capture.ErrConfig},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := take(t, source(t, c.path, go4vl.Options{}), 1, nil); !errors.Is(got.err, c.want) {
				t.Errorf("%v, want %v", got.err, c.want)
			}
		})
	}
}

// Where go4vl would end the program, the run fails.
func TestManyFiles(t *testing.T) {
	limit := unix.Rlimit{Cur: 4096, Max: 4096}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	for len(files) == 0 || files[len(files)-1].Fd() < unix.FD_SETSIZE {
		f, err := os.Open("/dev/null")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if got := take(t, source(t, camMain, go4vl.Options{}), 1, nil); !errors.Is(got.err, go4vl.ErrDescriptor) {
		t.Errorf("by its path: %v, want %v", got.err, go4vl.ErrDescriptor)
	}
	dev, err := device.Open(camMain)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if got := take(t, go4vl.FromDevice(dev), 1, nil); !errors.Is(got.err, go4vl.ErrDescriptor) {
		t.Errorf("handed over: %v, want %v", got.err, go4vl.ErrDescriptor)
	}
}
