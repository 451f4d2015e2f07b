// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"io"
	"sync"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/frame"
)

// Frame is a frame that is held for the GPU: a small value to be passed around
// freely. It is a client.Frame, too; its Data is nil where Path says cuda. What
// Retain of that returns is given back without regard to the GPU.
type Frame struct {
	client.Frame
	h      *held
	ticket uint64
}

// held is the reusable inside of a Frame, and its lease while the GPU works.
type held struct {
	sub *Subscription

	mu       sync.Mutex
	ticket   uint64 // of the Frame that it is the inside of
	released bool   // by the program
	frame    client.Frame
	began    bool // reading is open, or was
	reading  cudabuf.ReadHandle
	uploaded bool
	used     bool // counted

	// Kept from frame to frame, for uploads:
	buffer driver.Ptr
	room   int64
	stage  []byte // pinned
	ready  driver.Event
}

// View is a frame in memory of the GPU, good until Release: for work that is
// queued on the stream of OnDevice, or of UseOn.
type View struct {
	Ptr      Ptr
	Bytes    int
	Pitch    int // bytes from one row of the first plane to the next; 0 if compressed
	Geometry frame.Geometry
}

// Plane is one rectangle of samples in memory of the GPU.
type Plane struct {
	Ptr      Ptr
	Pitch    int // bytes from one row to the next
	RowBytes int // that carry samples
	Rows     int
}

// Plane is the plane i of Geometry.PlaneCount.
func (v View) Plane(i int) Plane {
	p := v.Geometry.Plane(i)
	return Plane{Ptr: v.Ptr + Ptr(p.Offset), Pitch: p.Step, RowBytes: p.RowBytes, Rows: p.Rows}
}

// lock returns the inside, locked, if the frame was not released.
func (f Frame) lock() (*held, error) {
	if f.h == nil {
		return nil, ErrReleased
	}
	f.h.mu.Lock()
	if f.h.ticket != f.ticket || f.h.released {
		f.h.mu.Unlock()
		return nil, ErrReleased
	}
	return f.h, nil
}

// Subscription is the one that the frame came from, nil for the zero Frame.
func (f Frame) Subscription() *Subscription {
	if f.h == nil {
		return nil
	}
	return f.h.sub
}

// Released reports whether the program has given the frame back: nothing may use
// its memory any more but work that was queued before on a stream that was named.
func (f Frame) Released() bool {
	h, err := f.lock()
	if err != nil {
		return true
	}
	h.mu.Unlock()
	return false
}

// OnDevice says where the frame is in memory of the GPU and that work of s is
// going to read it. A frame that came by cuda is there; any other one is
// uploaded the first time, and s waits for that. Work must only be queued on s
// after the call. It fails with ErrReleased, ErrStream, ErrOutOfMemory, ErrLost or
// an error of package cudabuf/driver.
func (f Frame) OnDevice(s Stream) (View, error) {
	h, err := f.lock()
	if err != nil {
		return View{}, err
	}
	defer h.mu.Unlock()
	if err := h.use(s); err != nil {
		return View{}, err
	}
	return h.view(), nil
}

// UseOn says that work of a further stream is going to read the frame, too, as
// OnDevice does.
func (f Frame) UseOn(s Stream) error {
	_, err := f.OnDevice(s)
	return err
}

// CopyToHost copies the frame to dst, from memory of the GPU if it is there, and
// returns its number of bytes. It fails with io.ErrShortBuffer if dst has fewer,
// ErrReleased, client.ErrStaleFrame, ErrLost or an error of package
// cudabuf/driver. dst is ordinary memory.
func (f Frame) CopyToHost(dst []byte) (int, error) {
	h, err := f.lock()
	if err != nil {
		return 0, err
	}
	defer h.mu.Unlock()
	n := h.frame.Meta().Bytes
	if len(dst) < n {
		return 0, fmt.Errorf("%w: %d bytes for a frame of %d", io.ErrShortBuffer, len(dst), n)
	}
	ptr, _ := h.frame.Device()
	if ptr == 0 {
		n = copy(dst, h.frame.Data())
		return n, h.frame.Valid()
	}
	u, err := h.begin()
	if err != nil {
		return 0, err
	}
	if err := h.sub.job.readBack(u, h, dst[:n], Ptr(ptr)); err != nil {
		return 0, err
	}
	h.sub.count(func(c *Counts) { c.ReadBack++ })
	return n, h.frame.Valid()
}

// Release gives the frame back when the GPU is done with what was queued up to
// now on the streams that were named. It does not wait. It fails with
// ErrReleased on a second call, which is logged as well, and with ErrStream if
// one of the streams cannot be waited for: the frame then goes back when all
// work of the context is complete.
func (f Frame) Release() error {
	h, err := f.lock()
	if err != nil {
		if f.h != nil {
			f.h.sub.device.log.Error("frame released twice")
		}
		return err
	}
	return h.release()
}

// endTurn is Release where the loop's body may have done it.
func (f Frame) endTurn() {
	if h, err := f.lock(); err == nil {
		_ = h.release() // logged
	}
}

// release ends the program's use. mu is held, and given up.
func (h *held) release() error {
	h.released = true
	began, reading := h.began, h.reading
	h.mu.Unlock()
	h.sub.count(func(c *Counts) { c.Open-- })
	if began {
		return h.sub.engine().note(reading.Close())
	}
	(*lease)(h).Release()
	return nil
}

// lease is a held frame as the reaper sees it.
type lease held

// Valid implements cudabuf.Lease.
func (l *lease) Valid() error { return l.frame.Valid() }

// Release implements cudabuf.Lease.
func (l *lease) Release() { l.end().Release() }

// Abandon implements cudabuf.Lease.
func (l *lease) Abandon() { l.end().Abandon() }

// end gives the inside back and returns the frame. The inside goes first: with
// the frame's credit the program can take the next one, which needs it.
func (l *lease) end() client.Frame {
	h := (*held)(l)
	h.mu.Lock()
	f := h.frame
	h.frame, h.began, h.uploaded, h.used, h.released = client.Frame{}, false, false, false, false
	h.ticket++
	h.mu.Unlock()
	h.sub.put(h)
	return f
}
