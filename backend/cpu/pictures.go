// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"encoding/binary"
	"time"

	"github.com/seed-3c7e7623/camd/jpeg"
	"github.com/seed-3c7e7623/camd/ros2/graph"
)

// image sends a frame as an Image and returns the pixels that it has. They stay
// as they are until the next frame.
func (w *worker) image(e *epoch, h *hold, t *Topic) []byte {
	p := <-t.parcels
	pl := e.plan
	if pl.toImage == nil {
		return w.asItIs(e, h, t, p)
	}
	pixels := p.room(pl.out.Size())
	if err := pl.toImage.Convert(pixels, h.lease.Data); err != nil { // sizes, which are right from the start
		t.parcels <- p
		t.counts.skipped.Add(1)
		return nil
	}
	if pl.packs {
		t.counts.copies.Add(1)
	} else {
		t.counts.conversions.Add(1)
	}
	w.cached(t)
	t.send(p, pixels)
	return pixels
}

// asItIs sends the bytes that lie in the slot, and keeps it until the kernel has
// them. On a link that does not take them in time, they are copied out.
func (w *worker) asItIs(e *epoch, h *hold, t *Topic, p *parcel) []byte {
	data := h.lease.Data
	if e.tight || w.overdue(e) {
		data = p.room(len(data))
		copy(data, h.lease.Data)
		t.counts.copies.Add(1)
	} else {
		p.keep(h.retain())
	}
	w.cached(t)
	t.send(p, data)
	return data
}

// cached counts the copy that is kept for late subscribers.
func (w *worker) cached(t *Topic) {
	if w.b.o.QoS.Durability == graph.TransientLocal {
		t.counts.copies.Add(1)
	}
}

// compressed sends a frame as a CompressedImage. pixels are those of the Image
// that was sent before, if one was.
func (w *worker) compressed(e *epoch, h *hold, t *Topic, pixels []byte) {
	pl := e.plan
	if pl.from == captured {
		w.look(e, h, t)
		setLength(t.prefix, len(h.lease.Data))
		w.asItIs(e, h, t, <-t.parcels)
		return
	}
	if !w.pace.due(h.lease.Meta.CaptureNanos, w.b.o.MaxRate) {
		t.counts.skipped.Add(1)
		return
	}
	switch {
	case pl.from == fromFrame:
		pixels = h.lease.Data
	case pl.from == fromImage && pixels != nil:
	default:
		convert := pl.toJPEG
		if pl.from == fromImage {
			convert = pl.toImage
		}
		if n := pl.jpeg.Size(); cap(w.own) < n {
			w.own = make([]byte, n)
		}
		pixels = w.own[:pl.jpeg.Size()]
		if convert.Convert(pixels, h.lease.Data) != nil {
			t.counts.skipped.Add(1)
			return
		}
		t.counts.conversions.Add(1)
	}
	p := <-t.parcels
	data, err := w.encode(p, pl, pixels)
	if err != nil {
		t.parcels <- p
		t.counts.skipped.Add(1)
		return
	}
	t.counts.encoded.Add(1)
	setLength(t.prefix, len(data))
	w.cached(t)
	t.send(p, data)
}

// look finds out from the first frame of an epoch whether the camera's JPEG is
// grey.
func (w *worker) look(e *epoch, h *hold, t *Topic) {
	if w.looked == e {
		return
	}
	w.looked = e
	i, err := jpeg.Validate(h.lease.Data, jpeg.Limits{})
	if err != nil || i.Components != 1 {
		return
	}
	w.b.mu.Lock()
	w.describeJPEG(t, e.plan.format(true))
	w.b.mu.Unlock()
	setStamp(t.prefix, w.b.o.Stamp.HeaderNanos(&h.lease.Meta))
}

func (w *worker) encode(p *parcel, pl *plan, pixels []byte) ([]byte, error) {
	if w.encoder == nil {
		var err error
		if w.encoder, err = jpeg.NewEncoder(jpeg.Auto); err != nil {
			return nil, err
		}
		if problem := w.encoder.Problem(); problem != nil {
			w.b.o.Log.Warn("JPEG is encoded slowly", "stream", w.b.o.Stream, "encoder", w.encoder.Backend(), "err", problem)
		}
	}
	data, err := w.encoder.Encode(p.own, pl.jpeg, pixels, w.b.o.Quality)
	if err == nil {
		p.own = data
	}
	return data, err
}

// setLength sets the count of bytes with which the prefix of a CompressedImage
// ends.
func setLength(prefix []byte, n int) {
	binary.LittleEndian.PutUint32(prefix[len(prefix)-4:], uint32(n))
}

// pace lets no more than so many frames a second pass.
type pace struct{ next int64 }

// due says whether the frame with this stamp (ns) passes: the one that is
// nearest to its time. After a pause, and when the clock went back, a new series
// begins.
func (p *pace) due(stamp int64, perSecond float64) bool {
	if perSecond <= 0 {
		return true
	}
	period := int64(float64(time.Second) / perSecond)
	late := stamp - p.next
	switch {
	case late > period, late < -2*period:
		p.next = stamp + period
	case late < -period/4:
		return false
	default:
		p.next += period
	}
	return true
}
