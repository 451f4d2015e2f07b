// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package cuda is the backend for processes of this host that see the same GPU:
// each frame goes once from the host ring into a ring of device memory, which
// they import by a file descriptor. That happens only while somebody wants it:
// without a subscriber there is no context, no thread and no memory on the GPU.
package cuda

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Options is how the GPU is used.
type Options struct {
	Off     bool   // not at all
	Library string // of the driver; "" = where it usually is
	Device  string // UUID or number; "" = the first
	// Users beyond root and the daemon's own may have device memory. Who has it
	// can also write it: a GPU maps it so for whoever asks (CUDA, cuMemSetAccess).
	Users []int
	// RingBytes bounds the device ring of a stream, but for one subscriber there
	// always is room; 0 = no bound.
	RingBytes int64
	Log       *slog.Logger
}

// again is how often a GPU that was not ready is asked for anew.
const again = 10 * time.Second

// Engine is the GPU of a daemon, or the reason why there is none to be used.
type Engine struct {
	o Options

	mu     sync.Mutex
	driver *driver.Driver // nil: off
	device driver.Device
	off    negotiate.Candidate // why
	soon   bool                // it may come up by itself
	tried  time.Time
	lost   error

	backends []*Backend
}

// Open opens the driver and chooses the GPU. It always succeeds: where there is
// none to be used, Candidate says why.
func Open(o Options) *Engine {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{o: o}
	e.open()
	return e
}

// open is called with mu held, or before anyone else has e.
func (e *Engine) open() {
	e.tried = time.Now()
	d, dev, err := find(e.o)
	if err != nil {
		e.off = negotiate.Candidate{Backend: negotiate.BackendCUDA, Reason: reason(err), Detail: err.Error()}
		e.soon = errors.Is(err, driver.ErrNotReady)
		return
	}
	e.driver, e.device, e.off, e.soon = d, dev, negotiate.Candidate{Backend: negotiate.BackendCUDA}, false
}

// errOff: switched off by the configuration.
var errOff = errors.New("switched off by cuda.enabled")

func find(o Options) (*driver.Driver, driver.Device, error) {
	if o.Off {
		return nil, driver.Device{}, errOff
	}
	d, err := driver.Open(o.Library)
	if err != nil {
		return nil, driver.Device{}, err
	}
	devices, err := d.Devices()
	if err != nil {
		return nil, driver.Device{}, err
	}
	dev, err := driver.Find(devices, o.Device)
	if err != nil {
		return nil, driver.Device{}, err
	}
	if err := cudabuf.CanShare(d, dev); err != nil {
		return nil, driver.Device{}, err
	}
	return d, dev, nil
}

// Candidate says whether frames can be offered on the GPU, and why not.
func (e *Engine) Candidate() negotiate.Candidate {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.soon && time.Since(e.tried) >= again {
		e.open()
	}
	if e.lost != nil {
		return negotiate.Candidate{Backend: negotiate.BackendCUDA, Reason: negotiate.ReasonGPULost, Detail: e.lost.Error()}
	}
	return e.off
}

// On reports whether there is a GPU that streams may need memory for, now or
// later.
func (e *Engine) On() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.driver != nil || e.soon
}

// gpu is what frames go to.
func (e *Engine) gpu() (*driver.Driver, driver.Device) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.driver, e.device
}

// trusts reports whether a user may have device memory.
func (e *Engine) trusts(uid, self int) bool {
	return uid == self || uid == 0 || slices.Contains(e.o.Users, uid)
}

// lose ends the use of the GPU for as long as the daemon lives: a context that a
// fault has struck serves no more calls, and nothing but a new process gets
// another (CUDA driver API, sticky errors).
func (e *Engine) lose(err error) {
	e.mu.Lock()
	first := e.lost == nil
	if first {
		e.lost = err
	}
	device := e.device
	e.mu.Unlock()
	if first {
		e.o.Log.Error("GPU lost: frames go out without it until camd is started anew", "backend", negotiate.BackendCUDA,
			"gpu", device.Name, "uuid", device.UUID.String(), "reason", negotiate.ReasonGPULost, "err", err)
	}
}

// alive is nil, or why the GPU is lost.
func (e *Engine) alive() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost
}
