// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/backend/local"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// Credit is how many slots of the host ring an upload holds: whoever makes that
// ring adds as many.
const Credit = 1

// Deadlines.
const (
	stuckAfter   = 2 * time.Second // for a copy of milliseconds
	leaveTimeout = time.Second     // for context and memory to be given back, before the subscriber's end is
	// declineTimeout is leaveTimeout where the client waits for the next path.
	declineTimeout = 250 * time.Millisecond
	lingerFor      = 10 * time.Second // of a ring that came too late, for the next subscriber
)

// errStuck: the GPU does not come to an end with a copy.
var errStuck = errors.New("the GPU does not answer")

// Rings is what the device rings of a stream are like.
type Rings struct {
	Readers    int // subscribers at a time
	EvictAfter time.Duration
}

// Backend serves one stream. Get it from New.
type Backend struct {
	local.Server
	engine *Engine
	rings  Rings
	// generation counts frames of device rings through all epochs.
	generation atomic.Uint64
	counts     counts

	mu    sync.Mutex
	host  *ring.Ring // the newest epoch of the stream, nil without
	users int        // subscribers, also in their hand-shake
	up    *uploader  // nil without users
	last  *uploader  // the newest, which may still be giving back
	quit  chan struct{}
}

var _ backend.Backend = (*Backend)(nil)

// New makes the backend of a stream.
func New(e *Engine, c local.Config, r Rings) *Backend {
	b := &Backend{engine: e, rings: r, quit: make(chan struct{})}
	c.Backend = negotiate.BackendCUDA
	c.Check = b.check
	b.Config = c
	e.mu.Lock()
	defer e.mu.Unlock()
	e.backends = append(e.backends, b)
	return b
}

// SetRing says which host ring has the frames. nil ends the stream.
func (b *Backend) SetRing(r *ring.Ring) {
	b.mu.Lock()
	b.host = r
	up := b.up
	b.mu.Unlock()
	if up != nil {
		up.signal()
	}
}

// Close ends the stream and takes it from its engine.
func (b *Backend) Close() {
	b.SetRing(nil)
	b.mu.Lock()
	select {
	case <-b.quit:
	default:
		close(b.quit)
	}
	b.mu.Unlock()
	e := b.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, x := range e.backends {
		if x == b {
			e.backends = append(e.backends[:i:i], e.backends[i+1:]...)
			return
		}
	}
}

func (b *Backend) source() *ring.Ring {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.host
}

// Candidate implements backend.Backend.
func (b *Backend) Candidate() negotiate.Candidate {
	c := b.engine.Candidate()
	if c.Reason != "" {
		return c
	}
	switch host := b.source(); {
	case host == nil:
		c.Reason, c.Detail = negotiate.ReasonNotReady, "the camera has not delivered a format yet"
	case host.Geometry().Compressed():
		c.Reason, c.Detail = negotiate.ReasonNotOffered, "compressed frames are of no use in memory of a GPU"
	}
	return c
}

// Serve implements backend.Backend.
func (b *Backend) Serve(ctx context.Context, conn *negotiate.Conn, h *negotiate.Hello, rejected []negotiate.Rejected) error {
	patience := setUpFirst
	if h.Require == negotiate.BackendCUDA {
		patience = setUpAlone // there is nothing else to go on to
	}
	began := time.Now()
	b.engine.Wait(patience)
	if err := b.admit(conn.Peer(), h); err != nil {
		return err
	}
	up := b.join()
	err := up.wait(ctx, b.source, patience-time.Since(began))
	if err != nil {
		if errors.Is(err, errSlow) {
			b.Log.Warn("no device ring yet: a subscriber goes on without", "stream", b.Stream, "backend", negotiate.BackendCUDA, "reason", reason(err), "err", err)
		}
		b.leave(declineTimeout)
		return declined(err)
	}
	err = b.Server.Serve(ctx, conn, h, rejected)
	patience = leaveTimeout
	if d := (*backend.DeclinedError)(nil); errors.As(err, &d) {
		patience = declineTimeout
	}
	b.leave(patience)
	return err
}

// admit holds a client against policy and what it can use.
func (b *Backend) admit(p negotiate.Peer, h *negotiate.Hello) error {
	if c := b.Candidate(); c.Reason != "" {
		return backend.Declined(c.Backend, c.Reason, "%s", c.Detail)
	}
	if !b.engine.trusts(p.UID, os.Geteuid()) {
		return backend.Declined(negotiate.BackendCUDA, negotiate.ReasonPolicy,
			"user %d may not have device memory, which it could write: cuda.users lists who may", p.UID)
	}
	drv, dev := b.engine.gpu()
	if drv == nil {
		return backend.Declined(negotiate.BackendCUDA, negotiate.ReasonGPUTimeout, "%v", hangs("", "opening the driver", b.engine.age()))
	}
	if r, detail := negotiate.JudgeDevice(h, dev.UUID.String(), negotiate.HandleVMM); r != "" {
		return backend.Declined(negotiate.BackendCUDA, r, "%s", detail)
	}
	return nil
}

func declined(err error) error {
	var d *backend.DeclinedError
	switch {
	case errors.As(err, &d):
		return err
	case errors.Is(err, ring.ErrRetired):
		return backend.Declined(negotiate.BackendCUDA, negotiate.ReasonNotReady, "the camera is changing its format")
	}
	return backend.Declined(negotiate.BackendCUDA, reason(err), "%v", err)
}

// join begins a use of the upload, which starts with the first.
func (b *Backend) join() *uploader {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users++
	if b.up == nil {
		b.up = newUploader(b, b.last)
		b.last = b.up
		go b.up.run()
	}
	return b.up
}

// leave ends one use. After the last it waits for as long as said until the GPU
// has everything back; what does not answer is left alone with that.
func (b *Backend) leave(patience time.Duration) {
	b.mu.Lock()
	b.users--
	up := b.up
	if b.users > 0 {
		b.mu.Unlock()
		return
	}
	if !up.settledOnce() {
		// A set-up that takes long would never be done if it began anew for each.
		if !up.lingers {
			up.lingers = true
			go b.linger(up)
		}
		b.mu.Unlock()
		return
	}
	b.end(up)
	b.mu.Unlock()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-up.done:
	case <-t.C:
		call, age := driver.Busy(threadName(b.Stream))
		b.Log.Warn("the GPU takes long to give back what is asked back", "stream", b.Stream, "backend", negotiate.BackendCUDA, "call", call, "for", age)
	}
}

// end stops an upload. It is called with mu held.
func (b *Backend) end(up *uploader) {
	if b.up == up {
		b.up = nil
		close(up.stop)
	}
}

// linger keeps an upload that its subscriber did not wait for, until it is there
// and a while longer, or others have used it.
func (b *Backend) linger(up *uploader) {
	select {
	case <-up.began:
		if up.failedAt(b.source()) != nil {
			break // the next one begins anew
		}
		t := time.NewTimer(lingerFor)
		defer t.Stop()
		select {
		case <-t.C:
		case <-b.quit:
		}
	case <-up.done:
	case <-b.quit:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	up.lingers = false
	if b.users == 0 {
		b.end(up)
	}
}

// check ends subscriptions when the GPU is lost.
func (b *Backend) check() error {
	b.mu.Lock()
	up := b.up
	b.mu.Unlock()
	if up != nil {
		if since := up.busy.Load(); since != 0 {
			if age := time.Duration(linux.Monotonic() - since); age > stuckAfter {
				b.engine.lose(fmt.Errorf("%w: a copy of %s takes longer than %v", errStuck, b.Stream, stuckAfter))
			}
		}
	}
	if call, age := driver.Busy(threadName(b.Stream)); age > stuckAfter && b.engine.alive() == nil {
		return backend.Declined(negotiate.BackendCUDA, negotiate.ReasonGPUTimeout, "%v", hangs(call, "", age))
	}
	if err := b.engine.alive(); err != nil {
		return backend.Declined(negotiate.BackendCUDA, negotiate.ReasonGPULost, "%v", err)
	}
	return nil
}
