// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// output publishes the frames of one run when they are due, whoever read them.
type output struct {
	*Source
	geometry frame.Geometry
	color    frame.Color // of the recording, as far as it says
	writer   capture.Writer
	schedule pace.Schedule
	ticks    uint64 // frames due so far, over all passes
	warned   bool   // that the recording is damaged
}

// open declares the stream.
func (o *output) open(sink capture.Sink, c clip) (err error) {
	o.writer, err = sink.Open(Stream, o.format(c))
	return err
}

// format is what the sink is told.
func (o *output) format(c clip) capture.Format {
	f := capture.Format{Geometry: o.geometry, Clock: frame.ClockReplay, Held: 1}
	if o.live {
		f.Clock = frame.ClockArrival
	}
	if o.geometry.Encoding.YUV() {
		f.Color = o.color
	}
	if r := o.played(c); r > 0 {
		o.schedule.Rate = r
		if !o.fast || o.live { // else frames come as they come
			f.Interval = o.schedule.Interval()
		}
	}
	return f
}

// due waits until the frame just read is due and returns its capture time.
func (o *output) due(ctx context.Context) (int64, error) {
	now := linux.Monotonic()
	if o.fast {
		return now, nil
	}
	if o.ticks == 0 {
		o.schedule.Start = now
	}
	at := o.schedule.At(o.ticks)
	// The decoder cannot keep up, or was stopped for a while: time goes on
	// from here instead of in a rush.
	if behind := now - at; behind > 2*int64(o.schedule.Interval())+int64(100*time.Millisecond) {
		o.schedule.Start += behind
		at = now
	}
	o.ticks++
	if err := pace.Until(ctx, at); err != nil {
		return 0, err
	}
	return at, nil
}

func (o *output) stamp(captured int64, pass int, number uint64) capture.Stamp {
	st := capture.Stamp{DriverSequence: number, CaptureNanos: captured}
	if !o.live {
		st.Flags |= frame.Replayed
	}
	if pass > 0 && number == 1 {
		st.Flags |= frame.Discontinuity
	}
	return st
}

func (o *output) publish(slot *capture.Slot, st capture.Stamp) {
	if slot == nil {
		o.writer.Drop(1, capture.DropNoSlot)
		return
	}
	o.writer.Commit(slot, st)
}
