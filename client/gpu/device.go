// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

// Stream is a CUstream of the device's primary context: one of NewStream, or one
// of another CUDA library in the process.
type Stream = driver.Stream

// Ptr is an address in memory of the GPU. It means nothing to the CPU.
type Ptr = driver.Ptr

// Device is a GPU and this process's way to it. Its methods may be called from
// any goroutine.
type Device struct {
	driver  *driver.Driver
	visible []driver.Device // those that may be used
	log     *slog.Logger

	mu     sync.Mutex
	engine *engine // nil until the GPU is needed
	begins *begin  // nil unless the engine is being made
	subs   int     // open subscriptions of Subscribe
	mapped int     // memories that are imported
	closed bool
	rings  []*hostRing
}

// engine is what a GPU that is in use takes: threads with its context.
type engine struct {
	dev     driver.Device
	early   bool           // no frames said which GPU it is
	submit  *driver.Thread // queues work and makes things; never waits for work
	watch   *driver.Thread // asks what is complete, and waits
	side    driver.Stream  // for reading back
	streams []driver.Stream
	log     *slog.Logger

	gone    chan struct{} // closed when lost is set
	mu      sync.Mutex
	lost    error
	reapers []*cudabuf.Reaper // to be told
}

// list names the GPUs for people.
func (d *Device) list() string {
	text := ""
	for i, dev := range d.visible {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s (%s)", dev.UUID, dev.Name)
	}
	return text
}

// do runs f on the submitting thread and notes a failure that is for good.
func (e *engine) do(f func() error) error { return e.within(e.submit, cudabuf.CallLimit, f) }

// ask runs f on the watching thread, as do.
func (e *engine) ask(f func() error) error { return e.within(e.watch, cudabuf.CallLimit, f) }

// within runs f on a thread, unless the GPU is lost. What f uses must be left
// alone if that fails with ErrLost.
func (e *engine) within(t *driver.Thread, limit time.Duration, f func() error) error {
	if err := e.failed(); err != nil {
		return err
	}
	return e.note(t.DoWithin(limit, f))
}

// note makes ErrLost of an error after which nothing works any more.
func (e *engine) note(err error) error {
	if err == nil || !driver.Sticky(err) && !errors.Is(err, driver.ErrTimeout) {
		return err
	}
	e.mu.Lock()
	first := e.lost == nil
	var tell []*cudabuf.Reaper
	if first {
		e.lost = &Error{reasonOf(err), fmt.Errorf("%w: %w", ErrLost, err)}
		tell, e.reapers = e.reapers, nil
		close(e.gone)
	}
	lost := e.lost
	e.mu.Unlock()
	for _, p := range tell {
		p.Lose(err)
	}
	return lost
}

// tells has a reaper know when the GPU is lost, and tell of it.
func (e *engine) tells(p *cudabuf.Reaper) {
	p.OnFailure(func(err error) { _ = e.note(err) })
	e.mu.Lock()
	e.reapers = append(e.reapers, p)
	lost := e.lost
	e.mu.Unlock()
	if lost != nil {
		p.Lose(lost)
	}
}

func (e *engine) forget(p *cudabuf.Reaper) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.Index(e.reapers, p); i >= 0 {
		e.reapers = slices.Delete(e.reapers, i, i+1)
	}
}

// failed is why the GPU cannot be used any more, nil if it can.
func (e *engine) failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost
}

// Name is the GPU's name, or that of the one that will be used if nothing else is
// asked for first.
func (d *Device) Name() string { return d.current().Name }

// UUID is the GPU's, as Name.
func (d *Device) UUID() string { return d.current().UUID.String() }

// Ordinal is the GPU's number in this process, as Name.
func (d *Device) Ordinal() int { return d.current().Ordinal }

func (d *Device) current() driver.Device {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.engine != nil {
		return d.engine.dev
	}
	return d.visible[0]
}

// NewStream is a stream that waits for no other. It is destroyed with
// DestroyStream or by Close. A stream is of one GPU for good: where frames by cuda
// have not decided yet which, nor WithDevice, it is the first one, and frames on
// another then come by other paths. So it is made with the first frame in hand.
func (d *Device) NewStream() (Stream, error) {
	e, err := d.start(startLimit, nil)
	if err != nil {
		return 0, err
	}
	var s Stream
	err = e.do(func() (err error) {
		s, err = e.submit.NewStream(0)
		return err
	})
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e.streams = append(e.streams, s)
	return s, nil
}

// DestroyStream lets go of a stream of NewStream. Frames that are used on it must
// be released before; its queued work is still done. It fails with ErrStream for
// other streams.
func (d *Device) DestroyStream(s Stream) error {
	d.mu.Lock()
	e := d.engine
	i := -1
	if e != nil {
		if i = slices.Index(e.streams, s); i >= 0 {
			e.streams = slices.Delete(e.streams, i, i+1)
		}
	}
	d.mu.Unlock()
	if i < 0 {
		return fmt.Errorf("%w: %#x is not one of NewStream", ErrStream, uintptr(s))
	}
	return e.do(func() error { return e.submit.DestroyStream(s) })
}

// Do runs f where the GPU's context is current, for calls of the driver that a
// program wants to make without a CUDA library of its own. f must not wait for
// work: all subscriptions of the device queue theirs on the same thread.
func (d *Device) Do(f func(t *driver.Thread) error) error {
	e, err := d.start(startLimit, nil)
	if err != nil {
		return err
	}
	return e.do(func() error { return f(e.submit) })
}

// Synchronize waits until the work that is queued on s is complete.
func (d *Device) Synchronize(s Stream) error {
	e, err := d.start(startLimit, nil)
	if err != nil {
		return err
	}
	began, done := time.Now(), false
	for {
		err := e.ask(func() (err error) {
			done, err = e.watch.StreamQuery(s)
			return err
		})
		if err != nil || done {
			return err
		}
		pause(began)
	}
}

// How the end of work is waited for by who wants its result: asked again and
// again for so long, then with pauses that grow with the wait.
const (
	awaitSpin  = 200 * time.Microsecond
	awaitLeast = 50 * time.Microsecond
	awaitMost  = time.Millisecond
	awaitPart  = 8
)

// pause is between two questions of a wait that began then.
func pause(began time.Time) {
	time.Sleep(min(max(time.Since(began)/awaitPart, awaitLeast), awaitMost))
}

// Close ends the use of the GPU: streams of NewStream are destroyed and the
// context is let go of. It fails with ErrInUse, and does nothing, while there are
// subscriptions, also those of client.WithDevice, and with ErrLost if the GPU
// failed: what is left on it goes with the process then.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	// Memory of subscriptions that package client made, too: what is mapped or
	// registered can be undone only while there is a context that works.
	e := d.engine
	if (e == nil || e.failed() == nil) && (d.subs > 0 || d.mapped+len(d.rings) > 0) {
		err := fmt.Errorf("%w: %d subscriptions of the device are open, %d rings are mapped", ErrInUse, d.subs, d.mapped+len(d.rings))
		d.log.Error("device closed while it is used", "err", err)
		return err
	}
	d.closed = true
	if e == nil {
		return nil
	}
	if lost := e.failed(); errors.Is(lost, driver.ErrTimeout) {
		return lost // nothing that the driver is asked comes back for sure
	}
	err := e.do(func() error {
		errs := []error{e.submit.DestroyStream(e.side)}
		for _, s := range e.streams {
			errs = append(errs, e.submit.DestroyStream(s))
		}
		return errors.Join(errs...)
	})
	err = e.note(errors.Join(err, e.close()))
	if lost := e.failed(); lost != nil {
		return lost // what else was said follows from it
	}
	return err
}
