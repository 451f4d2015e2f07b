// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// open lists the connections. The list does not change.
func (s *Session) open() []*face {
	if l := s.faces.Load(); l != nil {
		return *l
	}
	return nil
}

// Role is what the session is to others: a client, or a peer.
func (s *Session) Role() Role { return Role(s.role.Load()) }

// offline says whether there is nobody to send to: a client without
// connection. A peer is never without, it may be alone.
func (s *Session) offline() bool { return s.Role() == wire.Client && len(s.open()) == 0 }

// claim is a handshake that both sides count on: until it is over no other with
// the same node may get so far. Two nodes that dial each other at once would
// else each keep another connection, and the other end of neither.
type claim struct {
	dialled bool // by us
	ours    bool // the other side is of this implementation
	given   bool // up, for the other side's
	over    chan struct{}
	abandon context.CancelFunc
}

// thereError reports that a node is connected already.
type thereError struct{ f *face }

func (e *thereError) Error() string {
	return fmt.Sprintf("%v is connected already, at %v", e.f.t.Remote(), e.f.endpoint)
}

// admitter returns what a handshake asks, with the claim that is in c once it
// has agreed. dialled: by us, and only the node expected will do, unless that is
// zero; abandon ends that handshake.
func (s *Session) admitter(c **claim, dialled bool, expected ZID, abandon context.CancelFunc) func(context.Context, transport.Other) error {
	return func(ctx context.Context, o transport.Other) error {
		if !expected.IsZero() && o.ZID != expected {
			return &transport.Refusal{Reason: wire.Invalid, Why: fmt.Sprintf("%v answers instead of %v", o.ZID, expected)}
		}
		for {
			got, wait, err := s.claim(o, dialled, abandon)
			if err != nil || wait == nil {
				*c = got
				return err
			}
			select {
			case <-wait:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// claim takes a node for a handshake, or says what to wait for first.
func (s *Session) claim(o transport.Other, dialled bool, abandon context.CancelFunc) (*claim, chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, &transport.Refusal{Reason: wire.Generic, Why: "the session is closed"}
	}
	for _, f := range s.open() {
		if f.t.Remote() == o.ZID {
			return nil, nil, errors.Join(&transport.Refusal{Reason: wire.MaxLinks, Why: "connected already"}, &thereError{f})
		}
	}
	if n := len(s.open()) + len(s.claims); !dialled && n >= s.cfg.Transport.MaxSessions {
		return nil, nil, &transport.Refusal{Reason: wire.MaxSessions, Why: fmt.Sprintf("%d nodes are connected", n)}
	}
	if old := s.claims[o.ZID]; old != nil {
		switch {
		case dialled || !old.dialled:
			return nil, nil, &transport.Refusal{Reason: wire.MaxLinks, Why: "being connected already"}
		case old.ours && bytes.Compare(s.zid[:], o.ZID[:]) < 0:
			// Both wait for what they dialled: the smaller one gives in.
			old.given = true
			old.abandon()
			delete(s.claims, o.ZID)
		default:
			return nil, old.over, nil
		}
	}
	c := &claim{dialled: dialled, ours: o.Ours, over: make(chan struct{}), abandon: abandon}
	s.claims[o.ZID] = c
	return c, nil, nil
}

// release ends a claim; nil: none was made.
func (s *Session) release(c *claim) {
	if c == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(c)
}

func (s *Session) releaseLocked(c *claim) {
	for z, o := range s.claims {
		if o == c {
			delete(s.claims, z)
		}
	}
	close(c.over)
}

// adopt makes f one of the connections and declares everything on it; false:
// the session has ended meanwhile, or f was given up.
func (s *Session) adopt(f *face, c *claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(c)
	if s.closed || c.given {
		return false
	}
	f.declareAll()
	list := append(slices.Clip(s.open()), f)
	s.faces.Store(&list)
	s.version.Add(1)
	if len(list) == 1 {
		close(s.up)
	}
	s.meet(f)
	s.log.Info("zenoh connected", "endpoint", f.endpoint.String(), "remote", f.t.Remote().String(), "role", f.t.RemoteRole().String())
	return true
}

// lose tells everybody that a connection has ended.
func (s *Session) lose(f *face, err error) {
	s.mu.Lock()
	list := slices.DeleteFunc(slices.Clone(s.open()), func(o *face) bool { return o == f })
	s.faces.Store(&list)
	s.version.Add(1)
	clear(s.routes) // which may keep it
	if len(list) == 0 {
		s.up = make(chan struct{})
	}
	s.lastErr = err
	closing := s.closed
	s.reconnects++
	s.past.Add(f.t.Stats())
	s.part(f)
	queries, asks := make([]*Replies, 0, len(s.queries)), make([]*livelinessGet, 0, len(s.asks))
	for _, q := range s.queries {
		queries = append(queries, q)
	}
	for _, a := range s.asks {
		asks = append(asks, a)
	}
	s.mu.Unlock()
	if err != nil {
		level := slog.LevelWarn
		switch {
		case closing:
			level = slog.LevelDebug // it ends because we want it to
		case f.accepted && errors.Is(err, transport.ErrClosed):
			level = slog.LevelInfo // others come and go
		}
		s.log.Log(s.ctx, level, "zenoh connection lost", "endpoint", f.endpoint.String(), "remote", f.t.Remote().String(), "err", err)
	}
	for _, q := range queries {
		q.lost(f)
	}
	for _, a := range asks {
		a.answered(f, s.away())
	}
	f.forget()
	close(f.gone)
}

// run reads from a connection until it ends.
func (s *Session) runFace(f *face) { s.lose(f, f.t.Run(s.ctx, f)) }

// spawn starts a goroutine that the session waits for when it closes. Only
// goroutines that it waits for, and who opens it, may call it.
func (s *Session) spawn(f func()) {
	s.tasks.Add(1)
	go func() {
		defer s.tasks.Done()
		f()
	}()
}
