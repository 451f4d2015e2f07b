// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package cuda is the backend for processes of this host that see the same GPU:
// each frame goes once from the host ring into a ring of device memory, which
// they import by a file descriptor. That happens only while somebody wants it:
// without a subscriber there is no context, no thread and no memory on the GPU.
package cuda

import (
	"errors"
	"fmt"
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
	// Opened, if set, is told what came of a try to open the driver. It runs beside
	// everything else.
	Opened func(Status)
	Log    *slog.Logger
}

// Patience with the driver. No one who serves others waits for it longer.
const (
	again       = 10 * time.Second       // until a GPU that was not ready is asked for anew
	openFirst   = 250 * time.Millisecond // Open, for what mostly needs none
	openAnew    = 500 * time.Millisecond // who has it asked for anew
	setUpFirst  = 2 * time.Second        // of context, memory and ring of a first subscriber
	setUpAlone  = 4 * time.Second        // of one who takes nothing else; clients wait for 5 s
	callPatient = 2 * time.Second        // for a call of milliseconds
)

// Engine is the GPU of a daemon, or the reason why there is none to be used.
type Engine struct {
	o Options

	mu      sync.Mutex
	driver  *driver.Driver // nil: off
	device  driver.Device
	off     negotiate.Candidate // why
	soon    bool                // it may come up by itself
	tried   time.Time
	opening chan struct{} // is closed when a try that runs has come to its end; nil without
	lost    error

	backends []*Backend
}

// Open opens the driver and chooses the GPU. It always succeeds: where there is
// none to be used, Candidate says why. A driver that takes long is opened beside
// what the caller does next.
func Open(o Options) *Engine {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{o: o}
	e.mu.Lock()
	e.open()
	e.mu.Unlock()
	e.Wait(openFirst)
	return e
}

// open starts a try in a goroutine of its own: nothing ends a driver that hangs.
// It is called with mu held.
func (e *Engine) open() {
	done := make(chan struct{})
	e.tried, e.opening = time.Now(), done
	go func() {
		d, dev, err := find(e.o)
		e.mu.Lock()
		e.opening = nil
		before := e.off.Reason
		e.off = negotiate.Candidate{Backend: negotiate.BackendCUDA}
		if err != nil {
			e.off.Reason, e.off.Detail = reason(err), err.Error()
			e.soon = passes(err)
		} else {
			e.driver, e.device, e.soon = d, dev, false
		}
		told := e.off.Reason != before || e.off.Reason == ""
		e.mu.Unlock()
		if told && e.o.Opened != nil {
			e.o.Opened(e.Status())
		}
		close(done)
	}()
}

// passes reports whether what keeps a GPU from being used may pass by itself.
func passes(err error) bool {
	r := reason(err)
	return errors.Is(err, driver.ErrNotReady) || r == negotiate.ReasonGPUError || r == negotiate.ReasonLimit
}

// Wait waits until the driver is opened or cannot be, but no longer than said, and
// reports whether that is known now.
func (e *Engine) Wait(limit time.Duration) bool {
	e.mu.Lock()
	opening := e.opening
	e.mu.Unlock()
	if opening == nil {
		return true
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-opening:
		return true
	case <-t.C:
		return false
	}
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

// Candidate says whether frames can be offered on the GPU, and why not. Where a
// GPU was not ready it is asked for anew, now and then.
func (e *Engine) Candidate() negotiate.Candidate {
	e.mu.Lock()
	due := e.soon && e.opening == nil && e.lost == nil && time.Since(e.tried) >= again
	if due {
		e.open()
	}
	e.mu.Unlock()
	if due {
		e.Wait(openAnew)
	}
	return e.state()
}

// state is what Candidate says, without asking anew.
func (e *Engine) state() negotiate.Candidate {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := negotiate.Candidate{Backend: negotiate.BackendCUDA}
	switch {
	case e.lost != nil:
		c.Reason, c.Detail = negotiate.ReasonGPULost, e.lost.Error()
	case e.off.Reason != "":
		return e.off // also while it is asked for anew
	case e.opening != nil:
		if age := time.Since(e.tried); age >= callPatient {
			c.Reason, c.Detail = negotiate.ReasonGPUTimeout, hangs("", "opening the driver", age).Error()
		}
	default:
		if call, age := driver.Busy(""); age >= callPatient {
			c.Reason, c.Detail = negotiate.ReasonGPUTimeout, hangs(call, "", age).Error()
		}
	}
	return c
}

// hangs is what is said of a call of the driver that does not come back, or of
// what it is for where none is known.
func hangs(call, doing string, age time.Duration) error {
	if call == "" {
		if call, _ = driver.Busy(""); call == "" {
			call = doing
		}
	}
	return fmt.Errorf("%w: %s has not come back for %v", driver.ErrTimeout, call, age.Truncate(100*time.Millisecond))
}

// setback notes what shows only with a ring: that this machine cannot do it.
func (e *Engine) setback(err error) {
	if reason(err) != negotiate.ReasonVMMUnsupported {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.off = negotiate.Candidate{Backend: negotiate.BackendCUDA, Reason: negotiate.ReasonVMMUnsupported, Detail: err.Error()}
	e.soon, e.tried = true, time.Now()
}

// On reports whether there is a GPU that streams may need memory for, now or
// later.
func (e *Engine) On() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.driver != nil || e.soon || e.opening != nil
}

// age is for how long the driver has been opened, up to now.
func (e *Engine) age() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.tried)
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
