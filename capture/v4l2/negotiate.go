// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/frame"
)

// grant is what the driver said it will deliver.
type grant struct {
	code     frame.FourCC
	geometry frame.Geometry // of the device's frames
	out      frame.Encoding // of the stream
	way      way
	interval time.Duration // 0 = the driver does not say
	planes   []planeLayout
	color    colorimetry
	warnings []string // figures of the driver that contradict each other
}

// planeLayout is one plane of memory as the driver sees it.
type planeLayout struct {
	offset    int // where it belongs in the frame, bytes
	bytes     int // of the frame that it covers, padding included
	need      int // a buffer with fewer bytes is incomplete
	sizeImage int // bytes that the driver may write
}

// colorimetry is V4L2's description of colours; 0 = derive from the format.
type colorimetry struct {
	space, encoding, quantization, transfer uint32
}

// String is "1280x720 yuv422_yuy2 @30".
func (g grant) String() string {
	s := g.geometry.String()
	if g.interval > 0 {
		s += " @" + rateText(float64(time.Second)/float64(g.interval))
	}
	return s
}

// differs says in which way the grant is not what was asked for, "" if it is.
func (g grant) differs(w wish) string {
	var parts []string
	if w.width > 0 && (g.geometry.Width != w.width || g.geometry.Height != w.height) {
		parts = append(parts, fmt.Sprintf("size %dx%d instead of %dx%d", g.geometry.Width, g.geometry.Height, w.width, w.height))
	}
	if w.rate > 0 {
		got := 0.0
		if g.interval > 0 {
			got = float64(time.Second) / float64(g.interval)
		}
		if math.Abs(got-w.rate) > 0.01*w.rate {
			text := "a rate that the driver does not tell"
			if got > 0 {
				text = "rate " + rateText(got)
			}
			parts = append(parts, text+" instead of "+rateText(w.rate))
		}
	}
	return strings.Join(parts, ", ")
}

// negotiate sets size, encoding and rate and reads back what the driver made
// of them.
func (d *Device) negotiate(w wish, offered []PixelFormat) (grant, error) {
	choices, err := w.choices(offered)
	if err != nil {
		return grant{}, err
	}
	if err := d.whole(selectCrop); err != nil {
		return grant{}, err
	}
	var refused []error
	for _, c := range choices {
		g, err := d.try(c)
		if err == nil {
			g.out, g.way = c.out, c.way
			g.interval, err = d.setRate(c.rate)
		}
		if err == nil {
			return g, nil
		}
		if !errors.Is(err, capture.ErrFormatRefused) {
			return grant{}, err
		}
		refused = append(refused, err)
	}
	return grant{}, errors.Join(refused...)
}

// whole resets a rectangle of the device: selectCrop, the part of the sensor or
// signal that is captured, or selectCompose, the part of the buffer that is
// written. Drivers keep them from whoever used them last, and shrink them to a
// small size that was asked for without growing them again.
func (d *Device) whole(target uint32) error {
	s := selection{Type: bufTypeCapture, Target: target + selectDefault}
	err := d.k.ioctl(reqGetSelection, unsafe.Pointer(&s))
	if err == nil {
		s.Target, s.Flags = target, 0
		err = d.k.ioctl(reqSetSelection, unsafe.Pointer(&s))
	}
	// Most cameras cannot crop. A driver that is in use says so more clearly
	// when it is asked for a format.
	if errors.Is(err, unix.ENODEV) {
		return explain("VIDIOC_S_SELECTION", d.Path, err)
	}
	return nil
}

// try asks for one format.
func (d *Device) try(c choice) (grant, error) {
	f := format{Type: d.bufType}
	if err := d.call("VIDIOC_G_FMT", reqGetFmt, unsafe.Pointer(&f)); err != nil {
		return grant{}, err
	}
	if d.bufType == bufTypeCaptureMplane {
		old := f.mplane()
		next := mplaneFormat{
			Width: old.Width, Height: old.Height, PixelFormat: uint32(c.code),
			Field: fieldNone, Colorspace: old.Colorspace, NumPlanes: 1,
		}
		if c.code == twoPlanes {
			next.NumPlanes = 2
		}
		*old = next
		if c.width > 0 {
			old.Width, old.Height = uint32(c.width), uint32(c.height)
		}
	} else {
		old := f.pix()
		*old = pixFormat{
			Width: old.Width, Height: old.Height, PixelFormat: uint32(c.code),
			Field: fieldNone, Colorspace: old.Colorspace, Priv: privMagic,
		}
		if c.width > 0 {
			old.Width, old.Height = uint32(c.width), uint32(c.height)
		}
	}
	if err := d.k.ioctl(reqSetFmt, unsafe.Pointer(&f)); err != nil {
		if absent(err) {
			return grant{}, fmt.Errorf("%w: %s refuses %v (VIDIOC_S_FMT: %w)", capture.ErrFormatRefused, d.Path, c.code, err)
		}
		return grant{}, explain("VIDIOC_S_FMT", d.Path, err)
	}
	if err := d.whole(selectCompose); err != nil {
		return grant{}, err
	}
	if err := d.call("VIDIOC_G_FMT", reqGetFmt, unsafe.Pointer(&f)); err != nil {
		return grant{}, err
	}
	if f.Type != d.bufType {
		return grant{}, fmt.Errorf("%w: %s answers for buffer type %d", capture.ErrFormatRefused, d.Path, f.Type)
	}
	g, err := read(&f)
	if err != nil {
		return grant{}, err
	}
	if g.code != c.code {
		return grant{}, fmt.Errorf("%w: asked for %s (%v), the driver of %s chose %v", capture.ErrFormatRefused, c.encoding, c.code, d.Path, g.code)
	}
	return g, nil
}

// read turns the driver's figures into a layout, and doubts each of them.
func read(f *format) (grant, error) {
	var g grant
	var width, height, field uint32
	var planes []planeFormat
	if f.Type == bufTypeCaptureMplane {
		m := f.mplane()
		g.code, width, height, field = frame.FourCC(m.PixelFormat), m.Width, m.Height, m.Field
		g.color = colorimetry{m.Colorspace, uint32(m.YCbCrEnc), uint32(m.Quantization), uint32(m.XferFunc)}
		planes = m.Planes[:min(int(m.NumPlanes), maxPlanes)]
	} else {
		p := f.pix()
		g.code, width, height, field = frame.FourCC(p.PixelFormat), p.Width, p.Height, p.Field
		g.color = colorimetry{p.Colorspace, p.YCbCrEnc, p.Quantization, p.XferFunc}
		planes = []planeFormat{{SizeImage: p.SizeImage, BytesPerLine: p.BytesPerLine}}
	}
	if field != fieldAny && field != fieldNone {
		return g, fmt.Errorf("%w: the driver delivers interlaced fields (%d)", capture.ErrFormatRefused, field)
	}
	layout, ok := formatOf(g.code)
	if !ok {
		return g, fmt.Errorf("%w: the driver chose %v", capture.ErrFormatRefused, g.code)
	}
	layOut := g.layOut
	if layout.Encoding.Compressed() {
		layOut = g.layOutPacked
	}
	if err := layOut(layout, width, height, planes); err != nil {
		return g, fmt.Errorf("%w: %v: %w", capture.ErrFormatRefused, g.code, err)
	}
	return g, nil
}

// layOut checks pitch and size of each plane against what the picture needs.
func (g *grant) layOut(l frame.Format, width, height uint32, planes []planeFormat) error {
	want := 1
	if g.code == twoPlanes {
		want = 2
	}
	if len(planes) != want {
		return fmt.Errorf("the driver has %d planes, there should be %d", len(planes), want)
	}
	tight, err := l.Geometry(bound(width), bound(height), 0)
	if err != nil {
		return err
	}
	step := int64(planes[0].BytesPerLine)
	if step < int64(tight.Step) {
		if step != 0 {
			g.warnings = append(g.warnings, fmt.Sprintf("the driver says %d bytes a row, %d pixels take %d: rows taken as not padded", step, width, tight.Step))
		}
		step = int64(tight.Step)
	}
	if step > frame.MaxBytes {
		return fmt.Errorf("%d bytes a row", step)
	}
	if g.geometry, err = l.Geometry(tight.Width, tight.Height, int(step)); err != nil {
		return err
	}
	if want == 2 && planes[1].BytesPerLine != 0 && int64(planes[1].BytesPerLine) != step {
		return fmt.Errorf("rows of %d bytes in one plane and %d in the other", step, planes[1].BytesPerLine)
	}
	last := g.geometry.Plane(g.geometry.PlaneCount() - 1)
	end := last.Offset + last.Step*(last.Rows-1) + last.RowBytes
	g.planes = []planeLayout{{bytes: g.geometry.Size(), need: end}}
	if want == 2 {
		luma := g.geometry.Plane(0)
		g.planes = []planeLayout{
			{bytes: last.Offset, need: luma.Step*(luma.Rows-1) + luma.RowBytes},
			{offset: last.Offset, bytes: g.geometry.Size() - last.Offset, need: end - last.Offset},
		}
	}
	for i := range g.planes {
		p := &g.planes[i]
		if size := planes[i].SizeImage; int64(size) < int64(p.need) || size > frame.MaxBytes {
			return fmt.Errorf("the driver says %d bytes an image, %v with %d bytes a row takes %d", size, g.geometry, step, p.need)
		}
		p.sizeImage = int(planes[i].SizeImage)
	}
	return nil
}

// layOutPacked is layOut for frames of varying length.
func (g *grant) layOutPacked(l frame.Format, width, height uint32, planes []planeFormat) (err error) {
	if len(planes) != 1 {
		return fmt.Errorf("the driver has %d planes, there should be 1", len(planes))
	}
	size := planes[0].SizeImage
	if size < 1 || size > mjpeg.MaxBytes {
		return fmt.Errorf("the driver says %d bytes an image, 1 to %d are carried", size, mjpeg.MaxBytes)
	}
	if g.geometry, err = frame.NewCompressed(l.Encoding, bound(width), bound(height), int(size)); err != nil {
		return err
	}
	g.planes = []planeLayout{{bytes: int(size), need: g.geometry.MinBytes(), sizeImage: int(size)}}
	return nil
}

// setRate asks for a rate, 0 = only asks what it is, and returns the interval
// that the driver granted; 0 if it does not say.
func (d *Device) setRate(rate float64) (time.Duration, error) {
	p := streamParm{Type: d.bufType}
	if err := d.k.ioctl(reqGetParm, unsafe.Pointer(&p)); err != nil {
		if absent(err) {
			return 0, nil // many drivers know no rates
		}
		return 0, explain("VIDIOC_G_PARM", d.Path, err)
	}
	if rate > 0 && p.Capability&parmTimePerFrame != 0 {
		ask := streamParm{Type: d.bufType, TimePerFrame: intervalOf(rate)}
		switch err := d.k.ioctl(reqSetParm, unsafe.Pointer(&ask)); {
		case err == nil:
			p = ask
		case !absent(err):
			return 0, explain("VIDIOC_S_PARM", d.Path, err)
		}
	}
	r := p.TimePerFrame.rate()
	if r <= 0 {
		return 0, nil
	}
	return time.Duration(float64(time.Second) / r), nil
}

// intervalOf is the fraction of a second that belongs to a rate; rates such as
// 29.97 keep three decimals.
func intervalOf(rate float64) fraction {
	if n := math.Round(rate); math.Abs(rate-n) < 1e-6 && n >= 1 {
		return fraction{1, uint32(n)}
	}
	// The NTSC rates, n*1000/1001.
	if n := math.Round(rate * 1001 / 1000); math.Abs(rate-n*1000/1001) < 0.005 && n >= 1 {
		return fraction{1001, uint32(n) * 1000}
	}
	return fraction{1000, uint32(max(1, math.Round(rate*1000)))}
}

// errLayout: the driver's planes do not lie as they do in a frame.
var errLayout = errors.New("the driver's layout does not fit into a frame")

// inPlace reports why the driver cannot write into a slot, if it cannot.
func (g grant) inPlace() error {
	for i, p := range g.planes[1:] {
		if before := g.planes[i]; before.offset+before.sizeImage > p.offset {
			return fmt.Errorf("%w: it may write %d bytes into a plane of %d", errLayout, before.sizeImage, p.offset-before.offset)
		}
	}
	// A slot is for the frame: a driver that wants a multiple gets copies.
	if n, most := g.slotBytes(), 2*g.geometry.Size()+1<<20; n > most {
		return fmt.Errorf("%w: it wants %d bytes for a frame of %d", errLayout, n, g.geometry.Size())
	}
	return nil
}

// slotBytes is the memory that a slot needs for the driver to write into it.
func (g grant) slotBytes() int {
	last := g.planes[len(g.planes)-1]
	return max(g.geometry.Size(), last.offset+last.sizeImage)
}
