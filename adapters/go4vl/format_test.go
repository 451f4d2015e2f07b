// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/vladimirvivien/go4vl/device"
	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
	"github.com/seed-3c7e7623/camd/frame"
)

func TestRead(t *testing.T) {
	change := func(f func(*v4l2.PixFormat)) v4l2.PixFormat {
		p := yuyv
		f(&p)
		return p
	}
	for _, c := range []struct {
		name string
		pix  v4l2.PixFormat
		step int // 0: refused
		size int
	}{
		{"tight", yuyv, 8, 16},
		{"padded", change(func(p *v4l2.PixFormat) { p.BytesPerLine, p.SizeImage = 12, 24 }), 12, 24},
		{"padding of the last row left out", change(func(p *v4l2.PixFormat) { p.BytesPerLine, p.SizeImage = 12, 20 }), 12, 24},
		{"no pitch", change(func(p *v4l2.PixFormat) { p.BytesPerLine = 0 }), 8, 16},
		{"a pitch that is too small", change(func(p *v4l2.PixFormat) { p.BytesPerLine = 4 }), 8, 16},
		{"two planes in one", change(func(p *v4l2.PixFormat) {
			p.PixelFormat, p.BytesPerLine, p.SizeImage = v4l2.PixelFmtNV12, 4, 12
		}), 4, 12},
		{"JPEG", change(func(p *v4l2.PixFormat) {
			p.PixelFormat, p.BytesPerLine, p.SizeImage = v4l2.PixelFmtMJPEG, 0, 5000
		}), -1, 5000},
		{"JPEG without a size", change(func(p *v4l2.PixFormat) { p.PixelFormat, p.SizeImage = v4l2.PixelFmtMJPEG, 0 }), 0, 0},
		{"an image too small for its rows", change(func(p *v4l2.PixFormat) { p.SizeImage = 15 }), 0, 0},
		{"interlaced", change(func(p *v4l2.PixFormat) { p.Field = 4 }), 0, 0},
		{"nothing that is carried", change(func(p *v4l2.PixFormat) { p.PixelFormat = v4l2.PixelFmtYVU420 }), 0, 0},
		{"no pixels", change(func(p *v4l2.PixFormat) { p.Width = 0 }), 0, 0},
		{"absurd", v4l2.PixFormat{Width: math.MaxUint32, Height: math.MaxUint32, PixelFormat: v4l2.PixelFmtYUYV, BytesPerLine: math.MaxUint32, SizeImage: math.MaxUint32}, 0, 0},
	} {
		g, err := read(c.pix)
		switch {
		case c.step == 0:
			if !errors.Is(err, capture.ErrFormatRefused) {
				t.Errorf("%s: %v, %v; want %v", c.name, g.geometry, err, capture.ErrFormatRefused)
			}
		case err != nil || g.geometry.Size() != c.size || c.step > 0 && g.geometry.Step != c.step:
			t.Errorf("%s: %v of %d bytes, %d a row, %v; want %d and %d", c.name, g.geometry, g.geometry.Size(), g.geometry.Step, err, c.size, c.step)
		}
	}
	if g, err := read(yuyv); err != nil || g.color != (frame.Color{Matrix: frame.BT709, Range: frame.Limited}) {
		t.Errorf("%+v, %v; want BT.709, limited", g.color, err)
	}
}

func TestAsked(t *testing.T) {
	now := v4l2.PixFormat{Width: 640, Height: 480, PixelFormat: v4l2.PixelFmtYUYV, Field: v4l2.FieldInterlaced}
	for _, c := range []struct{ asked, want v4l2.PixFormat }{
		{v4l2.PixFormat{PixelFormat: v4l2.PixelFmtMJPEG}, v4l2.PixFormat{Width: 640, Height: 480, PixelFormat: v4l2.PixelFmtMJPEG, Field: v4l2.FieldNone}},
		{v4l2.PixFormat{Width: 320, Height: 240}, v4l2.PixFormat{Width: 320, Height: 240, PixelFormat: v4l2.PixelFmtYUYV, Field: v4l2.FieldNone}},
	} {
		if got := complete(c.asked, now); got != c.want {
			t.Errorf("%+v becomes %+v, want %+v", c.asked, got, c.want)
		}
	}
	g, err := read(yuyv)
	if err != nil {
		t.Fatal(err)
	}
	g.interval = nominal(v4l2.Fract{Numerator: 12375, Denominator: 742500}) // as drivers say it, not reduced
	if g.interval.Round(time.Microsecond) != 16667*time.Microsecond {
		t.Errorf("an interval of %v, want 1/60 s", g.interval)
	}
	for _, c := range []struct {
		asked v4l2.PixFormat
		fps   uint32
		want  string
	}{
		{v4l2.PixFormat{}, 0, ""},
		{yuyv, 60, ""},
		{v4l2.PixFormat{Width: 8}, 30, "size 4x2 instead of 8x0, rate 60 instead of 30"},
	} {
		if got := g.differs(c.asked, c.fps); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if nominal(v4l2.Fract{}) != 0 || (grant{geometry: g.geometry}).differs(v4l2.PixFormat{}, 30) != "a rate that the driver does not tell instead of 30" {
		t.Error("a driver that tells no rate")
	}
}

// What can be said without a device.
func TestSource(t *testing.T) {
	for _, o := range []Options{{Buffers: 1}, {Buffers: 33}} {
		if _, err := New("/dev/video0", o); !errors.Is(err, capture.ErrConfig) {
			t.Errorf("%d buffers: %v", o.Buffers, err)
		}
	}
	if _, err := New("", Options{}); !errors.Is(err, capture.ErrConfig) {
		t.Error("no path is taken")
	}
	for path, want := range map[string]error{"/dev/no-such-node": capture.ErrDeviceNotFound, "/dev/null": capture.ErrConfig} {
		s, err := New(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Do(func(*device.Device) error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v before a run, want %v", path, err, ErrClosed)
		}
		if err := s.Run(t.Context(), &capturetest.Sink{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Run(ctx, &capturetest.Sink{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v after the end", path, err)
		}
		if got, want := s.Describe(), "go4vl "+path; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
