// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"time"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Stream is a queue of work on the device, done in order.
type Stream uintptr

// Event marks a place in a stream. One that was never recorded counts as passed.
type Event uintptr

// StreamPriorities are the lowest and the highest priority of NewStream; lower
// numbers come first. They concern kernels, not copies.
func (t *Thread) StreamPriorities() (least, greatest int, err error) {
	err = t.do(fnCtxGetStreamPriorityRange, dl.Address(&t.out.number), dl.Address(&t.out.flag))
	return int(t.out.number), int(t.out.flag), err
}

// NewStream is a stream that does not wait for the default stream of others.
func (t *Thread) NewStream(priority int) (Stream, error) {
	if err := t.do(fnStreamCreateWithPriority, dl.Address(&t.out.address), streamNonBlocking, uintptr(priority)); err != nil {
		return 0, err
	}
	return Stream(t.out.address), nil
}

// DestroyStream lets go of a stream. Its queued work is still done.
func (t *Thread) DestroyStream(s Stream) error { return t.do(fnStreamDestroy2, uintptr(s)) }

// StreamSync waits until all work of the stream is done.
func (t *Thread) StreamSync(s Stream) error { return t.do(fnStreamSynchronize, uintptr(s)) }

// Sync waits until all work of the context is done that was queued before, on
// whatever stream.
func (t *Thread) Sync() error { return t.do(fnCtxSynchronize) }

// StreamQuery reports whether all work of the stream is done.
func (t *Thread) StreamQuery(s Stream) (done bool, err error) {
	return t.ask(fnStreamQuery, uintptr(s))
}

// StreamWait makes later work of s wait until ev, as it is recorded now, is
// passed. Recording ev again changes nothing about that.
func (t *Thread) StreamWait(s Stream, ev Event) error {
	return t.do(fnStreamWaitEvent, uintptr(s), uintptr(ev), eventWaitDefault)
}

// NewEvent is an event without times, whose EventSync sleeps.
func (t *Thread) NewEvent() (Event, error) {
	if err := t.do(fnEventCreate, dl.Address(&t.out.address), eventBlockingSync|eventDisableTiming); err != nil {
		return 0, err
	}
	return Event(t.out.address), nil
}

// DestroyEvent lets go of an event, passed or not.
func (t *Thread) DestroyEvent(ev Event) error { return t.do(fnEventDestroy2, uintptr(ev)) }

// Record puts ev behind all that is queued on s.
func (t *Thread) Record(ev Event, s Stream) error {
	return t.do(fnEventRecord, uintptr(ev), uintptr(s))
}

// EventQuery reports whether ev is passed.
func (t *Thread) EventQuery(ev Event) (done bool, err error) {
	return t.ask(fnEventQuery, uintptr(ev))
}

// EventSync waits until ev is passed, asleep.
func (t *Thread) EventSync(ev Event) error { return t.do(fnEventSynchronize, uintptr(ev)) }

// Wait waits until ev is passed: for the time spin it asks again and again,
// which sees the end soonest, then it sleeps in the driver.
func (t *Thread) Wait(ev Event, spin time.Duration) error {
	for start := time.Now(); spin > 0; {
		if done, err := t.EventQuery(ev); done || err != nil {
			return err
		}
		if time.Since(start) >= spin {
			break
		}
	}
	return t.EventSync(ev)
}

// ask is do for functions that answer whether something is done.
func (t *Thread) ask(s symbol, arg uintptr) (bool, error) {
	r, err := t.query(s, arg)
	if err != nil || r == NotReady {
		return false, err
	}
	return r == Success, failed(s, r)
}
