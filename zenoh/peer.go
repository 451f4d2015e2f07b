// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// openPeer listens, connects to all endpoints and looks for others. It returns
// when those that it knows of have told what they have, or after the delay of
// the settings.
func (s *Session) openPeer(ctx context.Context) error {
	if err := s.listen(ctx, s.cfg.Listen); err != nil && s.cfg.ListenExitOnFailure {
		return fmt.Errorf("%w: %w", ErrListen, err)
	}
	first := make(chan error, len(s.endpoints)) // of each endpoint
	must := s.cfg.Connect.ExitOnFailure
	for _, e := range s.endpoints {
		reported := false
		s.spawn(func() {
			s.keep(s.ctx, e, target{as: wire.Peer}, func(err error) {
				// Whoever must be connected waits for the first success.
				if !reported && (err == nil || !must || s.cfg.Connect.Timeout == 0) {
					reported = true
					first <- err
				}
			})
		})
	}
	s.discover(s.ctx)
	if must {
		if limit := s.cfg.Connect.Timeout; limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		for range s.endpoints {
			select {
			case err := <-first:
				if err != nil {
					return fmt.Errorf("%w: %w", ErrUnreachable, err)
				}
			case <-ctx.Done():
				return fmt.Errorf("%w (%w)", ErrUnreachable, context.Cause(ctx))
			}
		}
	}
	s.settle(ctx, first)
	return nil
}

// settle waits, for a bounded time, until others have been looked for, the
// endpoints were tried and the peers that are connected have told what they
// have: the first query shall find it. tried tells of each endpoint that is
// tried meanwhile, nil: none is.
func (s *Session) settle(ctx context.Context, tried chan error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Scout.Delay)
	defer cancel()
	if tried != nil && !s.cfg.Connect.ExitOnFailure {
		for range s.endpoints {
			select {
			case <-tried:
			case <-ctx.Done():
				return
			}
		}
	}
	for s.waiting() {
		select {
		case <-s.news:
		case <-ctx.Done():
			return
		}
	}
}

// waiting says whether somebody is expected to say more.
func (s *Session) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Role() != wire.Peer {
		return false // a router was found, and knows everybody
	}
	for _, f := range s.open() {
		if f.mesh && !f.complete && s.cfg.Scout.WaitDeclares {
			return true
		}
	}
	// Hosts answer one after the other: who has found some has not found all.
	c := &s.cfg.Scout
	return c.WaitScouted && (len(s.dialling) > 0 || c.Multicast && len(c.Autoconnect.Roles) > 0)
}

// listen waits for others at the endpoints.
func (s *Session) listen(ctx context.Context, endpoints []string) error {
	var errs []error
	for _, text := range endpoints {
		e, err := link.ParseEndpoint(text)
		if err == nil && !s.cfg.Allows(e.Proto) {
			err = fmt.Errorf("transport/link/protocols does not allow %s", e.Proto)
		}
		var l *link.Listener
		if err == nil {
			l, err = link.Listen(ctx, e, &s.link)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", text, err)
			s.log.Warn("zenoh does not listen", "endpoint", text, "err", err)
			errs = append(errs, err)
			continue
		}
		s.mu.Lock()
		closed := s.closed
		if !closed {
			s.listeners = append(s.listeners, l)
		}
		s.mu.Unlock()
		if closed {
			_ = l.Close()
			return ErrClosed
		}
		s.log.Info("zenoh listens", "endpoint", l.Endpoint().String())
		s.spawn(func() { s.welcome(l) })
	}
	return errors.Join(errs...)
}

// hush ends all listening.
func (s *Session) hush() {
	s.mu.Lock()
	listeners := s.listeners
	s.listeners = nil
	s.mu.Unlock()
	for _, l := range listeners {
		_ = l.Close()
	}
}

// locatorsLocked lists where others reach us; loopback: also those that only
// nodes on this host can use. With the mutex held.
func (s *Session) locatorsLocked(loopback bool) (out []string) {
	for _, l := range s.listeners {
		out = append(out, link.Locators(l.Endpoint(), loopback)...)
	}
	return out
}

// welcome takes connections until the listener is closed. Of handshakes there
// are so many at a time as the settings allow; who comes in addition is hung up
// on.
func (s *Session) welcome(l *link.Listener) {
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many files are open, or the like
			s.log.Warn("zenoh cannot accept", "endpoint", l.Endpoint().String(), "err", err)
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-s.ctx.Done():
				return
			}
		}
		select {
		case s.pending <- struct{}{}:
			s.spawn(func() { s.shake(l, nc) })
		default:
			s.refused.Add(1)
			_ = nc.Close()
		}
	}
}

// shake shakes hands with who came in and reads what it says until it goes.
func (s *Session) shake(l *link.Listener, nc net.Conn) {
	f, err := s.accept(l, nc)
	<-s.pending
	if err != nil {
		if s.ctx.Err() == nil {
			s.refused.Add(1)
			s.log.Debug("zenoh connection refused", "endpoint", l.Endpoint().String(), "from", nc.RemoteAddr(), "err", err)
		}
		return
	}
	s.runFace(f)
}

func (s *Session) accept(l *link.Listener, nc net.Conn) (*face, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Transport.AcceptTimeout)
	defer cancel()
	conn, err := l.Shake(ctx, nc)
	if err != nil {
		return nil, err
	}
	p := s.params
	p.WhatAmI = s.Role()
	var c *claim
	p.Admit = s.admitter(&c, false, ZID{}, cancel)
	t, err := transport.Accept(ctx, conn, p, &s.pool)
	if err != nil {
		s.release(c)
		return nil, err
	}
	f := newFace(s, t, l.Endpoint())
	f.accepted = true
	return s.take(f, c)
}

const (
	// maxDialling bounds the nodes that were heard of and are being dialled.
	maxDialling = 64
	// dialTimeout bounds the time for one address of such a node: it has others.
	dialTimeout = 3 * time.Second
	// maxDials is how often such a node is tried, before it must be heard of again.
	maxDials = 4
)

// heardOf connects to a node that was heard of, if the settings say so.
func (s *Session) heardOf(zid ZID, role Role, locators []string, a config.Autoconnect) {
	if zid == s.zid || len(locators) == 0 || !a.Allows(role.String()) {
		return
	}
	if a.Greater(role.String()) && bytes.Compare(s.zid[:], zid[:]) < 0 {
		return // it connects to us
	}
	s.mu.Lock()
	_, already := s.dialling[zid]
	for _, f := range s.open() {
		already = already || f.t.Remote() == zid
	}
	if already || s.closed || len(s.dialling) >= maxDialling || len(s.open()) >= s.cfg.Transport.MaxSessions {
		s.mu.Unlock()
		return
	}
	s.dialling[zid] = struct{}{}
	s.mu.Unlock()
	s.spawn(func() {
		f := s.dial(zid, role, locators)
		s.mu.Lock()
		delete(s.dialling, zid)
		s.mu.Unlock()
		signal(s.news)
		if f != nil {
			s.runFace(f)
		}
	})
}

// dial tries the locators of a node in turn; nil: in vain, or it is there.
func (s *Session) dial(zid ZID, role Role, locators []string) *face {
	if role == wire.Router && s.auto != nil && s.auto.look(s.ctx) {
		return nil
	}
	p := s.pauses()
	for range maxDials {
		err := ErrUnreachable
		for _, text := range locators {
			e, why := link.ParseEndpoint(text)
			if why != nil || !s.cfg.Allows(e.Proto) {
				continue
			}
			f, why := s.connectTo(s.ctx, e, target{as: wire.Peer, zid: zid, timeout: dialTimeout})
			there := (*thereError)(nil)
			switch {
			case why == nil:
				return f
			case errors.As(why, &there), s.ended(), s.Role() != wire.Peer:
				return nil
			}
			err = fmt.Errorf("%w; %s: %w", err, text, why)
		}
		if !p.wait(s.ctx, err) || s.Role() != wire.Peer {
			return nil
		}
	}
	return nil
}
