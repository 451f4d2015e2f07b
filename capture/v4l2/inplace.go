// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"

	"github.com/seed-3c7e7623/camd/capture"
)

// transfer is how filled buffers become frames in slots.
type transfer interface {
	// start gives the driver what it shall fill first.
	start() error
	// deliver publishes or drops the buffer i that was just dequeued, and sees
	// to it that the driver has buffers again.
	deliver(i int, st capture.Stamp) error
	// again gives buffer i, which was just dequeued, back to the driver unread.
	again(i int) error
	// detach lets go of the driver's memory, before its buffers are freed.
	detach()
	// finish returns the slots. The device must be closed: a driver whose device
	// went away may write until then.
	finish()
	String() string
}

// leastQueued is the number of buffers below which a driver begins to lose
// frames: a frame is rather dropped than the driver left with fewer.
const leastQueued = 2

// inPlace lets the driver write into the slots themselves (USERPTR).
//
// A slot always goes with the same buffer, so that the driver finds the same
// address under the same index and need not pin its pages again: ten times the
// cost. Only with more slots than buffers do they have to change partners.
type inPlace struct {
	q      *queue
	w      capture.Writer
	jpegs  *jpegs // nil = frames are published as they are
	want   int    // buffers that the driver shall have
	slots  [mostBuffers]*capture.Slot
	home   [256]int16 // buffer that a slot went with last, -1 = none
	lender int        // where the search for a free buffer begins
}

// newInPlace is for frames that are published as they are, or with j for JPEG.
func newInPlace(q *queue, w capture.Writer, j *jpegs, want int) *inPlace {
	t := &inPlace{q: q, w: w, jpegs: j, want: min(want, q.granted)}
	for i := range t.home {
		t.home[i] = -1
		if i < q.granted {
			t.home[i] = int16(i)
		}
	}
	return t
}

// String implements transfer.
func (t *inPlace) String() string { return "userptr" }

func (t *inPlace) start() error {
	if err := t.refill(); err != nil {
		return err
	}
	if t.q.queued == 0 {
		return fmt.Errorf("starting %s: %w", t.q.d.Path, capture.ErrNoSlot)
	}
	return nil
}

// refill gives the driver free slots until it has what it shall have. Having
// none is no error.
func (t *inPlace) refill() error {
	for t.q.queued < t.want {
		s, err := t.w.Acquire()
		if errors.Is(err, capture.ErrNoSlot) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.take(s); err != nil {
			return err
		}
	}
	return nil
}

// take gives a new slot to the driver, or back to the writer if that fails.
func (t *inPlace) take(s *capture.Slot) error {
	err := t.give(t.partner(s.Index), s)
	if err != nil {
		t.w.Discard(s)
	}
	return err
}

// partner is the buffer for a slot. There is a free one, as fewer are with the
// driver than granted and none is at hand.
func (t *inPlace) partner(slot int) int {
	if b := t.home[slot]; b >= 0 && t.slots[b] == nil {
		return int(b)
	}
	for t.slots[t.lender] != nil {
		t.lender = (t.lender + 1) % t.q.granted
	}
	b := t.lender
	t.lender = (t.lender + 1) % t.q.granted
	t.home[slot] = int16(b)
	return b
}

func (t *inPlace) give(i int, s *capture.Slot) error {
	if err := t.q.enqueueUser(i, s.Data[:cap(s.Data)]); err != nil {
		return explain("VIDIOC_QBUF", t.q.d.Path, err)
	}
	t.slots[i] = s
	return nil
}

// errOffset: a driver that begins planes elsewhere than at their start.
var errOffset = errors.New("the driver begins a plane with other data: set memory=mmap")

func (t *inPlace) deliver(i int, st capture.Stamp) error {
	for p := range t.q.planes {
		if offset, _ := t.q.filled(p); offset != 0 {
			return fmt.Errorf("%w: %w", capture.ErrConfig, errOffset)
		}
	}
	spare, err := t.spare()
	switch {
	case errors.Is(err, capture.ErrNoSlot):
		t.drop(1, capture.DropNoSlot)
		return t.again(i)
	case err != nil:
		return err
	}
	if err := t.check(i); err != nil {
		if spare != nil {
			t.w.Discard(spare)
		}
		if err = t.jpegs.lost(err); err != nil {
			return err
		}
		return t.again(i)
	}
	s := t.slots[i]
	t.slots[i] = nil
	t.commit(s, st)
	if spare != nil {
		if err := t.take(spare); err != nil {
			return err
		}
	}
	return t.refill()
}

// spare is a slot to replace the one at hand where the driver has too few; nil
// where it has enough.
func (t *inPlace) spare() (*capture.Slot, error) {
	if t.q.queued >= min(leastQueued, t.want) {
		return nil, nil
	}
	return t.w.Acquire()
}

// check takes a JPEG to publish it.
func (t *inPlace) check(i int) error {
	if t.jpegs == nil {
		return nil
	}
	_, n := t.q.filled(0)
	return t.jpegs.streams.TakeSlot(t.slots[i], n)
}

func (t *inPlace) commit(s *capture.Slot, st capture.Stamp) {
	if t.jpegs != nil {
		t.jpegs.streams.Publish(st)
		return
	}
	t.w.Commit(s, st)
}

func (t *inPlace) drop(n int, reason capture.DropReason) {
	if t.jpegs != nil {
		t.jpegs.streams.Drop(n, reason)
		return
	}
	t.w.Drop(n, reason)
}

func (t *inPlace) again(i int) error { return t.give(i, t.slots[i]) }

func (t *inPlace) detach() {}

func (t *inPlace) finish() {
	for i, s := range t.slots {
		if s != nil {
			t.slots[i] = nil
			t.w.Discard(s)
		}
	}
}
