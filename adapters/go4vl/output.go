// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl

import (
	"errors"
	"log/slog"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/jpeg"
)

// open declares the streams of what was granted.
func open(sink capture.Sink, g grant, log *slog.Logger) (output, error) {
	if g.geometry.Compressed() {
		streams, err := mjpeg.Open(sink, mjpeg.Config{
			Stream: Stream, Width: g.geometry.Width, Height: g.geometry.Height, MaxBytes: g.geometry.Max,
			Interval: g.interval, Clock: g.clock,
		})
		if err != nil {
			return nil, err
		}
		return &packed{Streams: streams, log: log}, nil
	}
	w, err := sink.Open(Stream, capture.Format{
		Geometry: g.geometry, Interval: g.interval, Clock: g.clock, Color: g.color, Held: 1,
	})
	if err != nil {
		return nil, err
	}
	return &raw{Writer: w, geometry: g.geometry}, nil
}

// raw publishes frames with rows.
type raw struct {
	capture.Writer
	geometry frame.Geometry
}

func (r *raw) deliver(data []byte, st capture.Stamp) error {
	if len(data) < r.geometry.Extent() {
		r.Drop(1, capture.DropDamaged)
		return nil
	}
	slot, err := r.Acquire()
	switch {
	case errors.Is(err, capture.ErrNoSlot):
		r.Drop(1, capture.DropNoSlot)
		return nil
	case err != nil:
		return err
	}
	st.CopiedBytes += copy(slot.Data, data)
	st.Copies++
	r.Commit(slot, st)
	return nil
}

func (r *raw) close() {}

// packed publishes JPEG frames, as they came and decoded: each is made only for
// those who read it.
type packed struct {
	*mjpeg.Streams
	damage mjpeg.Damage
	log    *slog.Logger
}

func (p *packed) deliver(data []byte, st capture.Stamp) error {
	err := p.Take(data)
	switch {
	case err == nil:
		p.Publish(st)
	case jpeg.Reason(err) == "":
		return err
	default:
		p.Damaged(err)
		p.damage.Add(err)
		p.damage.Log(p.log, time.Now())
	}
	return nil
}

func (p *packed) close() {
	p.damage.Flush(p.log)
	p.Close()
}
