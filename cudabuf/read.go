// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cudabuf

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

// Conditions of reading, which callers tell apart with errors.Is.
var (
	// ErrReadClosed: the handle was closed before.
	ErrReadClosed = errors.New("frame already given back")
	// ErrStream: a stream that cannot be waited for: the default stream, or one
	// that is destroyed.
	ErrStream = errors.New("not a usable CUDA stream")
	// ErrInUse: work of the GPU is not complete, or handles are open.
	ErrInUse = errors.New("still in use")
)

// Lease is what a reader holds of a frame, by whichever path that came.
type Lease interface {
	// Valid reports whether the frame's memory has been its own up to now.
	Valid() error
	// Release gives it back. It is called once, by the reaper's goroutine or by
	// Close of the handle.
	Release()
	// Abandon is called in place of Release where nothing tells that work on the
	// frame is over, because the context is lost or the driver does not answer. The
	// memory must not be written to then before the process has ended, or the
	// writer takes it back by force.
	Abandon()
}

// ReadHandle is a frame that is read on the GPU, a small value. It has two
// halves: UseOn names the streams whose work reads the frame, and Close, once
// that work is queued, marks its end in each of them. The lease goes back when
// the GPU is past all of the marks, never earlier, so that the writer needs to
// know nothing of the reader's streams. After that the frame is checked once
// more: a writer that took it back by force says so in the slot's generation,
// and what the work made of it must then not be believed (Stats.Stale).
//
// A handle belongs to one goroutine at a time.
type ReadHandle struct {
	r      *reading
	ticket uint64
}

// reading is the reusable inside of a ReadHandle.
type reading struct {
	reaper *Reaper
	ticket atomic.Uint64 // odd while open
	lease  Lease

	// Of the handle's goroutine while open, of the reaper's then.
	streams []driver.Stream // that were named
	events  []driver.Event  // of this reading; as many as it ever had streams
	unknown bool            // a stream could not be marked
	closed  int64           // CLOCK of the reaper at Close
	passed  int             // events known to be passed
	failure error           // of asking
	lost    bool            // nothing tells whether the work is over
}

// readEvents is how many events a reading has from the start: most programs use
// one or two streams.
const readEvents = 2

func (h ReadHandle) open() bool { return h.r != nil && h.r.ticket.Load() == h.ticket }

// UseOn says that work of s reads the frame. Frames are complete when they are
// handed over, so the work needs to wait for nothing. Naming a stream again does
// nothing. It fails with ErrReadClosed, and with ErrStream for the default
// streams (0, 1 and 2 in CUDA), which would make all others wait.
func (h ReadHandle) UseOn(s driver.Stream) error {
	if !h.open() {
		return ErrReadClosed
	}
	if s <= LastDefaultStream {
		return fmt.Errorf("%w: the default stream (%d): name one of your own", ErrStream, s)
	}
	if !slices.Contains(h.r.streams, s) {
		h.r.streams = append(h.r.streams, s)
	}
	return nil
}

// LastDefaultStream is CU_STREAM_PER_THREAD: handles up to it are no streams of
// anybody's own (CUDA driver API, stream handles).
const LastDefaultStream = driver.Stream(2)

// Uses reports whether s was named.
func (h ReadHandle) Uses(s driver.Stream) bool { return h.open() && slices.Contains(h.r.streams, s) }

// Close gives the frame back once the work that was queued on its streams up to
// now is complete. It never waits. It fails with ErrReadClosed on a second call,
// and with ErrStream or a driver.Error if a stream could not be marked: the
// frame then goes back when all work of the context is complete.
func (h ReadHandle) Close() error {
	if h.r == nil || !h.r.ticket.CompareAndSwap(h.ticket, h.ticket+1) {
		return ErrReadClosed
	}
	return h.r.reaper.close(h.r)
}

// mark records the reading's events, on the submitting thread.
func (r *reading) mark(t *driver.Thread) error {
	var errs []error
	for i, s := range r.streams {
		if i == len(r.events) {
			ev, err := t.NewEvent()
			if err != nil {
				r.unknown = true
				errs = append(errs, err)
				break
			}
			r.events = append(r.events, ev)
		}
		if err := t.Record(r.events[i], s); err != nil {
			r.unknown = true
			errs = append(errs, fmt.Errorf("%w: %#x: %w", ErrStream, uintptr(s), err))
		}
	}
	if errs == nil {
		return nil
	}
	return errors.Join(errs...)
}

// complete asks the driver, on the watching thread, whether all work is done.
// An error of the driver ends the wait, as it would come again for ever.
func (r *reading) complete(t *driver.Thread) bool {
	if r.unknown {
		r.failure = t.Sync()
		r.lost = r.failure != nil
		return true
	}
	for r.passed < len(r.streams) {
		done, err := t.EventQuery(r.events[r.passed])
		if err != nil {
			// A context that is lost tells nothing of its work any more. Otherwise
			// this event does not: all work of the context is waited for.
			r.failure, r.lost = err, true
			if !driver.Sticky(err) {
				all := t.Sync()
				r.failure, r.lost = errors.Join(err, all), all != nil
			}
			return true
		}
		if !done {
			return false
		}
		r.passed++
	}
	return true
}
