// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cudabuf

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/frame"
)

var (
	// ErrHandleOpen: a WriteHandle is begun while the one before is open.
	ErrHandleOpen = errors.New("the write handle before is still open")
	// ErrHandleClosed: a WriteHandle is used after Publish or Discard.
	ErrHandleClosed = errors.New("write handle is closed")
	// ErrTooLarge: more bytes than a slot has.
	ErrTooLarge = errors.New("frame does not fit into its slot")
)

// Writer fills the slots of a ring, one at a time, on a stream of its own.
type Writer struct {
	ring   *Ring
	spin   time.Duration
	stream driver.Stream
	ready  driver.Event
	handle WriteHandle // the only one, so that a frame allocates nothing
}

// NewWriter makes the writer of a ring. spin is for how long it asks whether a
// copy is done before it sleeps.
func NewWriter(t *driver.Thread, r *Ring, spin time.Duration) (*Writer, error) {
	w := &Writer{ring: r, spin: spin}
	var err error
	if w.stream, err = t.NewStream(0); err != nil {
		return nil, err
	}
	if w.ready, err = t.NewEvent(); err != nil {
		return nil, errors.Join(err, w.Close(t))
	}
	w.handle.w = w
	return w, nil
}

// Close gives stream and event back, when what is under way has come to its end.
func (w *Writer) Close(t *driver.Thread) error {
	var errs []error
	if w.handle.open {
		if err := w.handle.Discard(t); err != nil {
			errs = append(errs, err)
			w.handle.open = false
			w.ring.Discard(w.handle.slot) // nothing writes here any more
		}
	}
	if w.ready != 0 {
		errs = append(errs, t.DestroyEvent(w.ready))
		w.ready = 0
	}
	if w.stream != 0 {
		errs = append(errs, t.DestroyStream(w.stream))
		w.stream = 0
	}
	return errors.Join(errs...)
}

// Begin takes a free slot and opens the handle on it. It never waits for a
// reader: without a free slot it fails with ring.ErrNoSlot.
func (w *Writer) Begin() (*WriteHandle, error) {
	h := &w.handle
	if h.open {
		return nil, ErrHandleOpen
	}
	slot, err := w.ring.Acquire()
	if err != nil {
		return nil, err
	}
	h.slot, h.open, h.queued = slot, true, false
	return h, nil
}

// WriteHandle is the right to write one slot. It is closed once, by Publish or
// Discard. Nothing is seen by readers before Publish has seen all work on the slot
// done.
type WriteHandle struct {
	w      *Writer
	slot   int
	open   bool
	queued bool // there is work on the slot
}

// Slot is the index of the slot.
func (h *WriteHandle) Slot() int { return h.slot }

// Upload queues a copy of src to the beginning of the slot. src must stay as it
// is until Publish or Discard returns.
func (h *WriteHandle) Upload(t *driver.Thread, src []byte) error {
	if !h.open {
		return ErrHandleClosed
	}
	if stride := h.w.ring.Layout().StrideBytes; int64(len(src)) > stride {
		return fmt.Errorf("%w: %d bytes, the slot has %d", ErrTooLarge, len(src), stride)
	}
	h.queued = true
	return t.HtoD(h.w.ring.Pointer(h.slot), src, h.w.stream)
}

// Publish waits until the work on the slot is done and hands the frame to the
// readers. If it fails, nobody gets the frame, and the slot is not used again:
// work may still be under way there.
func (h *WriteHandle) Publish(t *driver.Thread, m *frame.Meta) error {
	if !h.open {
		return ErrHandleClosed
	}
	if err := t.Record(h.w.ready, h.w.stream); err != nil {
		return err
	}
	if err := t.Wait(h.w.ready, h.w.spin); err != nil {
		return err
	}
	h.open = false
	h.w.ring.Publish(h.slot, m)
	return nil
}

// Discard gives the slot back unpublished, once no work is under way there.
func (h *WriteHandle) Discard(t *driver.Thread) error {
	if !h.open {
		return ErrHandleClosed
	}
	if h.queued {
		if err := t.StreamSync(h.w.stream); driver.Sticky(err) {
			return err
		} else if err != nil {
			// Does the driver not tell of the stream, then of the context.
			if also := t.Sync(); also != nil {
				return errors.Join(err, also)
			}
		}
	}
	h.open = false
	h.w.ring.Discard(h.slot)
	return nil
}
