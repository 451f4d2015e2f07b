// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// counts is what happened to a stream's frames on the way to the GPU.
type counts struct {
	frames, bytes, superseded, noSlot, errors atomic.Uint64
	pinned                                    atomic.Bool
}

// Status is the GPU in the status document, or why there is none.
type Status struct {
	Reason negotiate.Reason `json:"reason,omitempty"` // why frames cannot be had there; "" = they can
	Detail string           `json:"detail,omitempty"`

	GPU     string               `json:"gpu,omitempty"` // its name
	UUID    string               `json:"uuid,omitempty"`
	PCI     string               `json:"pci,omitempty"`
	Memory  int64                `json:"memory_bytes,omitempty"`
	CUDA    string               `json:"cuda,omitempty"`   // newest version that the driver serves, "13.0"
	Module  string               `json:"module,omitempty"` // version of the kernel module
	Library string               `json:"library,omitempty"`
	Handle  negotiate.HandleKind `json:"handle,omitempty"` // how memory goes to subscribers

	RingBytes int64 `json:"ring_bytes"` // of device rings now
	Rings     int   `json:"rings"`      // that there are now
}

// Status is a snapshot.
func (e *Engine) Status() Status {
	c := e.state()
	s := Status{Reason: c.Reason, Detail: c.Detail}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.driver == nil {
		return s
	}
	s.GPU, s.UUID, s.PCI, s.Memory = e.device.Name, e.device.UUID.String(), e.device.PCI, e.device.Memory
	s.CUDA, s.Module, s.Library = driver.VersionString(e.driver.Version()), e.driver.ModuleVersion(), e.driver.Library()
	s.Handle = negotiate.HandleVMM
	for _, b := range e.backends {
		if n := b.ringBytes(); n > 0 {
			s.Rings++
			s.RingBytes += n
		}
	}
	return s
}

// StreamStatus is the device ring of a stream in the status document.
type StreamStatus struct {
	Slots     int   `json:"slots"`
	Free      int   `json:"free"`
	Leased    int   `json:"leased"`
	RingBytes int64 `json:"ring_bytes"`
	Pinned    bool  `json:"pinned"` // the GPU fetches frames from the host ring by itself
	// Since the stream was opened: frames that were uploaded, their bytes, those
	// for which a newer one came first, those without a free slot, and failures.
	Frames     uint64 `json:"frames"`
	Bytes      uint64 `json:"bytes"`
	Superseded uint64 `json:"superseded"`
	NoSlot     uint64 `json:"no_slot"`
	Errors     uint64 `json:"errors"`
}

// Status is a snapshot, nil for a stream that never had a device ring.
func (b *Backend) Status() *StreamStatus {
	c := &b.counts
	s := &StreamStatus{
		Frames: c.frames.Load(), Bytes: c.bytes.Load(), Superseded: c.superseded.Load(),
		NoSlot: c.noSlot.Load(), Errors: c.errors.Load(),
	}
	if e := b.Epoch(); e != nil {
		u := e.Ring.Usage()
		s.Slots, s.Free, s.Leased = u.Slots, u.Free, u.Leased
		s.RingBytes, s.Pinned = e.Device.Bytes, c.pinned.Load()
	}
	if *s == (StreamStatus{}) {
		return nil
	}
	return s
}

// ringBytes is the size of the stream's device ring, 0 without one.
func (b *Backend) ringBytes() int64 {
	if e := b.Epoch(); e != nil {
		return e.Device.Bytes
	}
	return 0
}
