// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Counts are of what a subscription did for the GPU.
type Counts struct {
	InPlace    uint64 // frames used where the daemon has them, in memory of the GPU
	Registered uint64 // frames uploaded from the daemon's host memory
	Staged     uint64 // frames uploaded through a buffer, which took a copy more
	ReadBack   uint64 // copies to the host
	Stale      uint64 // frames overwritten before the GPU was done with them
	Failed     uint64 // frames whose streams could not be waited for
	Open       int    // frames in the program's hands
	Waiting    int    // frames released, with work of the GPU that is not complete
}

// Subscription is one stream's frames for a GPU. Next and Frames belong to one
// goroutine at a time; everything else may be called from anywhere.
type Subscription struct {
	device *Device
	sub    *client.Subscription

	mu     sync.Mutex
	all    []*held
	free   []*held
	counts Counts
	used   *use // nil until a frame is used on the GPU

	closeMu sync.Mutex // one at a time closes
	over    bool       // guarded by closeMu

	jobMu sync.Mutex // one at a time queues
	job   job
}

// use is what a subscription has on the GPU.
type use struct {
	engine *engine
	reaper *cudabuf.Reaper
	copies driver.Stream // for uploads
}

// Subscribe is client.Subscribe for frames that are used on the GPU: by default
// cuda is accepted, and shm and cpu where that cannot be had. The subscription
// must be closed before the device.
func (d *Device) Subscribe(ctx context.Context, stream string, opts ...client.Option) (*Subscription, error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, ErrClosed
	}
	d.subs++
	d.mu.Unlock()
	s := &Subscription{device: d}
	s.job.sub = s
	s.job.init()
	var err error
	s.sub, err = client.Subscribe(ctx, stream, append([]client.Option{client.WithDevice(d)}, opts...)...)
	if err != nil {
		d.leave()
		return nil, err
	}
	return s, nil
}

// leave ends one subscription.
func (d *Device) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.subs--
}

// Next returns the newest frame that the program has not had, and waits for it
// if there is none: see client.Subscription.Next. A frame whose GPU work is not
// complete still takes one of the subscription's credits (client.WithCredit).
func (s *Subscription) Next(ctx context.Context) (Frame, error) {
	f, err := s.sub.Next(ctx)
	if err != nil {
		return Frame{}, err
	}
	s.mu.Lock()
	var h *held
	if n := len(s.free); n > 0 {
		h, s.free = s.free[n-1], s.free[:n-1]
	} else {
		h = &held{sub: s}
		s.all = append(s.all, h)
	}
	s.counts.Open++
	s.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frame = f
	h.ticket++
	return Frame{Frame: f, h: h, ticket: h.ticket}, nil
}

// Frames iterates over Next. Each frame is released at the end of its turn. It
// ends after the first error, which it hands out.
func (s *Subscription) Frames(ctx context.Context) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		for s.turn(ctx, yield) {
		}
	}
}

func (s *Subscription) turn(ctx context.Context, yield func(Frame, error) bool) bool {
	f, err := s.Next(ctx)
	if err != nil {
		yield(Frame{}, err)
		return false
	}
	defer f.endTurn()
	return yield(f, nil)
}

// start is what the subscription has on the GPU, made with its first use.
func (s *Subscription) start() (*use, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used != nil {
		return s.used, s.used.engine.failed()
	}
	e, err := s.device.start(startLimit, nil)
	if err != nil {
		return nil, err
	}
	u := &use{engine: e}
	if err := e.do(func() (err error) { u.copies, err = e.submit.NewStream(0); return err }); err != nil {
		return nil, err
	}
	u.reaper, err = cudabuf.NewReaper(e.submit, e.watch, max(s.sub.Path().Credit, 1), s.device.log)
	if err != nil {
		err = e.note(err)
		return nil, errors.Join(err, e.do(func() error { return e.submit.DestroyStream(u.copies) }))
	}
	e.tells(u.reaper)
	s.used = u
	return u, nil
}

// engine is that of the uses that were made.
func (s *Subscription) engine() *engine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used.engine
}

// put takes back a frame that nobody uses any more.
func (s *Subscription) put(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, h)
}

func (s *Subscription) count(add func(*Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.counts)
}

// Counts returns the counters.
func (s *Subscription) Counts() Counts {
	s.mu.Lock()
	c, u := s.counts, s.used
	s.mu.Unlock()
	if u != nil {
		r := u.reaper.Stats()
		c.Stale, c.Failed, c.Waiting = r.Stale, r.Failed, r.Waiting
	}
	return c
}

// Device is the GPU that the subscription is for.
func (s *Subscription) Device() *Device { return s.device }

// Info describes the stream as the daemon last did.
func (s *Subscription) Info() negotiate.StreamInfo { return s.sub.Info() }

// Path is how the frames come now, or came last.
func (s *Subscription) Path() client.Path { return s.sub.Path() }

// Stats returns the counters of client.Subscription.
func (s *Subscription) Stats() client.Stats { return s.sub.Stats() }

// Close ends the subscription. It waits for frames that are held and for work of
// the GPU, and after two seconds fails with client.ErrLeaked or ErrInUse: what is
// left stays as it is, and Close can be called again. It fails with ErrLost if the
// GPU did.
func (s *Subscription) Close() error {
	err := s.sub.Close()
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if s.over {
		return err
	}
	s.mu.Lock()
	u := s.used
	s.mu.Unlock()
	if u != nil {
		late := u.engine.note(u.reaper.Close())
		err = errors.Join(err, late)
		if errors.Is(late, ErrInUse) {
			return err
		}
	}
	s.mu.Lock()
	all, open := s.all, s.counts.Open
	s.mu.Unlock()
	if open > 0 {
		return errors.Join(err, fmt.Errorf("%w: %d frames were not released", ErrInUse, open))
	}
	s.over = true
	if u != nil {
		u.engine.forget(u.reaper)
		err = errors.Join(err, u.engine.do(func() error { return s.dispose(u, all) }))
		if lost := u.engine.failed(); lost != nil {
			err = lost // what else was said follows from it
		}
	}
	s.device.leave()
	return err
}

// dispose gives back what uploads and read-backs took, on the submitting thread.
func (s *Subscription) dispose(u *use, all []*held) error {
	t := u.engine.submit
	errs := []error{t.DestroyStream(u.copies), s.job.dispose(t)}
	for _, h := range all {
		errs = append(errs, h.dispose(t))
	}
	return errors.Join(errs...)
}
