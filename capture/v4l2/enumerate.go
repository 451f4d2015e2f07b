// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"fmt"
	"unsafe"

	"github.com/seed-3c7e7623/camd/frame"
)

// Bounds of enumerations: drivers are known to answer without end.
const (
	mostFormats   = 256
	mostSizes     = 512
	mostIntervals = 256
)

// PixelFormat is one way in which a device delivers pictures.
type PixelFormat struct {
	FourCC      frame.FourCC
	Description string         // the driver's
	Encoding    frame.Encoding // "" = camd has no name for it
	Compressed  bool
	Emulated    bool    // converted by the driver
	Sizes       []Sizes // none: the driver does not tell
}

// Sizes is a size, or a grid of sizes, with the rates at which it comes.
type Sizes struct {
	Width  Span    `json:"width"`  // pixels
	Height Span    `json:"height"` // pixels
	Rates  []Rates `json:"rates"`  // none: the driver does not tell
}

// Span is a range of numbers. Step is 0 where there is only one.
type Span struct {
	Min  int `json:"min"`
	Max  int `json:"max"`
	Step int `json:"step"`
}

// Rates is a rate, or a range of rates, in frames per second.
type Rates struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// String is "640x480", or "16x16 to 1920x1080 in steps of 2x2".
func (s Sizes) String() string {
	if !s.ranged() {
		return fmt.Sprintf("%dx%d", s.Width.Max, s.Height.Max)
	}
	return fmt.Sprintf("%dx%d to %dx%d in steps of %dx%d", s.Width.Min, s.Height.Min, s.Width.Max, s.Height.Max, s.Width.Step, s.Height.Step)
}

func (s Sizes) ranged() bool { return s.Width.Step != 0 || s.Height.Step != 0 }

// nearest is the number of the span that is nearest to n.
func (s Span) nearest(n int) int {
	switch {
	case n <= s.Min:
		return s.Min
	case n >= s.Max:
		return s.Max
	case s.Step <= 1:
		return n
	}
	return min(s.Min+(n-s.Min+s.Step/2)/s.Step*s.Step, s.Max)
}

// Formats enumerates what the device offers, with sizes and rates.
func (d *Device) Formats() ([]PixelFormat, error) {
	var out []PixelFormat
	for i := range mostFormats {
		desc := fmtDesc{Index: uint32(i), Type: d.bufType}
		if err := d.k.ioctl(reqEnumFmt, unsafe.Pointer(&desc)); err != nil {
			if absent(err) {
				break
			}
			return nil, explain("VIDIOC_ENUM_FMT", d.Path, err)
		}
		f := PixelFormat{
			FourCC: frame.FourCC(desc.PixelFormat), Description: text(desc.Description[:]),
			Compressed: desc.Flags&fmtFlagCompressed != 0, Emulated: desc.Flags&fmtFlagEmulated != 0,
		}
		if layout, ok := formatOf(f.FourCC); ok {
			f.Encoding = layout.Encoding
		}
		var err error
		if f.Sizes, err = d.sizes(f.FourCC); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (d *Device) sizes(code frame.FourCC) ([]Sizes, error) {
	var out []Sizes
	for i := range mostSizes {
		e := frmSizeEnum{Index: uint32(i), PixelFormat: uint32(code)}
		if err := d.k.ioctl(reqEnumSizes, unsafe.Pointer(&e)); err != nil {
			if absent(err) {
				break
			}
			return nil, explain("VIDIOC_ENUM_FRAMESIZES", d.Path, err)
		}
		var s Sizes
		if e.Type == enumDiscrete {
			s.Width = Span{Min: bound(e.Sizes[0]), Max: bound(e.Sizes[0])}
			s.Height = Span{Min: bound(e.Sizes[1]), Max: bound(e.Sizes[1])}
		} else {
			s.Width = newSpan(e.Sizes[0], e.Sizes[1], e.Sizes[2])
			s.Height = newSpan(e.Sizes[3], e.Sizes[4], e.Sizes[5])
		}
		if s.Width.Max < 1 || s.Height.Max < 1 {
			continue
		}
		var err error
		if s.Rates, err = d.rates(code, s.Width.Max, s.Height.Max); err != nil {
			return nil, err
		}
		out = append(out, s)
		if e.Type != enumDiscrete {
			break // the only answer
		}
	}
	return out, nil
}

// bound keeps a side of a driver within what a frame may have.
func bound(n uint32) int { return int(min(n, frame.MaxSide)) }

func newSpan(least, most, step uint32) Span {
	return Span{Min: bound(max(least, 1)), Max: bound(max(least, most)), Step: bound(max(step, 1))}
}

func (d *Device) rates(code frame.FourCC, width, height int) ([]Rates, error) {
	var out []Rates
	for i := range mostIntervals {
		e := frmIvalEnum{Index: uint32(i), PixelFormat: uint32(code), Width: uint32(width), Height: uint32(height)}
		if err := d.k.ioctl(reqEnumIntervals, unsafe.Pointer(&e)); err != nil {
			if absent(err) {
				break
			}
			return nil, explain("VIDIOC_ENUM_FRAMEINTERVALS", d.Path, err)
		}
		fast := e.Intervals[0].rate()
		slow := fast
		if e.Type != enumDiscrete {
			slow = e.Intervals[1].rate()
		}
		if fast > 0 && slow > 0 {
			out = append(out, Rates{Min: min(slow, fast), Max: max(slow, fast)})
		}
		if e.Type != enumDiscrete {
			break
		}
	}
	return out, nil
}

// rate is frames per second, 0 for a fraction that says nothing.
func (f fraction) rate() float64 {
	if f.Numerator == 0 || f.Denominator == 0 {
		return 0
	}
	return float64(f.Denominator) / float64(f.Numerator)
}
