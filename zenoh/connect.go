// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// connect tries each endpoint once and keeps the first that answers. Without
// endpoints it looks for a router.
func (s *Session) connect(ctx context.Context) (*face, error) {
	f, err := s.connectAny(ctx)
	s.tried(err)
	return f, err
}

// tried keeps the outcome of a try for [Session.Info].
func (s *Session) tried(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tryErr = err
}

func (s *Session) connectAny(ctx context.Context) (*face, error) {
	if len(s.endpoints) == 0 {
		return s.connectFound(ctx)
	}
	err := ErrUnreachable
	for i, e := range s.endpoints {
		f, why := s.connectTo(ctx, e, target{as: wire.Client})
		if why == nil {
			return f, nil
		}
		if i == 0 {
			err = fmt.Errorf("%w: %v: %w", err, e, why)
		} else {
			err = fmt.Errorf("%w; %v: %w", err, e, why)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// target is whom to connect to, and as what.
type target struct {
	as      Role
	zid     ZID        // zero: whoever answers
	roles   wire.Roles // 0: any
	timeout time.Duration
}

// connectTo connects and declares everything. Whoever calls must run what it
// returns.
func (s *Session) connectTo(ctx context.Context, e link.Endpoint, to target) (*face, error) {
	timeout := s.cfg.Transport.OpenTimeout
	if to.timeout > 0 {
		timeout = min(timeout, to.timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := link.Dial(ctx, e, &s.link)
	if err != nil {
		return nil, err
	}
	p := s.params
	p.WhatAmI = to.as
	var c *claim
	admit := s.admitter(&c, true, to.zid, cancel)
	p.Admit = func(ctx context.Context, o transport.Other) error {
		if to.roles != 0 && !to.roles.Has(o.Role) {
			return &transport.Refusal{Reason: wire.Invalid, Why: fmt.Sprintf("a %v answers", o.Role)}
		}
		return admit(ctx, o)
	}
	t, err := transport.Open(ctx, conn, p, &s.pool)
	if err != nil {
		s.release(c)
		return nil, err
	}
	return s.take(newFace(s, t, e), c)
}

// take makes f one of the connections.
func (s *Session) take(f *face, c *claim) (*face, error) {
	if s.adopt(f, c) {
		return f, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = f.t.Close(ctx)
	return nil, ErrClosed
}

// connectFirst connects within the time that the settings give.
func (s *Session) connectFirst(ctx context.Context) (*face, error) {
	limit := s.cfg.Connect.Timeout
	f, err := s.connect(ctx)
	if err == nil || limit == 0 {
		return f, err
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if f := s.retry(ctx, err); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("%w (%w)", err, context.Cause(ctx))
}

// retry connects with growing pauses until it succeeds or ctx ends (nil).
func (s *Session) retry(ctx context.Context, err error) *face {
	for p := s.pauses(); p.wait(ctx, err); {
		var f *face
		if f, err = s.connect(ctx); err == nil {
			return f
		}
	}
	return nil
}

// pauses grow between two tries to connect.
type pauses struct {
	s    *Session
	next time.Duration
}

func (s *Session) pauses() *pauses { return &pauses{s, s.cfg.Connect.RetryInit} }

// longer is the pause after one of that length.
func longer(pause time.Duration, c *config.Connect) time.Duration {
	return min(time.Duration(float64(pause)*max(c.RetryFactor, 1)), max(c.RetryMax, c.RetryInit))
}

// wait waits after a try that failed with err; false: ctx has ended.
func (p *pauses) wait(ctx context.Context, err error) bool {
	p.s.log.Debug("zenoh not connected", "err", err, "pause", p.next)
	timer := time.NewTimer(p.next)
	defer timer.Stop()
	p.next = longer(p.next, &p.s.cfg.Connect)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// openClient connects as a client, and starts what keeps connected.
func (s *Session) openClient(ctx context.Context) error {
	f, err := s.connectFirst(ctx)
	if err != nil && (s.cfg.Connect.ExitOnFailure || ctx.Err() != nil) {
		return err
	}
	s.spawn(func() {
		for {
			if f == nil {
				if f = s.retry(s.ctx, ErrUnreachable); f == nil {
					return
				}
			}
			s.runFace(f)
			f = nil
			if s.ended() {
				return
			}
		}
	})
	return nil
}

// keep keeps a connection to an endpoint. It reports the outcome of the first
// try, and then of the first that succeeds.
func (s *Session) keep(ctx context.Context, e link.Endpoint, to target, report func(error)) {
	for p := s.pauses(); ; {
		f, err := s.connectTo(ctx, e, to)
		there := (*thereError)(nil)
		switch {
		case err == nil:
			s.tried(nil)
			report(nil)
			s.runFace(f)
			p = s.pauses()
			err = f.t.Err()
		case errors.As(err, &there):
			report(nil)
			select {
			case <-there.f.gone:
			case <-ctx.Done():
			}
			p = s.pauses()
		default:
			s.tried(fmt.Errorf("%v: %w", e, err))
			report(fmt.Errorf("%v: %w", e, err))
		}
		if !p.wait(ctx, err) || s.ended() {
			return
		}
	}
}

// ended says whether the session is closed or being closed.
func (s *Session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.ctx.Err() != nil
}

// WaitConnected waits until there is a connection.
func (s *Session) WaitConnected(ctx context.Context) error {
	for {
		s.mu.Lock()
		up, closed := s.up, s.closed
		s.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case len(s.open()) > 0:
			return nil
		}
		select {
		case <-up:
		case <-s.ctx.Done():
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
