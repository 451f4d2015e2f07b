// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// Subscription is one stream's frames, through restarts of the daemon and
// changes of format. Next and Frames belong to one goroutine at a time;
// everything else may be called from anywhere.
type Subscription struct {
	stream string // as the user wrote it
	host   string // that it names, "" if none
	name   string // "camera/stream" without the host
	opts   options
	leaked atomic.Uint64

	cancel context.CancelFunc
	done   chan struct{} // the connection's goroutine has ended

	nextMu  sync.Mutex      // one Next at a time
	watched <-chan struct{} // Done of the context of the newest Next
	// pipeBytes is where wake-up bytes go: their number means nothing.
	pipeBytes [64]byte
	unwatch   func() bool
	released  chan struct{} // capacity 1: a handle came back
	changed   chan struct{} // capacity 1: cur, failure or closed changed

	// The following are of keep's goroutine, once that runs.
	tried      time.Time     // last attempt to connect
	link       *link         // to the network, nil: it was not needed
	pinned     string        // host on which the stream was found first; "" this one
	background bool          // Subscribe has returned
	lookAt     time.Time     // not before this the network is asked
	begun      time.Time     // of the way that runs
	wary       time.Duration // how long to wait before a better path is taken again
	waryUntil  time.Time

	mu       sync.Mutex
	cur      *epoch
	topic    *topicRoute // in place of cur: frames come over Zenoh
	pipe     *os.File
	closed   bool
	failure  error
	evicted  error // as long as evicted frames are held
	handles  []*handle
	free     []*handle
	dead     []*epoch // not used any more, to be closed by unlock
	path     Path
	info     negotiate.StreamInfo
	stats    Stats
	broken   bool // the next frame is the first after a break
	lastSeq  uint64
	lastFrom frame.Session
	lastSize frame.Geometry
	lastKept bool // it was of the past: see frame.Kept
	last     origin
	crossed  bool // the way is another one than that of the last frame
}

// Subscribe looks for the stream "camera/stream" of a camd, of this host or else
// of the only one on the network that has it, for "host:camera/stream", or for
// the ROS 2 image topic "/name", and agrees on a path. A better path that can be
// had later is gone over to. If the stream is known but its camera delivers
// nothing yet it succeeds, and Next waits. It fails with ErrNoDaemon,
// ErrNoRouter, ErrUnknownStream, ErrAmbiguous, ErrNotAvailable, ErrPermission or
// the error of ctx. ctx bounds Subscribe alone; Close ends the subscription.
func Subscribe(ctx context.Context, stream string, opts ...Option) (*Subscription, error) {
	s := &Subscription{
		stream: stream, opts: newOptions(opts), done: make(chan struct{}),
		released: make(chan struct{}, 1), changed: make(chan struct{}, 1),
	}
	s.host, s.name = SplitHost(stream)
	s.tried = time.Now()
	way, err := s.connect(ctx)
	if err != nil && !errors.Is(err, errNotReady) {
		s.leave()
		return nil, err
	}
	for range s.opts.credit {
		h := &handle{sub: s}
		s.handles = append(s.handles, h)
		s.free = append(s.free, h)
	}
	background, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	if way != nil {
		s.enter(way, "")
	} else {
		s.event(EventWaiting, err, "%s: %v", stream, err)
	}
	s.background = true
	go s.keep(background, way, err)
	return s, nil
}

// Next returns the newest frame that the program has not had, and waits for it
// if there is none. A frame that is newer always comes before an older one is
// missed twice: what the program was too slow for is skipped. If every credit
// is used up by frames that were not released, it waits for one to be. Next
// fails with the error of ctx, ErrClosed, ErrEvicted or the reason for which
// the required path cannot be had any more.
func (s *Subscription) Next(ctx context.Context) (Frame, error) {
	s.nextMu.Lock()
	defer s.nextMu.Unlock()
	s.watch(ctx)
	for {
		if err := ctx.Err(); err != nil {
			return Frame{}, err
		}
		f, e, wait, err := s.attempt()
		if errors.Is(err, ErrClosed) {
			s.watch(context.Background())
		}
		if err != nil || wait == waitNone {
			return f, err
		}
		switch wait {
		case waitRelease:
			select {
			case <-s.released:
			case <-s.changed:
			case <-ctx.Done():
			}
		case waitChange:
			select {
			case <-s.changed:
			case <-ctx.Done():
			}
		case waitFrame:
			f, err := s.sleep(e)
			if err != nil || f.h != nil {
				return f, err
			}
		}
	}
}

type wait int

const (
	waitNone    wait = iota
	waitRelease      // for a handle
	waitChange       // for a connection
	waitFrame        // for a frame of the epoch
)

// attempt takes a frame if one is there. With waitFrame it returns the epoch to
// wait on, which then counts as used until sleep is over.
func (s *Subscription) attempt() (Frame, *epoch, wait, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return Frame{}, nil, waitNone, ErrClosed
	case s.failure != nil:
		return Frame{}, nil, waitNone, s.failure
	case s.evicted != nil:
		return Frame{}, nil, waitNone, s.evicted
	case len(s.free) == 0, len(s.handles)-len(s.free) >= max(s.path.Credit, 1):
		return Frame{}, nil, waitRelease, nil
	case s.topic != nil:
		if f := s.takeTopic(); f.h != nil {
			return f, nil, waitNone, nil
		}
		return Frame{}, nil, waitChange, nil
	case s.cur == nil:
		return Frame{}, nil, waitChange, nil
	}
	f, err := s.take(s.cur)
	if err != nil || f.h != nil {
		return f, nil, waitNone, err
	}
	s.cur.users++
	return Frame{}, s.cur, waitFrame, nil
}

// take looks into the mailbox. mu is held.
func (s *Subscription) take(e *epoch) (Frame, error) {
	h := s.free[len(s.free)-1]
	ok, err := e.view.Take(&h.lease)
	if want := e.info.Geometry.MinBytes(); ok && h.lease.Meta.Bytes < want {
		e.view.Release(h.lease.Word)
		err = fmt.Errorf("frame of %d bytes, its geometry takes at least %d", h.lease.Meta.Bytes, want)
	}
	if err != nil {
		// The daemon is the other side of this memory: it cannot be trusted
		// any more, and the connection's goroutine looks for a new one.
		_ = e.conn.Close()
		if errors.Is(err, ring.ErrStale) {
			// It gave this program up and used the slot again, while this
			// program stood still: the end of a connection, no fault.
			return Frame{}, nil
		}
		return Frame{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if !ok {
		return Frame{}, nil
	}
	h.epoch, h.geometry, h.session, h.number = e, e.info.Geometry, e.session, e.view.Layout().Epoch
	o := e.origin(&h.lease.Meta)
	if !s.newer(o) {
		// It came by another way before. Whether the daemon skipped a newer one
		// meanwhile does not matter: with the next one it looks again.
		e.view.Release(h.lease.Word)
		return Frame{}, nil
	}
	s.last = o
	h.message = h.lease.Meta.Bytes
	e.users++
	e.held++
	e.tie.held++
	return s.hand(h), nil
}

// hand books the last free handle, which holds a frame now. mu is held.
func (s *Subscription) hand(h *handle) Frame {
	h.taken = linux.Monotonic()
	s.free = s.free[:len(s.free)-1]
	h.refs, h.inLoop = 1, true
	m := &h.lease.Meta
	goesOn := s.lastFrom == h.session && s.stats.Taken > 0
	// The marked frame may have been replaced before this program took it.
	missed := goesOn && s.lastSeq < m.BreakSequence
	if s.broken || missed {
		m.Flags |= frame.Discontinuity
		s.broken = false
	}
	if goesOn && m.Sequence > s.lastSeq+1 {
		s.stats.Missed += m.Sequence - s.lastSeq - 1
	}
	s.lastSeq, s.lastFrom, s.lastSize, s.lastKept = m.Sequence, h.session, h.geometry, m.Flags&frame.Kept != 0
	s.stats.Taken++
	return Frame{h, h.ticket.Add(1)}
}

// Frames iterates over Next. Each frame is released at the end of its turn
// unless it was retained. It ends after the first error, which it hands out.
func (s *Subscription) Frames(ctx context.Context) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		for s.turn(ctx, yield) {
		}
	}
}

// turn is one turn of a loop. The frame goes back also when the loop's body
// panics.
func (s *Subscription) turn(ctx context.Context, yield func(Frame, error) bool) bool {
	f, err := s.Next(ctx)
	defer f.Release()
	return yield(f, err) && err == nil
}

func (s *Subscription) retain(f Frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.live() {
		return false
	}
	f.h.refs++
	return true
}

// release ends the loop's use of a frame, or that of one Retained.
func (s *Subscription) release(f Frame, retained bool) {
	s.mu.Lock()
	if !f.live() || (!retained && !f.h.inLoop) {
		s.mu.Unlock()
		return
	}
	h := f.h
	if !retained {
		h.inLoop = false
	}
	if h.refs--; h.refs > 0 {
		s.mu.Unlock()
		return
	}
	h.ticket.Add(1)
	if h.epoch != nil {
		s.releaseLease(h)
	} else {
		s.releaseSample(h)
	}
	signal(s.released)
}

// releaseLease gives a slot back to the daemon. mu is held, and given up.
func (s *Subscription) releaseLease(h *handle) {
	e := h.epoch
	kick := e.view.Release(h.lease.Word)
	h.lease.Data, h.epoch = nil, nil
	s.free = append(s.free, h)
	e.held--
	e.tie.held--
	if e.held == 0 && e.evicted != nil {
		s.evicted = nil
		if e.tie.held == 0 {
			_ = e.conn.Close() // the daemon takes the end of the socket as proof
		}
	}
	if e.tie.held == 0 && e.tie.stays {
		e.tie.close(e.conn)
	}
	conn := e.conn
	s.unuse(e)
	s.unlock()
	if kick {
		_ = conn.SendKick() // a dead connection shows where it is received from
	}
}

// unuse ends one use of an epoch. mu is held.
func (s *Subscription) unuse(e *epoch) {
	e.users--
	s.reap(e)
}

// reap has an epoch closed that is over and not used. mu is held, and to be
// given up by unlock.
func (s *Subscription) reap(e *epoch) {
	if e.over && e.users == 0 {
		s.dead = append(s.dead, e)
	}
}

// unlock gives up mu and then closes what reap found: a driver takes its time.
func (s *Subscription) unlock() {
	dead := s.dead
	s.dead = nil
	s.mu.Unlock()
	for _, e := range dead {
		e.close(&s.opts)
	}
}

// Info describes the stream as the daemon last did.
func (s *Subscription) Info() negotiate.StreamInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// Path is how the frames come now, or came last.
func (s *Subscription) Path() Path {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// Stats returns the counters.
func (s *Subscription) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Leaked, st.Ignored = s.leaked.Load(), maps.Clone(st.Ignored)
	return st
}

// closeWait is how long Close waits for frames that another goroutine still
// holds.
const closeWait = 2 * time.Second

// Close ends the subscription. Frames that are still held stay readable until
// they are released: Close waits for them for two seconds and then returns
// ErrLeaked with their sequence numbers, leaving their memory mapped. Called
// again, it says whether they still are.
func (s *Subscription) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	signal(s.changed)
	if !first {
		<-s.done
		return s.leaks()
	}
	s.interrupt()
	s.nextMu.Lock() // a Next under way sees closed and returns
	s.watch(context.Background())
	s.nextMu.Unlock()
	leaked := s.awaitHandles()
	s.cancel()
	<-s.done
	return leaked
}

func (s *Subscription) awaitHandles() error {
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	for {
		err := s.leaks()
		if err == nil {
			return nil
		}
		select {
		case <-s.released:
		case <-timer.C:
			s.opts.log.Error("closed with frames that were never released", "stream", s.stream, "err", err)
			return err
		}
	}
}

// leaks is the error for frames that are held.
func (s *Subscription) leaks() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var held []uint64
	for _, h := range s.handles {
		if h.refs > 0 {
			held = append(held, h.lease.Meta.Sequence)
		}
	}
	if len(held) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: sequence %v", ErrLeaked, s.stream, held)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
