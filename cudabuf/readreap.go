// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cudabuf

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

// How the end of work is waited for: asked again and again at first, then with
// pauses of a part of the age that the wait has, so that a frame goes back late
// by at most that part. A pause can be cut short and a blocking call of the
// driver cannot: work that never ends must not keep what is complete.
const (
	reapSpin     = 50 * time.Microsecond
	reapPart     = 4
	reapLeast    = 100 * time.Microsecond
	reapMost     = 2 * time.Millisecond
	reapPatience = 2 * time.Second
)

// CallLimit is how long one call of the driver, which does not wait for work, may
// take. After that the thread is given up: see driver.Thread.DoWithin.
const CallLimit = 5 * time.Second

// ReadStats counts what a Reaper did.
type ReadStats struct {
	Opened   uint64
	Released uint64
	Stale    uint64 // overwritten before the GPU was done with them
	Failed   uint64 // streams could not be marked, or the driver failed
	Open     int    // handles that were not closed
	Waiting  int    // closed, their work is not complete
}

// Reaper gives leases back when the GPU has done with them. One goroutine waits
// for all of them; none of it allocates per frame.
type Reaper struct {
	submit, watch *driver.Thread
	log           *slog.Logger
	limit         time.Duration // of a call
	patience      time.Duration // of Close
	wake          chan struct{} // capacity 1
	ended         chan struct{}

	markMu  sync.Mutex
	marking *reading
	markJob func() error

	mu       sync.Mutex
	all      []*reading // for their events
	free     []*reading
	incoming []*reading // closed, not seen by run
	closing  bool
	lost     error // nothing tells of work any more
	failed   func(error)
	stats    ReadStats

	turn *turn // of run
}

// turn is what run asks about. It belongs to the watching thread while that asks,
// and for good if it does not come back.
type turn struct {
	watch   *driver.Thread
	pending []*reading
	done    []*reading
	job     func() error
	spin    bool
	asked   []*reading // pending as it was before: run's own
}

func newTurn(watch *driver.Thread) *turn {
	u := &turn{watch: watch}
	u.job = u.ask
	return u
}

// NewReaper makes room for handles at a time; more are made when they are
// needed. Streams are marked on submit, which does nothing that waits; the end
// of work is looked for on watch. Both are of one device.
func NewReaper(submit, watch *driver.Thread, handles int, log *slog.Logger) (*Reaper, error) {
	p := &Reaper{
		submit: submit, watch: watch, log: log, limit: CallLimit, patience: reapPatience,
		turn: newTurn(watch), wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	p.markJob = func() error { return p.marking.mark(p.submit) }
	err := submit.DoWithin(p.limit, func() error {
		for range handles {
			r := p.reading()
			for range readEvents {
				ev, err := submit.NewEvent()
				if err != nil {
					return err
				}
				r.events = append(r.events, ev)
			}
			p.free = append(p.free, r)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, p.destroy())
	}
	go p.run()
	return p, nil
}

// reading makes a new one. mu is held, or nobody else knows p.
func (p *Reaper) reading() *reading {
	r := &reading{reaper: p, streams: make([]driver.Stream, 0, readEvents)}
	p.all = append(p.all, r)
	return r
}

// Open begins the reading of a frame, by which the lease becomes the reaper's.
// It fails with ErrReadClosed after Close; the lease remains the caller's then.
func (p *Reaper) Open(l Lease) (ReadHandle, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return ReadHandle{}, ErrReadClosed
	}
	var r *reading
	if n := len(p.free); n > 0 {
		r, p.free = p.free[n-1], p.free[:n-1]
	} else {
		r = p.reading()
	}
	r.lease = l
	p.stats.Opened++
	p.stats.Open++
	return ReadHandle{r, r.ticket.Add(1)}, nil
}

// close marks the end of a reading's work and queues it.
func (p *Reaper) close(r *reading) error {
	var err error
	if len(r.streams) > 0 {
		p.markMu.Lock()
		if err = p.isLost(); err == nil {
			p.marking = r
			err = p.submit.DoWithin(p.limit, p.markJob)
			if errors.Is(err, driver.ErrTimeout) || errors.Is(err, driver.ErrThread) {
				p.Lose(err)
			}
		}
		p.markMu.Unlock()
	}
	if len(r.streams) == 0 {
		p.finish(r)
		p.mu.Lock()
		p.stats.Open-- // only now: Close waits for what the lease does, too
		p.mu.Unlock()
		signal(p.wake) // the last one, perhaps
		return nil
	}
	p.mu.Lock()
	p.stats.Open--
	if err != nil {
		p.stats.Failed++
	}
	p.stats.Waiting++
	p.incoming = append(p.incoming, r)
	p.mu.Unlock()
	signal(p.wake)
	if err != nil && p.isLost() == nil {
		p.log.Error("frame given back with work on a stream that cannot be waited for", "err", err)
	}
	return err
}

// Lose says that the driver tells nothing of work any more, because of err. All
// leases with work on the GPU are abandoned, now and from now on.
func (p *Reaper) Lose(err error) {
	p.mu.Lock()
	first, failed := p.lost == nil, p.failed
	if first {
		p.lost = err
	}
	p.mu.Unlock()
	signal(p.wake)
	if first && failed != nil {
		failed(err)
	}
}

// OnFailure has f called with each error of the driver that the reaper meets
// while it waits. It is to be set before the first Open.
func (p *Reaper) OnFailure(f func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = f
}

func (p *Reaper) isLost() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// abandon gives up readings and their leases, for good: the driver's thread may
// still have its hands on them.
func (p *Reaper) abandon(all []*reading, why error) {
	p.mu.Lock()
	p.stats.Waiting -= len(all)
	p.stats.Failed += uint64(len(all))
	p.mu.Unlock()
	for i, r := range all {
		p.log.Error("frame kept from the writer: nothing tells whether the GPU is done with it", "err", why)
		r.lease.Abandon()
		all[i] = nil
	}
}

// finish gives a reading's lease back, of which no work is left. The reading
// goes first: whoever gets the lease next needs one.
func (p *Reaper) finish(r *reading) {
	l, lost := r.lease, r.lost
	waited := len(r.streams) > 0
	var stale error
	if waited {
		stale = l.Valid()
	}
	failure := r.failure
	if failure != nil {
		p.log.Error("waiting for the GPU failed", "err", failure)
	}
	p.mu.Lock()
	failed := p.failed
	if waited {
		p.stats.Waiting--
	}
	if r.failure != nil {
		p.stats.Failed++
	}
	if stale != nil {
		p.stats.Stale++
	}
	first := p.stats.Stale == 1
	p.stats.Released++
	r.lease, r.failure, r.passed, r.unknown, r.lost, r.streams = nil, nil, 0, false, false, r.streams[:0]
	p.free = append(p.free, r)
	p.mu.Unlock()
	if stale != nil && first {
		p.log.Error("frame was overwritten while the GPU read it; further ones are only counted", "err", stale)
	}
	if failure != nil && failed != nil {
		failed(failure)
	}
	if lost {
		l.Abandon()
		return
	}
	l.Release()
}

// run is the reaper's goroutine.
func (p *Reaper) run() {
	defer close(p.ended)
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for {
		u := p.turn
		if p.gather() {
			return
		}
		if len(u.pending) == 0 {
			<-p.wake
			continue
		}
		if lost := p.isLost(); lost != nil {
			p.abandon(u.pending, lost)
			u.pending = u.pending[:0]
			continue
		}
		u.asked = append(u.asked[:0], u.pending...)
		if err := p.watch.DoWithin(p.limit, u.job); err != nil {
			// No thread, nothing that tells of work. What it was asked about is the
			// thread's.
			p.Lose(err)
			p.turn = newTurn(p.watch)
			p.abandon(u.asked, err)
			continue
		}
		for i, r := range u.done {
			p.finish(r)
			u.done[i] = nil
		}
		some := len(u.done) > 0
		u.done = u.done[:0]
		if some || len(u.pending) == 0 {
			continue
		}
		age := time.Duration(nanos() - u.pending[0].closed)
		pause.Reset(min(max(age/reapPart, reapLeast), reapMost))
		select {
		case <-p.wake:
		case <-pause.C:
		}
	}
}

// gather takes over what was closed. True: nothing is left and nothing will come.
func (p *Reaper) gather() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := nanos()
	for i, r := range p.incoming {
		r.closed = now
		p.turn.pending = append(p.turn.pending, r)
		p.incoming[i] = nil
		p.turn.spin = true
	}
	p.incoming = p.incoming[:0]
	return p.closing && len(p.turn.pending) == 0 && p.stats.Open == 0
}

// ask moves what is complete from pending to done, on the watching thread.
func (u *turn) ask() error {
	start := nanos()
	for {
		keep := u.pending[:0]
		for _, r := range u.pending {
			if r.complete(u.watch) {
				u.done = append(u.done, r)
			} else {
				keep = append(keep, r)
			}
		}
		clear(u.pending[len(keep):])
		u.pending = keep
		if !u.spin || len(u.done) > 0 || len(u.pending) == 0 || nanos()-start > int64(reapSpin) {
			u.spin = false
			return nil
		}
	}
}

// Stats returns the counters.
func (p *Reaper) Stats() ReadStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Close waits, for two seconds, until all handles are closed and their work is
// complete. It fails with ErrInUse if they are not by then; what is left goes
// back when it can, and Close can be called again.
func (p *Reaper) Close() error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	signal(p.wake)
	patience := time.NewTimer(p.patience)
	defer patience.Stop()
	select {
	case <-p.ended:
	case <-patience.C:
		s := p.Stats()
		err := fmt.Errorf("%w: %d frames were never given back, work of the GPU on %d is not complete", ErrInUse, s.Open, s.Waiting)
		p.log.Error("frames are left on the GPU", "err", err)
		return err
	}
	return p.destroy()
}

// destroy gives the events back.
func (p *Reaper) destroy() error {
	p.mu.Lock()
	all, lost := p.all, p.lost
	if lost == nil {
		p.all = nil
	}
	p.mu.Unlock()
	if lost != nil {
		return lost // nothing can be given back
	}
	return p.submit.DoWithin(p.limit, func() error {
		var errs []error
		for _, r := range all {
			for _, ev := range r.events {
				errs = append(errs, p.submit.DestroyEvent(ev))
			}
		}
		return errors.Join(errs...)
	})
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

var started = time.Now()

// nanos is a clock that only goes forward.
func nanos() int64 { return int64(time.Since(started)) }
