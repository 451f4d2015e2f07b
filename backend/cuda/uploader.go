// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// maxFailures is after how many frames in a row that cannot be uploaded the GPU
// counts as lost.
const maxFailures = 10

// uploader brings the frames of a stream to the GPU, on a thread of its own, from
// the first subscriber to the last.
type uploader struct {
	b      *Backend
	before *uploader // may still hold memory, nil at first
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}
	busy   atomic.Int64 // CLOCK_MONOTONIC at which a copy began, 0 without one

	mu      sync.Mutex
	settled *ring.Ring // the host ring that was gone over to, or tried
	err     error      // why that did not succeed
	changed chan struct{}
	began   chan struct{} // is closed with the first report
	lingers bool          // guarded by mu of the Backend

	// Of the thread.
	thread   *driver.Thread
	epoch    *epoch
	lease    ring.Lease
	failures int   // in a row
	first    error // of those
}

func newUploader(b *Backend, before *uploader) *uploader {
	return &uploader{
		b: b, before: before, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		changed: make(chan struct{}), began: make(chan struct{}),
	}
}

// signal has the thread look at what there is to do.
func (u *uploader) signal() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// wait returns once frames of the newest host ring go to the GPU, or cannot.
func (u *uploader) wait(ctx context.Context, source func() *ring.Ring, patience time.Duration) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		u.mu.Lock()
		settled, err, changed := u.settled, u.err, u.changed
		u.mu.Unlock()
		want := source()
		switch {
		case want == nil:
			return ring.ErrRetired
		case settled == want:
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-u.done: // it could not begin
			return cmp.Or(err, errStopped)
		case <-limit.C:
			call, age := driver.Busy(threadName(u.b.Stream))
			if call == "" {
				call, age = driver.Busy("") // which that of this stream may wait for
			}
			if call == "" {
				return fmt.Errorf("%w within %v", errSlow, patience.Round(100*time.Millisecond))
			}
			return fmt.Errorf("%w within %v: %w", errSlow, patience.Round(100*time.Millisecond), hangs(call, "", age))
		}
	}
}

var (
	errStopped = errors.New("the upload has stopped")
	// errSlow: the GPU takes long to begin.
	errSlow = errors.New("no device ring")
)

// threadName is that of a stream's uploads.
func threadName(stream string) string { return "cuda " + stream }

// settledOnce reports whether there was a ring, or none came about.
func (u *uploader) settledOnce() bool {
	select {
	case <-u.began:
		return true
	case <-u.done:
		return true
	default:
		return false
	}
}

// report tells those that wait what became of a host ring.
func (u *uploader) report(host *ring.Ring, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.settled, u.err = host, err
	select {
	case <-u.began:
	default:
		close(u.began)
	}
	close(u.changed)
	u.changed = make(chan struct{})
}

// run is the uploader's life.
func (u *uploader) run() {
	defer close(u.done)
	if u.before != nil {
		<-u.before.done
		u.before = nil
	}
	d, dev := u.b.engine.gpu()
	t, err := d.Start(dev, threadName(u.b.Stream))
	if err != nil {
		u.fail(u.b.source(), err)
		return
	}
	u.thread = t
	u.signal()
	_ = t.Do(u.loop)
	if err := t.Close(); err != nil {
		u.warn("ending the use of the GPU", err)
	}
}

// loop runs on the thread.
func (u *uploader) loop() error {
	defer u.drop(nil)
	for {
		select {
		case <-u.stop:
			return nil
		case <-u.wake:
		}
		u.settle()
		for u.step() {
			select {
			case <-u.stop:
				return nil
			default:
			}
		}
	}
}

// settle goes over to the newest host ring, or ends what there is when frames
// cannot go to the GPU any more.
func (u *uploader) settle() {
	host := u.b.source()
	if host == nil { // the stream has ended, and its subscribers hear of that elsewhere
		u.drop(nil)
		u.report(nil, nil)
		return
	}
	if c := u.b.Candidate(); c.Reason != "" {
		if u.epoch != nil || u.failedAt(host) == nil {
			cause := backend.Declined(c.Backend, c.Reason, "%s", c.Detail)
			u.drop(cause)
			u.report(host, cause)
		}
		return
	}
	if u.epoch != nil && u.epoch.host == host || u.failedAt(host) != nil {
		return
	}
	next, err := u.open(host)
	switch {
	case errors.Is(err, ring.ErrRetired):
		return // replaced meanwhile: the next one comes with a signal
	case err != nil:
		u.fail(host, err)
		return
	}
	before := u.epoch
	u.epoch = next
	u.b.SetEpoch(next.local(), nil)
	next.reader.Want(true)
	u.report(host, nil)
	u.close(before)
}

// failedAt is why there is no device ring for a host ring.
func (u *uploader) failedAt(host *ring.Ring) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.settled != host {
		return nil
	}
	return u.err
}

// fail sends subscribers away: there is no ring for them.
func (u *uploader) fail(host *ring.Ring, err error) {
	if driver.Sticky(err) {
		u.b.engine.lose(err)
	}
	u.b.engine.setback(err)
	cause := declined(err)
	u.b.Log.Warn("no device ring", "stream", u.b.Stream, "backend", negotiate.BackendCUDA, "reason", reason(err), "err", err)
	u.drop(cause)
	u.report(host, cause)
}

// drop ends the epoch, and with a cause its subscriptions.
func (u *uploader) drop(cause error) {
	before := u.epoch
	u.epoch = nil
	u.b.SetEpoch(nil, cause)
	u.close(before)
}

func (u *uploader) close(e *epoch) {
	if err := e.close(u.thread); err != nil {
		u.warn("giving memory of the GPU back", err)
	}
}

// warn says what went wrong at giving something back. With a GPU that is lost
// everything does, and that is said already.
func (u *uploader) warn(doing string, err error) {
	if driver.Sticky(err) {
		u.b.engine.lose(err)
		return
	}
	u.b.Log.Warn(doing, "stream", u.b.Stream, "backend", negotiate.BackendCUDA, "err", err)
}

// step uploads the newest frame. It reports whether there may be another.
func (u *uploader) step() bool {
	e := u.epoch
	if e == nil || !e.reader.Take(&u.lease) {
		return false
	}
	err := u.upload(e)
	e.reader.Release(u.lease.Word)
	u.lease.Data = nil // may be unmapped from now on
	u.b.counts.superseded.Store(e.before + e.reader.Stats().Overwritten)
	switch {
	case err == nil:
		u.failures = 0
	case errors.Is(err, ring.ErrNoSlot), errors.Is(err, ring.ErrRetired):
	default:
		u.failed(err)
	}
	if u.b.engine.alive() != nil {
		u.signal() // there is something to end
		return false
	}
	return true
}

// upload brings one frame to the GPU and hands it over.
func (u *uploader) upload(e *epoch) error {
	h, err := e.writer.Begin()
	if err != nil {
		if errors.Is(err, ring.ErrNoSlot) {
			u.b.counts.noSlot.Add(1)
		}
		return err
	}
	u.busy.Store(linux.Monotonic())
	defer u.busy.Store(0)
	meta := &u.lease.Meta
	if err = h.Upload(u.thread, u.lease.Data); err == nil {
		err = h.Publish(u.thread, meta)
	}
	if err != nil {
		// What cannot be waited for keeps its slot: the GPU may still write it.
		if also := h.Discard(u.thread); !driver.Sticky(also) {
			err = errors.Join(err, also)
		}
		return err
	}
	u.b.counts.frames.Add(1)
	u.b.counts.bytes.Add(uint64(meta.Bytes))
	return nil
}

// failed counts a frame that did not come through.
func (u *uploader) failed(err error) {
	u.b.counts.errors.Add(1)
	u.failures++
	switch {
	case driver.Sticky(err):
		u.b.engine.lose(err)
	case u.failures >= maxFailures:
		u.b.engine.lose(fmt.Errorf("%d frames in a row did not get to the GPU, the first because of: %w", u.failures, u.first))
	case u.failures == 1:
		u.first = err // others may only follow from it
		u.b.Log.Warn("a frame did not get to the GPU", "stream", u.b.Stream, "backend", negotiate.BackendCUDA, "err", err)
	}
}

// local is the epoch as subscribers get it.
func (e *epoch) local() *local.Epoch {
	return &local.Epoch{Ring: e.ring.Ring, Device: e.device, Memory: e.ring.Handle, Probe: e.ring.Probe()}
}
