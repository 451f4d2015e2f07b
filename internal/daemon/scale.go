// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"os"
	"unsafe"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// scaler is the capture.Writer of a stream that is made smaller. The source
// writes into memory of its own, and what somebody reads of that goes on into
// the ring, smaller. An abandoned run keeps its memory: it is the garbage
// collector's.
type scaler struct {
	*writer
	scale *convert.Downscaler
	slots []capture.Slot
	free  []int
}

// stagingSlots is how many frames of a source of format f are in its hands and
// in those of the scaler.
func stagingSlots(f capture.Format) int { return max(f.Held, 1) + 1 }

func newScaler(w *writer, f capture.Format, scale *convert.Downscaler) *scaler {
	n := stagingSlots(f)
	s := &scaler{writer: w, scale: scale, slots: make([]capture.Slot, n), free: make([]int, 0, n)}
	for i := range s.slots {
		s.slots[i] = capture.Slot{Index: i, Data: pages(f.SlotBytes())[:f.Geometry.Size()]}
		s.free = append(s.free, i)
	}
	return s
}

// pages is memory that begins with a page, as drivers want it.
func pages(bytes int) []byte {
	page := os.Getpagesize()
	whole := int(linux.PageRound(int64(bytes)))
	b := make([]byte, whole+page)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (page - 1)
	return b[skip : skip+bytes : skip+whole]
}

// Acquire implements capture.Writer.
func (s *scaler) Acquire() (*capture.Slot, error) {
	n := len(s.free)
	if n == 0 {
		return nil, capture.ErrNoSlot
	}
	slot := &s.slots[s.free[n-1]]
	s.free = s.free[:n-1]
	return slot, nil
}

// Discard implements capture.Writer.
func (s *scaler) Discard(slot *capture.Slot) { s.free = append(s.free, slot.Index) }

// Commit implements capture.Writer.
func (s *scaler) Commit(slot *capture.Slot, st capture.Stamp) {
	defer s.Discard(slot)
	if !s.Wanted() {
		s.s.skip(st)
		return
	}
	if !s.s.due(&st) {
		return
	}
	to, err := s.writer.Acquire()
	if err != nil {
		s.s.skip(st)
		s.Drop(1, capture.DropNoSlot)
		return
	}
	if err := s.scale.Scale(to.Data, slot.Data); err != nil { // sizes, which are right from the start
		s.s.skip(st)
		s.writer.Discard(to)
		s.Drop(1, capture.DropDamaged)
		return
	}
	s.publish(to, st, copies(st)+1, s.scale.Geometry().Size())
}
