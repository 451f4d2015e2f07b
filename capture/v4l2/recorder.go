// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/frame"
)

// recorder is what one session builds up, and takes down again.
type recorder struct {
	*Source
	d      *Device
	seen   pictures
	grant  grant
	format capture.Format
	q      *queue
	t      transfer
	w      capture.Writer
	jpegs  *jpegs // nil = the device delivers none
	drops  dropper
}

// close ends everything in the order in which it cannot hurt: the driver may
// write into the slots until its node is closed.
func (r *recorder) close() {
	if r.q != nil {
		_ = r.q.streamOff()
		if r.t != nil {
			r.t.detach()
		}
		r.q.free()
		r.q.pinner.Unpin()
	}
	_ = r.d.Close()
	if r.t != nil {
		r.t.finish()
	}
	if r.jpegs != nil {
		r.jpegs.close()
	}
}

// prepare agrees with the driver on what will be delivered.
func (r *recorder) prepare() error {
	if err := r.d.selectInput(r.input); err != nil {
		return err
	}
	offered, err := r.d.Formats()
	if err != nil {
		return err
	}
	g, err := r.d.negotiate(r.wish, offered)
	if err != nil {
		return fmt.Errorf("%s: %w", r.d.Info.Card, err)
	}
	r.grant = g
	differs := g.differs(r.wish)
	if differs != "" && r.strict {
		return fmt.Errorf("%w: %s grants %s (strict=true; it offers %s)", capture.ErrFormatRefused, r.d.Info.Card, differs, sizesText(offered, g.code))
	}
	for _, w := range g.warnings {
		r.log().Warn("driver contradicts itself", "device", r.d.Path, "driver", r.d.Info.Driver, "problem", w)
	}
	r.mu.Lock()
	r.note = strings.Trim(differs+", "+g.how(r.wish), ", ")
	r.mu.Unlock()
	return r.d.applyControls(r.controls, r.log())
}

// sizesText lists the sizes of one pixel format.
func sizesText(offered []PixelFormat, code frame.FourCC) string {
	var parts []string
	for _, f := range offered {
		if f.FourCC != code {
			continue
		}
		for _, s := range f.Sizes {
			text := s.String()
			for i, r := range s.Rates {
				if i == 0 {
					text += " @"
				} else {
					text += ","
				}
				text += rateText(r.Max)
			}
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "sizes that the driver does not tell"
	}
	return strings.Join(parts, "; ")
}

// begin makes the buffers and starts the stream.
func (r *recorder) begin(sink capture.Sink) error {
	r.q = newQueue(r.d, r.grant.planes)
	if err := r.request(); err != nil {
		return err
	}
	if err := r.open(sink); err != nil {
		return err
	}
	if r.q.memory == memoryUserptr {
		r.t = newInPlace(r.q, r.w, r.jpegs, r.buffers)
		if err := r.t.start(); err != nil {
			if r.memory == memoryNameUser || !(errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EFAULT) || errors.Is(err, unix.ENOMEM)) {
				return err
			}
			r.log().Warn("driver does not take shared memory, frames are copied", "device", r.d.Path, "err", err)
			if err := r.replaceByCopies(sink); err != nil {
				return err
			}
		}
	}
	if r.q.memory == memoryMmap {
		if err := r.copies(); err != nil {
			return err
		}
		if err := r.t.start(); err != nil {
			return err
		}
	}
	if err := r.q.streamOn(); err != nil {
		return err
	}
	info := r.d.Info
	r.log().Info("device opened", "device", r.d.Path, "card", info.Card, "driver", info.Driver,
		"asked", r.wish.String(), "granted", r.grant.String(), "fourcc", r.grant.code.String(), "step", r.grant.geometry.Step,
		"memory", r.t.String(), "buffers", r.q.granted, "clock", r.format.Clock.String(), "differs", r.note)
	if r.jpegs != nil {
		if name, problem := r.jpegs.streams.Decoder(); problem != nil {
			r.log().Info("frames are decoded slowly, and not all damage is seen", "decoder", name, "reason", problem)
		}
	}
	return nil
}

// open declares the streams.
func (r *recorder) open(sink capture.Sink) (err error) {
	g := r.grant
	r.format = capture.Format{Geometry: g.geometry, Interval: g.interval, Clock: r.clock(), Held: r.buffers}
	switch g.way {
	case decoded:
		return r.openJPEG(sink)
	case converted:
		if r.format.Geometry, err = g.target(); err != nil {
			return err
		}
	}
	c := g.color
	r.format.Color = frame.ColorFromV4L2(r.format.Geometry.Encoding, c.space, c.encoding, c.quantization)
	if r.q.memory == memoryUserptr {
		r.format.MinSlotBytes = g.slotBytes()
	}
	r.w, err = sink.Open(Stream, r.format)
	r.drops = r.w
	return err
}

func (r *recorder) openJPEG(sink capture.Sink) error {
	g := r.grant
	c := mjpeg.Config{
		Stream: Stream, Width: g.geometry.Width, Height: g.geometry.Height, Encoding: g.out, MaxBytes: g.geometry.Max,
		Interval: g.interval, Clock: r.format.Clock, InPlace: r.q.memory == memoryUserptr, Held: r.buffers,
	}
	if r.seen.width > 0 {
		c.Width, c.Height = r.seen.width, r.seen.height
	}
	streams, err := mjpeg.Open(sink, c)
	if err != nil {
		return err
	}
	r.jpegs = &jpegs{streams: streams, log: r.log()}
	r.w, r.drops = streams.Compressed(), streams
	return nil
}

// copies makes the transfer for memory of the driver.
func (r *recorder) copies() (err error) {
	switch r.grant.way {
	case decoded:
		r.t = newPacked(r.q, r.jpegs)
	case converted:
		var t *conversion
		if t, err = newConversion(r.q, r.w, r.grant); err == nil {
			r.t = t
		}
	default:
		r.t = newCopied(r.q, r.w)
	}
	return err
}

// errNoBuffers: the driver accepts a request and grants nothing.
var errNoBuffers = errors.New("the driver grants no buffers")

// request asks for buffers, in the memory that the user and the driver allow.
func (r *recorder) request() error {
	if r.grant.way == converted {
		if r.memory == memoryNameUser {
			return fmt.Errorf("%w: memory=userptr: %s, which takes a copy", capture.ErrUnsupported, r.grant.how(r.wish))
		}
		return r.requestMapped()
	}
	if r.memory == memoryNameUser || (r.memory == memoryAuto && !r.seen.vary) {
		err := r.grant.inPlace()
		if err == nil {
			// All that there can be, so that every slot has a buffer of its own.
			err = r.q.request(memoryUserptr, mostBuffers)
		}
		if err == nil && r.q.granted == 0 {
			err = errNoBuffers
		}
		switch {
		case err == nil:
			return nil
		case !absent(err) && !errors.Is(err, errLayout) && !errors.Is(err, errNoBuffers):
			return explain("VIDIOC_REQBUFS", r.d.Path, err)
		}
		if r.memory == memoryNameUser {
			return fmt.Errorf("%w: %s cannot write into shared memory (memory=userptr): %w", capture.ErrUnsupported, r.d.Path, err)
		}
		r.log().Info("driver cannot write into shared memory, frames are copied", "device", r.d.Path, "driver", r.d.Info.Driver, "reason", err)
	}
	return r.requestMapped()
}

func (r *recorder) requestMapped() error {
	if err := r.q.request(memoryMmap, r.buffers); err != nil {
		return explain("VIDIOC_REQBUFS", r.d.Path, err)
	}
	if r.q.granted == 0 {
		return fmt.Errorf("%s: %w", r.d.Path, errNoBuffers)
	}
	return nil
}

func (r *recorder) replaceByCopies(sink capture.Sink) error {
	r.q.free()
	r.t.finish()
	r.t = nil
	if err := r.requestMapped(); err != nil || r.jpegs == nil {
		return err
	}
	// The streams may change their memory now.
	r.jpegs.close()
	r.jpegs = nil
	return r.open(sink)
}

// clock asks the driver which clock its stamps are of.
func (r *recorder) clock() frame.Clock {
	if err := r.q.query(0); err == nil && r.q.buf.Flags&bufFlagTimestampMask == bufFlagMonotonic {
		return frame.ClockMonotonic
	}
	return frame.ClockArrival
}
