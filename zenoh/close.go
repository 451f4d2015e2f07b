// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/transport"
)

// Close sends what waits, says goodbye and ends everything that was declared.
// It returns when nothing of the session is left, or with ctx's error when that
// ends: then what waits is given up, and what is left half a second later is
// callbacks that have not returned. A further call waits as well.
//
// Called in a callback of a session it returns at once, since it would wait for
// that callback: the session ends behind its back, at ctx's deadline at the
// latest. A further call from elsewhere waits for the end.
func (s *Session) Close(ctx context.Context) error {
	inside := inCallback()
	sending := ctx
	if inside { // whose return may cancel ctx
		sending = context.WithoutCancel(ctx)
	}
	if end, bounded := ctx.Deadline(); bounded && inside {
		var stop context.CancelFunc
		sending, stop = context.WithDeadline(sending, end)
		context.AfterFunc(s.ctx, stop)
	}
	first := s.shut(sending)
	if inside {
		return nil
	}
	select {
	case <-s.finished:
	case <-ctx.Done():
		// Only a callback keeps the session now: without one, payloads have been
		// given back when this returns.
		timer := time.NewTimer(letGo)
		defer timer.Stop()
		select {
		case <-s.finished:
		case <-timer.C:
		}
		return context.Cause(ctx)
	}
	if !first {
		return nil
	}
	return s.closeErr
}

// letGo is how long the goroutines of a session get to end when nothing is sent
// any more.
const letGo = 500 * time.Millisecond

// inCallback says whether the caller of [Session.Close] was called by a session:
// whether a method of it or of a connection is further up the stack.
func inCallback() bool {
	pcs := make([]uintptr, 64)
	n := runtime.Callers(3, pcs)
	for n == len(pcs) {
		pcs = make([]uintptr, 2*n)
		n = runtime.Callers(3, pcs)
	}
	frames := runtime.CallersFrames(pcs[:n])
	for more := n > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, ownMethods) || strings.HasPrefix(f.Function, linkMethods) {
			return true
		}
	}
	return false
}

// How the names of methods begin.
var (
	ownMethods  = reflect.TypeFor[Session]().PkgPath() + ".(*"
	linkMethods = reflect.TypeFor[transport.Transport]().PkgPath() + ".(*"
)

// shut begins to end the session; false: that has begun before. ctx bounds the
// sending of what waits.
func (s *Session) shut(ctx context.Context) bool {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	s.closed = true
	s.over.Store(true)
	open, listeners := s.open(), s.listeners
	s.mu.Unlock()
	s.silence() // nothing is received after this
	go s.end(ctx, open, func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	})
	return true
}

// end ends the session, and waits until it has.
func (s *Session) end(ctx context.Context, open []*face, hush func()) {
	// Who blocks here must not keep the connections.
	cut := context.AfterFunc(ctx, func() { s.cancel(ErrClosed) })
	defer cut()
	hush()
	s.discard() // whoever blocks the reading must go first
	errs := make(chan error)
	for _, f := range open {
		go func() { errs <- f.t.Close(ctx) }()
	}
	for range open {
		switch e := <-errs; {
		case e == nil:
		case ctx.Err() != nil:
			s.closeErr = context.Cause(ctx)
		case !errors.Is(e, transport.ErrClosed):
			s.closeErr = e
		}
	}
	s.cancel(ErrClosed)
	<-s.done
	s.silence()
	s.discard()
	s.pool.Empty()
	close(s.finished)
}

// silence ends those that only receive. It never waits.
func (s *Session) silence() {
	s.mu.Lock()
	subs, watchers, publishers := s.subs, s.watchers, s.publishers
	s.subs, s.watchers, s.publishers = map[uint32]*Subscriber{}, map[uint32]*LivelinessSubscriber{}, map[uint32]*Publisher{}
	s.subsAt, s.watchersAt = index[*Subscriber]{}, index[*LivelinessSubscriber]{}
	s.version.Add(1)
	s.mu.Unlock()
	for _, x := range subs {
		x.q.end(ErrClosed, nil)
	}
	for _, x := range watchers {
		x.q.end(ErrClosed, nil)
	}
	for _, x := range publishers {
		x.close()
	}
}

// discard ends what answers and asks. Those who asked may get their last
// replies by it.
func (s *Session) discard() {
	s.mu.Lock()
	queryables, queries, asks := s.queryables, s.queries, s.asks
	s.queryables, s.tokens = map[uint32]*Queryable{}, map[uint32]*Token{}
	s.asked, s.tokensOf = index[*Queryable]{}, map[string]int{}
	s.queries, s.asks = map[uint32]*Replies{}, map[uint32]*livelinessGet{}
	s.mu.Unlock()
	for _, x := range queryables {
		x.q.discard(ErrClosed)
	}
	for _, x := range queries {
		x.finish(ErrClosed)
	}
	for _, x := range asks {
		x.finish(ErrClosed)
	}
}

// Flush waits until everything sent before has been given to the kernel. It
// fails with ctx's error, [ErrNotConnected] and [ErrClosed].
func (s *Session) Flush(ctx context.Context) error {
	if s.over.Load() {
		return ErrClosed
	}
	if s.offline() {
		return ErrNotConnected
	}
	var errs []error
	for _, f := range s.open() {
		errs = append(errs, s.sendError(f.t.Flush(ctx)))
	}
	return errors.Join(errs...)
}

// away is the error of what needs a connection and has none.
func (s *Session) away() error {
	if s.over.Load() {
		return ErrClosed
	}
	return ErrNotConnected
}

// sendError turns an error of the connection into one of the session.
func (s *Session) sendError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrClosed):
		return s.away()
	case errors.Is(err, transport.ErrExpired), errors.Is(err, transport.ErrUnresponsive), errors.Is(err, transport.ErrProtocol):
		if s.over.Load() {
			return ErrClosed
		}
		return fmt.Errorf("%w: %w", ErrNotConnected, err) // it has just ended of that
	}
	return err
}
