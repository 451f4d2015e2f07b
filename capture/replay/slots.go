// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/frame"
)

// inSlots reads frames into the slots of one stream.
type inSlots struct {
	*output
	rec  *recording
	sink capture.Sink

	slot   *capture.Slot // that was taken; nil = there was none
	copied int           // bytes, from memory to memory
}

func (d *inSlots) fit(frame.Geometry) error { return d.open(d.sink, d.rec.clip) }

func (d *inSlots) take() error {
	slot, err := d.writer.Acquire()
	if err != nil && !errors.Is(err, capture.ErrNoSlot) {
		return err
	}
	d.slot = slot
	var dst []byte
	if slot != nil {
		dst = slot.Data[:d.geometry.Size()]
	}
	d.copied, err = d.rec.read(dst)
	return err
}

func (d *inSlots) publish(st capture.Stamp) {
	st.CopiedBytes = d.copied
	d.output.publish(d.slot, st)
	d.slot = nil
}

func (d *inSlots) discard() {
	if d.slot != nil {
		d.writer.Discard(d.slot)
		d.slot = nil
	}
}

func (d *inSlots) damaged(err error) { d.writer.Drop(1, mjpeg.DropReason(err)) }

func (d *inSlots) close() {}
