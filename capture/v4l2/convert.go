// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/convert"
	"github.com/seed-3c7e7623/camd/frame"
)

// conversion makes frames in the driver's buffers (MMAP) into those of another
// encoding in slots, where somebody reads them.
type conversion struct {
	*copied
	conv  *convert.Converter
	whole []byte // a frame put together, of drivers with several planes; else nil
}

// target is the geometry that frames are converted into.
func (g grant) target() (frame.Geometry, error) {
	return frame.NewGeometry(g.out, g.geometry.Width, g.geometry.Height)
}

func newConversion(q *queue, w capture.Writer, g grant) (*conversion, error) {
	dst, err := g.target()
	if err != nil {
		return nil, err
	}
	c := g.color
	conv, err := convert.New(g.geometry, dst, convert.Options{
		Color:   frame.ColorFromV4L2(g.geometry.Encoding, c.space, c.encoding, c.quantization),
		Workers: workers(g.geometry),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", capture.ErrFormatRefused, err)
	}
	t := &conversion{copied: newCopied(q, w), conv: conv}
	if len(g.planes) > 1 {
		t.whole = make([]byte, g.geometry.Size())
	}
	return t, nil
}

// workers is how many goroutines convert: one keeps up with 1080p at 60 frames
// per second.
func workers(g frame.Geometry) int {
	const enough = 1920 * 1088
	if g.Width*g.Height <= enough {
		return 1
	}
	return min(runtime.NumCPU(), 4)
}

// String implements transfer.
func (t *conversion) String() string { return "mmap, converted" }

func (t *conversion) deliver(i int, st capture.Stamp) error {
	if !capture.Wanted(t.w) {
		return t.again(i)
	}
	s, err := t.w.Acquire()
	switch {
	case errors.Is(err, capture.ErrNoSlot):
		t.w.Drop(1, capture.DropNoSlot)
		return t.again(i)
	case err != nil:
		return err
	}
	src := t.content(i, 0)
	if t.whole != nil {
		for p, l := range t.q.planes {
			st.CopiedBytes += copy(t.whole[l.offset:l.offset+l.bytes], t.content(i, p))
		}
		src = t.whole
	}
	problem := t.conv.Convert(s.Data, src)
	if err := t.again(i); err != nil {
		t.w.Discard(s)
		return err
	}
	if problem != nil { // the driver's figures reach beyond its buffer
		t.w.Discard(s)
		t.w.Drop(1, capture.DropDamaged)
		return nil
	}
	st.CopiedBytes += len(s.Data)
	t.w.Commit(s, st)
	return nil
}

func (t *conversion) finish() {
	t.conv.Close()
	t.copied.finish()
}
