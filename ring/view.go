// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// View is the reader's side of one epoch. Take, Wait and Release belong to one
// goroutine at a time each; the others may be called from anywhere while the
// view is open.
type View struct {
	layout Layout
	hdr    area
	pixels []byte // nil when they are elsewhere
	page   area
	wake   area
	fence  atomic.Uint32 // orders reads of pixels before the look at the generation
}

// Lease is a frame that the reader holds. Its slot keeps its contents until
// Release.
type Lease struct {
	Word   Word
	Meta   frame.Meta
	Offset int64  // of the slot in the pixel memory, in bytes
	Data   []byte // Meta.Bytes long, mapped read-only; nil when the pixels are elsewhere
}

// OpenView maps header and pixels and checks the header against the layout.
// The descriptors stay the caller's. It fails with ErrLayout or the error of
// the mapping.
func OpenView(l Layout, hdrFD, pixelsFD int) (*View, error) {
	v, err := OpenHeader(l, hdrFD)
	if err != nil {
		return nil, err
	}
	if v.pixels, err = linux.MapFile(pixelsFD, l.PixelBytes, false); err != nil {
		return nil, errors.Join(fmt.Errorf("mapping %d bytes of pixels: %w", l.PixelBytes, err), v.Close())
	}
	// Filling the page tables now costs less than a fault for each page of the
	// first frames. It is a hint: kernels before 5.14 do not know it.
	_ = unix.Madvise(v.pixels, unix.MADV_POPULATE_READ)
	return v, nil
}

// OpenHeader is OpenView without the pixels, for a ring that has them elsewhere:
// leases come with the offset of their slot and no Data.
func OpenHeader(l Layout, hdrFD int) (*View, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	v := &View{layout: l}
	hdr, err := linux.MapFile(hdrFD, l.HeaderBytes, false)
	if err != nil {
		return nil, fmt.Errorf("mapping the ring header: %w", err)
	}
	v.hdr = hdr
	if err := v.checkHeader(); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

func (v *View) checkHeader() error {
	h, l := v.hdr, v.layout
	switch {
	case h.u64(hdrMagic).Load() != magic:
		return fmt.Errorf("%w: no magic number in the header", ErrLayout)
	case h.get32(hdrVersion) != Version:
		return fmt.Errorf("%w: layout version %d, this program reads %d", ErrLayout, h.get32(hdrVersion), Version)
	case h.get32(hdrRecords) != recordStart || h.get32(hdrRecord) != recordBytes,
		h.get32(hdrSlots) != uint32(l.Slots),
		h.get64(hdrStride) != uint64(l.StrideBytes),
		h.get64(hdrPixels) != uint64(l.PixelBytes),
		h.get64(hdrEpoch) != l.Epoch:
		return fmt.Errorf("%w: the header does not say what was announced", ErrLayout)
	}
	return nil
}

// Attach maps the reader's own page and the memory of its wake-ups.
func (v *View) Attach(pageFD, wakeFD int) error {
	page, err := linux.MapFile(pageFD, v.layout.PageBytes, true)
	if err != nil {
		return fmt.Errorf("mapping the reader's page: %w", err)
	}
	v.page = page
	if v.wake, err = linux.MapFile(wakeFD, linux.PageRound(wakeBytes), false); err != nil {
		return fmt.Errorf("mapping the wake-up memory: %w", err)
	}
	return nil
}

// Close unmaps everything. No lease of this view may be in use.
func (v *View) Close() error {
	var errs []error
	for _, m := range []*[]byte{(*[]byte)(&v.hdr), &v.pixels, (*[]byte)(&v.page), (*[]byte)(&v.wake)} {
		if *m != nil {
			errs = append(errs, unix.Munmap(*m))
			*m = nil
		}
	}
	return errors.Join(errs...)
}

// Probe is the 32 bytes in the header that prove the mapping. Both ends of the
// pixel memory are read too, so that it is known to be there.
func (v *View) Probe() []byte {
	probe := append([]byte(nil), v.hdr[hdrProbe:hdrProbe+probeBytes]...)
	if v.pixels != nil {
		_ = v.pixels[0] + v.pixels[len(v.pixels)-1]
	}
	return probe
}

// Pixels is the mapped pixel memory, nil if the view has none.
func (v *View) Pixels() []byte { return v.pixels }

// Session is the daemon's.
func (v *View) Session() frame.Session { return frame.Session(v.hdr[hdrSession : hdrSession+16]) }

// Layout is that with which the view was opened.
func (v *View) Layout() Layout { return v.layout }

// Retired reports that the writer ended this epoch.
func (v *View) Retired() bool { return v.hdr.u32(hdrRetired).Load() != 0 }

// Evicted reports that the writer ended this subscription.
func (v *View) Evicted() bool { return v.page.u32(pageEvicted).Load() != 0 }

// Take takes the frame that waits in the mailbox. It reports false when there
// is none, and fails with ErrStale or ErrLayout when what lies there cannot be
// a frame. The word is used up: whoever sees that ends the subscription, by
// which the writer gets everything back.
func (v *View) Take(l *Lease) (bool, error) {
	w := Word(v.page.u64(pageMailbox).Swap(0))
	if w == 0 {
		return false, nil
	}
	slot := w.Slot()
	if slot < 0 || slot >= v.layout.Slots {
		return false, fmt.Errorf("%w: mailbox names slot %d of %d", ErrLayout, slot, v.layout.Slots)
	}
	meta, bytes := v.hdr.record(slot).meta()
	if err := v.Check(w); err != nil {
		return false, err
	}
	if bytes > uint64(v.layout.StrideBytes) {
		return false, fmt.Errorf("%w: frame of %d bytes in a slot of %d", ErrLayout, bytes, v.layout.StrideBytes)
	}
	meta.Bytes = int(bytes)
	start := int64(slot) * v.layout.StrideBytes
	*l = Lease{Word: w, Meta: meta, Offset: start}
	if v.pixels != nil {
		l.Data = v.pixels[start : start+int64(bytes) : start+int64(bytes)]
	}
	return true, nil
}

// Check reports ErrStale if the slot of w was given to another frame.
func (v *View) Check(w Word) error {
	// An atomic load does not hold back plain loads before it on weakly ordered
	// processors; a read-modify-write does.
	v.fence.Add(1)
	if g := v.hdr.record(w.Slot()).u64(recGeneration).Load(); g != w.Generation() {
		return fmt.Errorf("%w: slot %d has generation %d, not %d", ErrStale, w.Slot(), g, w.Generation())
	}
	return nil
}

// Release gives a lease back. When kick is true the writer waits for a message
// about it.
func (v *View) Release(w Word) (kick bool) {
	p := v.page
	head := p.u32(pageHead).Load()
	p.u64(pageReturns + int(head&returnMask)*8).Store(uint64(w))
	p.u32(pageHead).Store(head + 1)
	flag := p.u32(pageKick)
	return flag.Load() != 0 && flag.Swap(0) != 0
}

// Arm begins a wait. The caller then looks at the mailbox once more with Take
// and goes to sleep only if that is empty; Disarm ends the wait in any case.
// The returned count is for Wait.
func (v *View) Arm() uint32 {
	count := v.wake.u32(wakeCount).Load()
	v.page.u32(pageWaiting).Store(1)
	return count
}

// Disarm says that the reader does not wait any more.
func (v *View) Disarm() { v.page.u32(pageWaiting).Store(0) }

// Wait sleeps until the writer wakes its readers, unless it has done so since
// Arm, or until timeout.
func (v *View) Wait(count uint32, timeout time.Duration) {
	linux.FutexWait((*uint32)(addressOf(v.wake.u32(wakeCount))), count, timeout)
}

// WakeAll wakes every waiter of the ring, so that a wait in this process can be
// given up early. Waiters elsewhere look at their mailbox and sleep again.
func (v *View) WakeAll() {
	linux.FutexWake((*uint32)(addressOf(v.wake.u32(wakeCount))), 1<<30)
}

// String names the ring in messages.
func (v *View) String() string {
	return fmt.Sprintf("ring %s epoch %d", hex.EncodeToString(v.hdr[hdrSession:hdrSession+4]), v.layout.Epoch)
}
