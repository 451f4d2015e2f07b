// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// ErrBadCopy reports a copy that leaves the memory that it is given.
var ErrBadCopy = errors.New("bad copy")

// Copies and fills are queued on a stream and done some time after the call.
// Host memory must stay as and where it is until then: memory of HostAlloc or
// HostRegister, or other memory, which the driver copies out of at its leisure.
// Go's own memory serves only if the stream is synchronised before the last
// mention of it.

// HtoD queues a copy of src to the device.
func (t *Thread) HtoD(dst Ptr, src []byte, s Stream) error {
	if len(src) == 0 {
		return nil
	}
	return t.with(src, fnMemcpyHtoDAsync2, uintptr(dst), dl.Address(&src[0]), uintptr(len(src)), uintptr(s))
}

// DtoH queues a copy from the device that fills dst.
func (t *Thread) DtoH(dst []byte, src Ptr, s Stream) error {
	if len(dst) == 0 {
		return nil
	}
	return t.with(dst, fnMemcpyDtoHAsync2, dl.Address(&dst[0]), uintptr(src), uintptr(len(dst)), uintptr(s))
}

// DtoD queues a copy within the device.
func (t *Thread) DtoD(dst, src Ptr, bytes int64, s Stream) error {
	return t.do(fnMemcpyDtoDAsync2, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

// Memset8 queues n bytes of value v.
func (t *Thread) Memset8(dst Ptr, v byte, n int64, s Stream) error {
	return t.do(fnMemsetD8Async, uintptr(dst), uintptr(v), uintptr(n), uintptr(s))
}

// Copy2D is a copy of rows. Each end is host memory or device memory.
type Copy2D struct {
	SrcHost   []byte // nil if the source is on the device
	SrcDevice Ptr
	SrcPitch  int // bytes from one row to the next
	DstHost   []byte
	DstDevice Ptr
	DstPitch  int

	Width  int // bytes of a row
	Height int // rows
}

// Copy2D queues a copy of rows. It fails with ErrBadCopy, queuing nothing, if
// rows overlap or host memory is too short.
func (t *Thread) Copy2D(c *Copy2D, s Stream) error {
	if c.Width <= 0 || c.Height <= 0 {
		return nil
	}
	if err := c.check(); err != nil {
		return err
	}
	if err := t.claim(fnMemcpy2DAsync2); err != nil {
		return err
	}
	m := &t.out.copy
	*m = memcpy2D{
		SrcMemoryType: memoryDevice, SrcDevice: c.SrcDevice, SrcPitch: uintptr(c.SrcPitch),
		DstMemoryType: memoryDevice, DstDevice: c.DstDevice, DstPitch: uintptr(c.DstPitch),
		WidthInBytes: uintptr(c.Width), Height: uintptr(c.Height),
	}
	if c.SrcHost != nil {
		t.host = c.SrcHost // on the heap, where it does not move
		m.SrcMemoryType, m.SrcHost, m.SrcDevice = memoryHost, dl.Address(unsafe.SliceData(c.SrcHost)), 0
	}
	if c.DstHost != nil {
		t.host = c.DstHost
		m.DstMemoryType, m.DstHost, m.DstDevice = memoryHost, dl.Address(unsafe.SliceData(c.DstHost)), 0
	}
	r := t.result(fnMemcpy2DAsync2, dl.Address(m), uintptr(s))
	runtime.KeepAlive(c) // both ends may be host memory
	t.host = nil
	t.state.Store(working)
	return failed(fnMemcpy2DAsync2, r)
}

func (c *Copy2D) check() error {
	if c.SrcPitch < c.Width || c.DstPitch < c.Width {
		return fmt.Errorf("%w: rows of %d bytes, %d apart in the source, %d in the destination", ErrBadCopy, c.Width, c.SrcPitch, c.DstPitch)
	}
	for _, end := range [...]struct {
		host  []byte
		pitch int
	}{{c.SrcHost, c.SrcPitch}, {c.DstHost, c.DstPitch}} {
		if end.host == nil {
			continue
		}
		// Divided rather than multiplied, which could overflow.
		if rest := len(end.host) - c.Width; rest < 0 || c.Height > 1 && rest/(c.Height-1) < end.pitch {
			return fmt.Errorf("%w: %d bytes of host memory for %d rows of %d, %d apart", ErrBadCopy, len(end.host), c.Height, c.Width, end.pitch)
		}
	}
	return nil
}
