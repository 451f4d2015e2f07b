// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
)

// What is taken where nothing is asked for.
const (
	usualRate   = 30   // frames per second
	enoughRate  = 24   // so many will do for usualRate
	usualWidth  = 1920 // at most, where there is a choice
	usualHeight = 1080
)

// wish is what the user asked for; zero values leave it to the device.
type wish struct {
	encoding      frame.Encoding
	width, height int     // pixels
	rate          float64 // frames per second
}

// String is "1280x720 rgb8 @30", or "anything".
func (w wish) String() string {
	var parts []string
	if w.width > 0 {
		parts = append(parts, fmt.Sprintf("%dx%d", w.width, w.height))
	}
	if w.encoding != "" {
		parts = append(parts, string(w.encoding))
	}
	if w.rate > 0 {
		parts = append(parts, "@"+rateText(w.rate))
	}
	if len(parts) == 0 {
		return "anything"
	}
	return strings.Join(parts, " ")
}

// rateText is a rate with at most two decimals.
func rateText(r float64) string {
	text := strconv.FormatFloat(r, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// choice is what the device will be asked for.
type choice struct {
	code          frame.FourCC
	encoding      frame.Encoding // of the device
	out           frame.Encoding // of the stream
	way           way
	width, height int     // 0 = what it is set to
	rate          float64 // 0 = what it is set to

	distance int  // pixels between what was asked and what is offered
	large    bool // beyond the usual size, though nobody asked
	enough   bool // the rate is
	emulated bool
	grey     bool // though the stream is of colour
	area     int  // pixels
	best     float64
}

// choices are the ways to fulfil w, best first, one for each pixel format. It
// fails with [capture.ErrFormatRefused] when there is none.
func (w wish) choices(offered []PixelFormat) ([]choice, error) {
	var out []choice
	for _, f := range offered {
		c, ok := w.carry(f)
		if !ok {
			continue
		}
		out = append(out, w.bestSize(c, f.Sizes))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: asked for %s, the camera offers %s", capture.ErrFormatRefused, w.encodingText(), offerText(offered))
	}
	isNative := func(c choice) bool { return c.way == asItIs }
	if w.encoding != "" && slices.ContainsFunc(out, isNative) {
		out = slices.DeleteFunc(out, func(c choice) bool { return !isNative(c) })
	}
	// Decoding costs, and JPEG is not what the sensor saw: only where nothing
	// else is as large and as fast as asked.
	whole := slices.ContainsFunc(out, func(c choice) bool { return c.way != decoded && w.fulfilled(c) })
	slices.SortStableFunc(out, func(a, b choice) int {
		if n := no(a.way == decoded, b.way == decoded); whole && n != 0 {
			return n
		}
		return w.compare(a, b)
	})
	return out, nil
}

// fulfilled reports whether size and rate are as asked.
func (w wish) fulfilled(c choice) bool { return c.distance == 0 && (w.rate == 0 || c.enough) }

func (w wish) encodingText() string {
	if w.encoding == "" {
		return "an encoding that camd carries"
	}
	return string(w.encoding)
}

// offerText lists what is offered: "yuv422_yuy2 (YUYV), MJPG".
func offerText(offered []PixelFormat) string {
	if len(offered) == 0 {
		return "nothing"
	}
	names := make([]string, 0, len(offered))
	for _, f := range offered {
		name := f.FourCC.String()
		if f.Encoding != "" {
			name = fmt.Sprintf("%s (%s)", f.Encoding, name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// bestSize completes a choice with the best of the sizes.
func (w wish) bestSize(c choice, sizes []Sizes) choice {
	if len(sizes) == 0 {
		c.width, c.height = w.width, w.height
		return w.rated(c, nil)
	}
	all := make([]choice, 0, len(sizes))
	for _, s := range sizes {
		all = append(all, w.sized(c, s))
	}
	return slices.MinFunc(all, w.compare)
}

// sized is the best use of one offered size.
func (w wish) sized(c choice, s Sizes) choice {
	switch {
	case w.width > 0:
		c.width, c.height = s.Width.nearest(w.width), s.Height.nearest(w.height)
		c.distance = abs(c.width-w.width) + abs(c.height-w.height)
		c.area = c.width * c.height
	case s.ranged():
		// A grid says nothing about what the picture is like. What the device
		// is set to does: for HDMI inputs it is the size of the signal.
		c.area = min(s.Width.Max, usualWidth) * min(s.Height.Max, usualHeight)
	default:
		c.width, c.height = s.Width.Max, s.Height.Max
		c.area = c.width * c.height
		c.large = c.width > usualWidth || c.height > usualHeight
	}
	return w.rated(c, s.Rates)
}

// rated chooses the rate: the lowest that is enough, else the highest.
func (w wish) rated(c choice, rates []Rates) choice {
	want, enough := w.rate, w.rate*0.99
	if want == 0 {
		want, enough = usualRate, enoughRate
	}
	if len(rates) == 0 {
		c.rate, c.enough = w.rate, true
		return c
	}
	for _, r := range rates {
		c.best = max(c.best, r.Max)
	}
	c.rate = c.best
	for _, r := range rates {
		switch {
		case r.Max < want*0.99:
		case r.Min <= want: // within a range, or a hair below
			c.rate = min(c.rate, want)
		default:
			c.rate = min(c.rate, r.Min)
		}
	}
	c.enough = c.best >= enough
	return c
}

// compare is negative when a is better than b.
func (w wish) compare(a, b choice) int {
	if n := cmp.Or(cmp.Compare(a.distance, b.distance), no(a.large, b.large), no(b.enough, a.enough)); n != 0 {
		return n
	}
	if w.width == 0 && a.enough {
		if n := cmp.Compare(b.area, a.area); n != 0 {
			return n
		}
	}
	if !a.enough {
		if n := cmp.Or(cmp.Compare(b.best, a.best), cmp.Compare(b.area, a.area)); n != 0 {
			return n
		}
	}
	return cmp.Or(no(a.grey, b.grey), no(a.emulated, b.emulated), no(a.way == decoded, b.way == decoded))
}

// no orders false before true.
func no(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func abs(n int) int { return max(n, -n) }
