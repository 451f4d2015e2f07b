// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// DeviceImporter is a GPU by which a program can read frames where the daemon
// has them. Package client/gpu has one. Its methods may be called from any
// goroutine.
type DeviceImporter interface {
	// Hello says which GPUs there are and what can be imported, or why nothing
	// can: GPUs, Handles, Driver, or DeviceReason and DeviceDetail.
	Hello(h *negotiate.Hello)
	// Import maps the memory behind fd, which stays the caller's, on the GPU that
	// d names. An error, or one that it wraps, can have a method
	// Reason() negotiate.Reason; without it the reason is probe_mismatch.
	Import(d *negotiate.Device, fd int) (DeviceMemory, error)
}

// DeviceMemory is imported memory of a GPU. If it has a method Name() string,
// that is the GPU's name for [Path]; if it is a [DeviceWatcher], frames come by
// another path when the GPU fails.
type DeviceMemory interface {
	// ReadAt copies to the host and returns when that is done.
	ReadAt(dst []byte, offset int64) error
	// Base is the address on the GPU, in the importer's context.
	Base() uint64
	// Close unmaps it. No frame of it is held then.
	Close() error
}

// HostRegistrar is what a [DeviceImporter] can also be: one that is told of the
// memory of each ring in host memory, so that it can make it known to the GPU
// and upload frames from where they lie. The memory is mapped read-only and
// stays until the closer has returned.
type HostRegistrar interface {
	RegisterHost(memory []byte) (io.Closer, error)
}

// WithDevice lets frames come by cuda through d, and accepts cuda, shm and cpu
// where WithAccept says nothing. Data of a frame is nil then if Path says cuda,
// and Device is where it is. Work of a GPU on a frame must be complete before
// Release: package client/gpu sees to that.
func WithDevice(d DeviceImporter) Option { return func(o *options) { o.device = d } }

// helloDevice says what GPUs there are, to a daemon that may have device memory.
func (o *options) helloDevice(h *negotiate.Hello) {
	switch {
	case h.Require != negotiate.BackendCUDA && !slices.Contains(h.Accepts, negotiate.BackendCUDA):
	case o.device == nil:
		h.DeviceReason, h.DeviceDetail = negotiate.ReasonNoDriver, "the program uses no GPU"
	default:
		o.device.Hello(h)
	}
}

// reads names the backends of which the memory can be read.
func (o *options) reads() string {
	if o.device == nil {
		return "shm"
	}
	return "cuda and shm"
}

// reasonOf is the reason that an error of an importer carries.
func reasonOf(err error) negotiate.Reason {
	var r interface{ Reason() negotiate.Reason }
	if errors.As(err, &r) && r.Reason() != "" {
		return r.Reason()
	}
	return negotiate.ReasonProbeMismatch
}

// setDevice notes on which GPU the frames are.
func (p *Path) setDevice(d *negotiate.Device, m DeviceMemory) {
	if d == nil {
		return
	}
	p.GPU = d.UUID
	if n, ok := m.(interface{ Name() string }); ok {
		p.GPUName = n.Name()
	}
}

// probe reads the bytes that prove the mapping, of the header and of the
// device, if there is one.
func (e *epoch) probe(d *negotiate.Device) ([]byte, error) {
	probe := e.view.Probe()
	if d == nil {
		return probe, nil
	}
	there := make([]byte, negotiate.ProbeBytes)
	if err := e.device.ReadAt(there, d.ProbeOffset); err != nil {
		return nil, fmt.Errorf("reading memory of %s: %w", d.UUID, err)
	}
	return append(probe, there...), nil
}

// pin makes the memory of a host ring known to the GPU, if one is used. Without
// that uploads take a copy more, which is no reason to do without the ring.
func (e *epoch) pin(o *options) {
	r, ok := o.device.(HostRegistrar)
	if !ok {
		return
	}
	pinned, err := r.RegisterHost(e.view.Pixels())
	if err != nil {
		o.log.Info("ring is not registered with the GPU: frames are uploaded through a buffer", "err", err)
		return
	}
	e.pinned = pinned
}

// close gives back what the epoch has. Nobody uses it any more.
func (e *epoch) close(o *options) {
	var errs []error
	if e.pinned != nil {
		errs = append(errs, e.pinned.Close())
	}
	if e.device != nil {
		errs = append(errs, e.device.Close())
	}
	if err := errors.Join(append(errs, e.view.Close())...); err != nil {
		o.log.Error("memory of a ring could not be given back", "err", err)
	}
}

// Device is where the frame is in memory of a GPU, in the context of the
// subscription's DeviceImporter, and its bytes, laid out as Geometry says. It is
// 0 if the frame came by another path than cuda. Work of the GPU on it must be
// complete before Release.
func (f Frame) Device() (ptr uint64, bytes int) {
	if !f.live() || f.h.epoch == nil || f.h.epoch.device == nil {
		return 0, 0
	}
	return f.h.epoch.device.Base() + uint64(f.h.lease.Offset), f.h.lease.Meta.Bytes
}
