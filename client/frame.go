// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/ring"
	"github.com/seed-3c7e7623/camd/zenoh"
)

// handle is the reusable inside of a Frame. ticket changes when it is released,
// so that a Frame that was kept too long finds out.
type handle struct {
	sub    *Subscription
	ticket atomic.Uint64 // odd while held
	refs   int           // the loop's use and each Retained, 0: not held; belongs to sub.mu
	inLoop bool          // not released by the loop; belongs to sub.mu
	taken  int64         // CLOCK_MONOTONIC

	lease    ring.Lease // its Word is that of a ring
	geometry frame.Geometry
	session  frame.Session
	number   uint64       // of the epoch
	message  int          // bytes that came, with what is around the pixels
	epoch    *epoch       // whose lease it is; nil: the memory is that of sample
	sample   zenoh.Sample // its memory goes back at release
}

// Frame is a frame that is held: a small value to be passed around freely. Its
// memory is the daemon's, or with the path cpu the buffer in which it was
// received, and stays as it is until Release. After that the methods return
// nothing, and Valid returns ErrReleased.
type Frame struct {
	h      *handle
	ticket uint64
}

func (f Frame) live() bool { return f.h != nil && f.h.ticket.Load() == f.ticket }

// Data is the pixels, laid out as Geometry says, mapped read-only: writing to
// it crashes the program, except with the path cpu. With the path cuda it is
// nil: see Device. It must not be used after Release.
func (f Frame) Data() []byte {
	if !f.live() {
		return nil
	}
	return f.h.lease.Data
}

// Meta is the frame's counters and stamps.
func (f Frame) Meta() frame.Meta {
	if !f.live() {
		return frame.Meta{}
	}
	return f.h.lease.Meta
}

// Geometry is the frame's size and layout, which can change from frame to frame
// when the camera is reconfigured.
func (f Frame) Geometry() frame.Geometry {
	if !f.live() {
		return frame.Geometry{}
	}
	return f.h.geometry
}

// Color says what the samples of a frame of Y'CbCr mean, as far as the camera
// said. It says nothing of a frame of a topic: ROS messages do not.
func (f Frame) Color() frame.Color {
	if !f.live() || f.h.epoch == nil {
		return frame.Color{}
	}
	return f.h.epoch.info.Color
}

// Session is the daemon run that the frame comes from; with the path cpu, the
// publisher's GID.
func (f Frame) Session() frame.Session {
	if !f.live() {
		return frame.Session{}
	}
	return f.h.session
}

// Epoch counts the stream's formats within the session.
func (f Frame) Epoch() uint64 {
	if !f.live() {
		return 0
	}
	return f.h.number
}

// MessageBytes is how many bytes came: with the path cpu those of the whole ROS
// message, which is what ros2 topic bw counts, else those of the frame.
func (f Frame) MessageBytes() int {
	if !f.live() {
		return 0
	}
	return f.h.message
}

// HeldNanos is CLOCK_MONOTONIC in nanoseconds at which Next had the frame in
// hand.
func (f Frame) HeldNanos() int64 {
	if !f.live() {
		return 0
	}
	return f.h.taken
}

// Valid reports whether the pixels are still this frame's: nil, ErrStaleFrame
// or ErrReleased. A program that may hold frames for seconds asks after it has
// read them.
func (f Frame) Valid() error {
	if !f.live() {
		return ErrReleased
	}
	if e := f.h.epoch; e != nil {
		if err := e.view.Check(f.h.lease.Word); err != nil {
			return fmt.Errorf("%w: %w", ErrStaleFrame, err)
		}
	}
	return nil
}

// Release gives the frame back. A second call does nothing.
func (f Frame) Release() {
	if f.h != nil {
		f.h.sub.release(f, false)
	}
}

// Retained is a frame that outlives the turn of the loop in which it came. The
// program releases it; one that is garbage collected first is reported in the
// log and released.
type Retained struct {
	Frame
	cleanup runtime.Cleanup
}

// Retain keeps the frame beyond the turn of the loop, at the cost of one of the
// subscription's credits (see WithCredit) and of a small allocation.
func (f Frame) Retain() (*Retained, error) {
	if f.h == nil || !f.h.sub.retain(f) {
		return nil, ErrReleased
	}
	r := &Retained{Frame: f}
	r.cleanup = runtime.AddCleanup(r, func(f Frame) {
		s := f.h.sub
		s.opts.log.Error("retained frame was never released", "stream", s.stream, "sequence", f.Meta().Sequence)
		s.leaked.Add(1)
		s.release(f, true)
	}, f)
	return r, nil
}

// Release gives the frame back. A second call does nothing.
func (r *Retained) Release() {
	r.cleanup.Stop()
	f := r.Frame
	r.Frame = Frame{}
	if f.h != nil {
		f.h.sub.release(f, true)
	}
}
