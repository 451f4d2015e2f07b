// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"

	"github.com/seed-3c7e7623/camd/capture"
)

// copied copies frames once from the driver's buffers into slots (MMAP).
type copied struct {
	q    *queue
	w    capture.Writer
	maps [mostBuffers][maxPlanes][]byte
}

func newCopied(q *queue, w capture.Writer) *copied { return &copied{q: q, w: w} }

// String implements transfer.
func (t *copied) String() string { return "mmap" }

func (t *copied) start() error {
	for i := range t.q.granted {
		if err := t.mapBuffer(i); err != nil {
			return err
		}
	}
	for i := range t.q.granted {
		if err := t.again(i); err != nil {
			return err
		}
	}
	return nil
}

func (t *copied) mapBuffer(i int) error {
	if err := t.q.query(i); err != nil {
		return err
	}
	for p := range t.q.planes {
		offset, length := int64(t.q.buf.M&0xffffffff), int(t.q.buf.Length)
		if t.q.d.bufType == bufTypeCaptureMplane {
			offset, length = int64(t.q.parts[p].M&0xffffffff), int(t.q.parts[p].Length)
		}
		if length < t.q.planes[p].need {
			return fmt.Errorf("buffer %d of %s has %d bytes, a frame takes %d", i, t.q.d.Path, length, t.q.planes[p].need)
		}
		m, err := t.q.d.k.mmap(offset, length)
		if err != nil {
			return fmt.Errorf("mapping %d bytes of buffer %d: %w", length, i, err)
		}
		t.maps[i][p] = m
	}
	return nil
}

func (t *copied) deliver(i int, st capture.Stamp) error {
	s, err := t.w.Acquire()
	switch {
	case errors.Is(err, capture.ErrNoSlot):
		t.w.Drop(1, capture.DropNoSlot)
		return t.again(i)
	case err != nil:
		return err
	}
	whole := true
	for p, l := range t.q.planes {
		n := copy(s.Data[l.offset:l.offset+l.bytes], t.content(i, p))
		whole = whole && n >= l.need
		st.CopiedBytes += n
	}
	if err := t.again(i); err != nil {
		t.w.Discard(s)
		return err
	}
	if !whole { // the driver's figures reach beyond its buffer
		t.w.Discard(s)
		t.w.Drop(1, capture.DropDamaged)
		return nil
	}
	t.w.Commit(s, st)
	return nil
}

// content is what the driver says it wrote into plane p of buffer i, as far as
// it is in the buffer.
func (t *copied) content(i, p int) []byte {
	offset, n := t.q.filled(p)
	b := t.maps[i][p]
	b = b[min(offset, len(b)):]
	return b[:min(n, len(b))]
}

func (t *copied) again(i int) error {
	if err := t.q.enqueueMapped(i); err != nil {
		return explain("VIDIOC_QBUF", t.q.d.Path, err)
	}
	return nil
}

func (t *copied) finish() {}

func (t *copied) detach() {
	for i := range t.maps {
		for p, m := range t.maps[i] {
			if m != nil {
				t.maps[i][p] = nil
				_ = t.q.d.k.munmap(m)
			}
		}
	}
}
