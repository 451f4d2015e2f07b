// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/negotiate"
)

var (
	_ client.DeviceImporter = (*Device)(nil)
	_ client.HostRegistrar  = (*Device)(nil)
	_ client.DeviceWatcher  = (*memory)(nil)
)

// Hello implements client.DeviceImporter.
func (d *Device) Hello(h *negotiate.Hello) {
	h.Driver = d.driver.Version()
	d.mu.Lock()
	e, b := d.engine, d.begins
	late := b != nil && b.late
	d.mu.Unlock()
	var err error
	if e != nil {
		err = e.failed()
	} else if late {
		err = b.timeout()
	}
	if err != nil {
		h.DeviceReason, h.DeviceDetail = reasonOf(err), err.Error()
		return
	}
	for _, dev := range d.visible[:min(len(d.visible), negotiate.MaxGPUs)] {
		h.GPUs = append(h.GPUs, negotiate.GPU{UUID: dev.UUID.String(), Name: dev.Name})
		if dev.PosixFD && len(h.Handles) == 0 {
			h.Handles = []negotiate.HandleKind{negotiate.HandleVMM}
		}
	}
}

// Import implements client.DeviceImporter: the memory is mapped for reading only,
// if the GPU can do that.
func (d *Device) Import(m *negotiate.Device, fd int) (client.DeviceMemory, error) {
	if m.Handle != negotiate.HandleVMM {
		return nil, because(negotiate.ReasonVMMUnsupported, "memory by %s, only %s can be imported", m.Handle, negotiate.HandleVMM)
	}
	uuid, err := driver.ParseUUID(m.UUID)
	if err != nil {
		return nil, &Error{negotiate.ReasonDifferentGPU, err}
	}
	e, err := d.start(answerLimit, func(dev driver.Device) bool { return dev.UUID == uuid })
	if err != nil {
		return nil, &Error{reasonOf(err), err}
	}
	if !e.dev.PosixFD {
		return nil, because(negotiate.ReasonVMMUnsupported, "%s imports no memory by descriptor", e.dev.Name)
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) // a driver that hangs may come back to it
	if err != nil {
		return nil, &Error{negotiate.ReasonLimit, fmt.Errorf("descriptor of the memory: %w", err)}
	}
	d.count(1)
	out := &memory{device: d, engine: e}
	bytes := m.Bytes
	err = e.within(e.submit, answerLimit, func() (err error) {
		defer unix.Close(own)
		out.memory, err = cudabuf.Import(e.submit, own, bytes, false)
		if d := new(driver.Error); errors.As(err, &d) && d.Call == "cuMemSetAccess" && !driver.Sticky(err) {
			e.log.Info("device memory is mapped for writing, too", "err", err)
			out.memory, err = cudabuf.Import(e.submit, own, bytes, true)
		}
		return err
	})
	if err != nil {
		d.count(-1)
		return nil, &Error{reasonOf(err), err}
	}
	return out, nil
}

// count adds to the memories that are mapped.
func (d *Device) count(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mapped += n
}

// memory is an imported ring.
type memory struct {
	device *Device
	engine *engine
	memory *cudabuf.Memory
}

// Name is the GPU's.
func (m *memory) Name() string { return m.engine.dev.Name }

// Lost implements client.DeviceWatcher.
func (m *memory) Lost() <-chan struct{} { return m.engine.gone }

// Failure implements client.DeviceWatcher.
func (m *memory) Failure() error { return m.engine.failed() }

// Base implements client.DeviceMemory.
func (m *memory) Base() uint64 { return uint64(m.memory.Base()) }

// ReadAt implements client.DeviceMemory.
func (m *memory) ReadAt(dst []byte, offset int64) error {
	if offset < 0 || int64(len(dst)) > m.memory.Bytes()-offset {
		return fmt.Errorf("%w: %d bytes at %d of %d", driver.ErrBadCopy, len(dst), offset, m.memory.Bytes())
	}
	t := m.engine.watch
	there := make([]byte, len(dst)) // not dst, which is the caller's if the driver hangs
	err := m.engine.within(t, answerLimit, func() error {
		buffer, err := t.HostAlloc(max(len(there), 1))
		if err != nil {
			return err
		}
		err = t.DtoH(buffer[:len(there)], m.memory.Base()+driver.Ptr(offset), m.engine.side)
		if err == nil {
			err = cudabuf.Finish(t, m.engine.side)
		}
		copy(there, buffer)
		return errors.Join(err, t.HostFree(buffer))
	})
	if err != nil {
		return &Error{reasonOf(err), err}
	}
	copy(dst, there)
	return nil
}

// Close implements client.DeviceMemory. It is called once. On a GPU that is lost
// nothing can be given back but with the context.
func (m *memory) Close() error {
	if m.engine.failed() != nil {
		m.device.count(-1)
		return nil
	}
	err := m.engine.do(func() error { return m.memory.Close(m.engine.submit) })
	m.device.count(-1)
	return err
}

// hostRing is a ring in host memory that frames may be uploaded from.
type hostRing struct {
	device *Device
	memory []byte

	mu     sync.Mutex
	tried  bool
	pinned *engine // with which it is registered
	closed bool
}

// RegisterHost implements client.HostRegistrar. The driver is told of the memory
// when the first frame is uploaded from it: most programs never do.
func (d *Device) RegisterHost(memory []byte) (io.Closer, error) {
	r := &hostRing{device: d, memory: memory}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rings = append(d.rings, r)
	return r, nil
}

// Close ends the registration. Uploads out of the memory are complete.
func (r *hostRing) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var err error
	if e := r.pinned; e != nil && e.failed() == nil {
		r.pinned = nil
		err = e.do(func() error { return e.submit.HostUnregister(r.memory) })
	}
	d := r.device // which is not closed before this
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.rings, r); i >= 0 {
		d.rings = slices.Delete(d.rings, i, i+1)
	}
	return err
}

// registered reports whether data lies in memory that the driver knows. The
// first time that one of its frames is asked about it is told, if it can be.
func (d *Device) registered(e *engine, data []byte) bool {
	if len(data) == 0 || !e.dev.ReadOnlyRegister {
		return false
	}
	d.mu.Lock()
	i := slices.IndexFunc(d.rings, func(r *hostRing) bool { return within(r.memory, data) })
	var r *hostRing
	if i >= 0 {
		r = d.rings[i]
	}
	d.mu.Unlock()
	return r != nil && r.register(e)
}

func (r *hostRing) register(e *engine) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.tried && !r.closed {
		r.tried = true
		err := e.do(func() error { return e.submit.HostRegister(r.memory, true) })
		if err != nil {
			r.device.log.Info("host memory is not registered with the GPU: frames are uploaded through a buffer", "err", err)
		} else {
			r.pinned = e
		}
	}
	return r.pinned != nil
}

// within reports whether part is a piece of whole.
func within(whole, part []byte) bool {
	start, at := uintptr(unsafe.Pointer(unsafe.SliceData(whole))), uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	return at >= start && at+uintptr(len(part)) <= start+uintptr(len(whole))
}
