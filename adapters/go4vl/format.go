// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/vladimirvivien/go4vl/device"
	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/frame"
)

// grant is what the driver said it will deliver.
type grant struct {
	code     frame.FourCC
	geometry frame.Geometry
	color    frame.Color
	interval time.Duration // 0 = the driver does not say
	clock    frame.Clock
}

// String is "1280x720 yuv422_yuy2 @30".
func (g grant) String() string {
	if g.interval == 0 {
		return g.geometry.String()
	}
	return g.geometry.String() + " @" + rateText(g.rate())
}

func (g grant) rate() float64 {
	if g.interval == 0 {
		return 0
	}
	return float64(time.Second) / float64(g.interval)
}

// rateText is a rate with at most two decimals.
func rateText(r float64) string { return strconv.FormatFloat(math.Round(r*100)/100, 'f', -1, 64) }

// agree asks the device for what the options say, and reads back what the driver
// made of it: go4vl itself keeps the request for the answer.
func (s *Source) agree(dev *device.Device) (grant, error) {
	asked := s.options.Format
	if s.handed != nil {
		asked, _ = dev.GetPixFormat() // what the program asked for
	} else if err := s.ask(dev); err != nil {
		return grant{}, err
	}
	got, err := v4l2.GetPixFormat(dev.Fd())
	if err != nil {
		return grant{}, s.failed("format", dev, err)
	}
	g, err := read(got)
	if err != nil {
		return grant{}, fmt.Errorf("%s: %w", dev.Capability().Card, err)
	}
	if p := asked.PixelFormat; p != 0 && frame.FourCC(p) != g.code {
		return grant{}, fmt.Errorf("%w: asked for %v, the driver of %s chose %v", capture.ErrFormatRefused, frame.FourCC(p), s.path, g.code)
	}
	// Many drivers know no rates.
	if p, err := v4l2.GetStreamParam(dev.Fd(), dev.BufferType()); err == nil {
		g.interval = nominal(p.Capture.TimePerFrame)
	}
	differs := g.differs(asked, s.options.FPS)
	if differs != "" && s.options.Strict {
		return grant{}, fmt.Errorf("%w: %s grants %s (Strict)", capture.ErrFormatRefused, dev.Capability().Card, differs)
	}
	s.mu.Lock()
	s.note = differs
	s.mu.Unlock()
	return g, nil
}

// ask sets the format and the rate, as far as the options have them, and lets the
// program set the rest.
func (s *Source) ask(dev *device.Device) error {
	o := s.options
	if o.Format != (v4l2.PixFormat{}) {
		now, err := v4l2.GetPixFormat(dev.Fd())
		if err != nil {
			return s.failed("format", dev, err)
		}
		if err := dev.SetPixFormat(complete(o.Format, now)); err != nil {
			return s.failed("format", dev, err)
		}
	}
	if o.FPS > 0 {
		if err := dev.SetFrameRate(o.FPS); err != nil {
			s.log().Warn("the driver takes no rate", "device", s.path, "asked", o.FPS, "err", err)
		}
	}
	if o.Setup != nil {
		if err := o.Setup(dev); err != nil {
			return s.failed("setup", dev, err)
		}
	}
	return nil
}

// failed explains an error of a device that does not stream yet.
func (s *Source) failed(what string, dev *device.Device, err error) error {
	return explain(what, &stream{dev: dev, path: s.path}, err)
}

// complete fills what was not asked for with what the device is set to: a driver
// takes 0 pixels for its smallest size. Fields are not asked for.
func complete(asked, now v4l2.PixFormat) v4l2.PixFormat {
	if asked.Width == 0 {
		asked.Width = now.Width
	}
	if asked.Height == 0 {
		asked.Height = now.Height
	}
	if asked.PixelFormat == 0 {
		asked.PixelFormat = now.PixelFormat
	}
	if asked.Field == v4l2.FieldAny {
		asked.Field = v4l2.FieldNone
	}
	return asked
}

// differs says in which way the grant is not what was asked for, "" if it is.
func (g grant) differs(asked v4l2.PixFormat, fps uint32) string {
	var parts []string
	other := func(asked uint32, got int) bool { return asked != 0 && int64(asked) != int64(got) }
	if other(asked.Width, g.geometry.Width) || other(asked.Height, g.geometry.Height) {
		parts = append(parts, fmt.Sprintf("size %dx%d instead of %dx%d", g.geometry.Width, g.geometry.Height, asked.Width, asked.Height))
	}
	if fps > 0 && math.Abs(g.rate()-float64(fps)) > 0.01*float64(fps) {
		text := "a rate that the driver does not tell"
		if g.interval > 0 {
			text = "rate " + rateText(g.rate())
		}
		parts = append(parts, fmt.Sprintf("%s instead of %d", text, fps))
	}
	return strings.Join(parts, ", ")
}

// read turns the driver's figures into a layout, and doubts each of them.
func read(p v4l2.PixFormat) (grant, error) {
	g := grant{code: frame.FourCC(p.PixelFormat)}
	if p.Field != v4l2.FieldAny && p.Field != v4l2.FieldNone {
		return g, fmt.Errorf("%w: the driver delivers interlaced fields (%d)", capture.ErrFormatRefused, p.Field)
	}
	layout, ok := g.code.Format()
	if !ok {
		return g, fmt.Errorf("%w: camd carries nothing like %v, which the driver is set to", capture.ErrFormatRefused, g.code)
	}
	if err := g.layOut(layout, p); err != nil {
		return g, fmt.Errorf("%w: %v: %w", capture.ErrFormatRefused, g.code, err)
	}
	g.color = frame.ColorFromV4L2(g.geometry.Encoding, p.Colorspace, p.YcbcrEnc, p.Quantization)
	return g, nil
}

func (g *grant) layOut(l frame.Format, p v4l2.PixFormat) (err error) {
	width, height := bound(p.Width), bound(p.Height)
	if l.Encoding.Compressed() {
		if p.SizeImage < 1 || p.SizeImage > mjpeg.MaxBytes {
			return fmt.Errorf("the driver says %d bytes an image, 1 to %d are carried", p.SizeImage, mjpeg.MaxBytes)
		}
		g.geometry, err = frame.NewCompressed(l.Encoding, width, height, int(p.SizeImage))
		return err
	}
	tight, err := l.Geometry(width, height, 0)
	if err != nil {
		return err
	}
	// Some drivers say 0, or too little, of rows without padding.
	if g.geometry, err = l.Geometry(width, height, max(tight.Step, bound(p.BytesPerLine))); err != nil {
		return err
	}
	if int64(p.SizeImage) < int64(g.geometry.Extent()) {
		return fmt.Errorf("the driver says %d bytes an image, %v takes %d", p.SizeImage, g.geometry, g.geometry.Extent())
	}
	return nil
}

// bound makes a number of the driver's an int on every host; what is cut off is
// refused as a geometry anyway.
func bound(n uint32) int { return int(min(n, frame.MaxBytes)) }
