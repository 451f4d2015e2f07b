// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"errors"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// spin is for how long the end of a copy is asked for before the thread sleeps:
// about what 6 MB take on PCIe 4.
const spin = 250 * time.Microsecond

// epoch is a host ring and the device ring that its frames go to.
type epoch struct {
	host   *ring.Ring
	reader *ring.Local
	ring   *cudabuf.Ring
	writer *cudabuf.Writer
	device *negotiate.Device
	before uint64 // frames that were superseded in epochs before

	pixels     []byte // of the host ring, kept where they are
	unpin      func()
	registered bool // pages are locked for the GPU
}

// open makes what an epoch needs. On an error nothing is left of it.
func (u *uploader) open(host *ring.Ring) (*epoch, error) {
	e := &epoch{host: host, before: u.b.counts.superseded.Load()}
	if err := u.fill(e); err != nil {
		return nil, errors.Join(err, e.close(u.thread))
	}
	return e, nil
}

func (u *uploader) fill(e *epoch) error {
	b, t := u.b, u.thread
	var err error
	if e.pixels, e.unpin, err = e.host.Pin(); err != nil {
		return err
	}
	// A GPU that is nearly full may have room for fewer readers.
	for readers := b.readers(e.host); ; readers /= 2 {
		if e.ring, err = cudabuf.NewRing(t, b.config(e.host, readers)); err == nil {
			break
		}
		if readers < 2 || !errors.Is(err, cudabuf.ErrNoMemory) {
			return err
		}
	}
	if e.writer, err = cudabuf.NewWriter(t, e.ring, spin); err != nil {
		return err
	}
	e.device = &negotiate.Device{
		UUID: t.Device().UUID.String(), Handle: negotiate.HandleVMM,
		Bytes: e.ring.Bytes(), ProbeOffset: e.ring.ProbeOffset(),
	}
	u.register(e)
	if e.reader, err = e.host.AddLocal(Credit, u.wake); err != nil {
		return err
	}
	b.counts.pinned.Store(e.registered)
	b.Log.Info("device ring made", "stream", b.Stream, "backend", negotiate.BackendCUDA, "gpu", t.Device().Name, "epoch", e.host.Epoch(),
		"slots", e.ring.Layout().Slots, "bytes", e.ring.Bytes(), "pinned", e.registered)
	return nil
}

// register locks the pages of the host ring, so that the GPU fetches frames by
// itself. Without it the driver copies them first, which is slower and no less
// right.
func (u *uploader) register(e *epoch) {
	if !u.thread.Device().HostRegister {
		return
	}
	if err := u.thread.HostRegister(e.pixels, false); err != nil {
		u.b.Log.Warn("the host ring cannot be pinned for the GPU: uploads are slower", "stream", u.b.Stream, "backend", negotiate.BackendCUDA,
			"bytes", len(e.pixels), "err", err)
		return
	}
	e.registered = true
}

// readers is for how many subscribers a device ring is made: memory of a GPU is
// dear, and most streams have fewer there than they may have.
func (b *Backend) readers(host *ring.Ring) int {
	n, bound := b.rings.Readers, b.engine.o.RingBytes
	for bound > 0 && n > 1 && int64(b.slots(n))*host.Layout().StrideBytes > bound {
		n--
	}
	return n
}

// slots is how many a device ring for so many subscribers has.
func (b *Backend) slots(readers int) int {
	return min(ring.SlotsFor(1, readers, b.DefaultCredit), ring.MaxSlots)
}

// config is that of the device ring beside a host ring.
func (b *Backend) config(host *ring.Ring, readers int) ring.Config {
	slots := b.slots(readers)
	return ring.Config{
		Name: b.Stream, Session: b.Session, Epoch: host.Epoch(), Geometry: host.Geometry(),
		Slots: slots, MaxReaders: readers, Budget: slots - ring.SlotsFor(1, 0, 0),
		Generation: &b.generation, EvictAfter: b.rings.EvictAfter,
	}
}

// close gives everything back, the pixels of the host ring last: the GPU may read
// them until then. It may be called on nil.
func (e *epoch) close(t *driver.Thread) error {
	if e == nil {
		return nil
	}
	if e.reader != nil {
		e.reader.Close()
	}
	var errs []error
	if e.writer != nil {
		errs = append(errs, e.writer.Close(t))
	}
	if e.ring != nil {
		errs = append(errs, e.ring.Close(t))
	}
	if e.registered {
		errs = append(errs, t.HostUnregister(e.pixels))
	}
	if e.unpin != nil {
		e.unpin()
	}
	return errors.Join(errs...)
}
