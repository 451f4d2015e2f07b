// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// DefaultRouter is where mode auto looks for a router when no endpoint is
// given: where zenohd and rmw_zenohd listen.
const DefaultRouter = "tcp/localhost:7447"

// auto is a session whose role follows what there is: client of the router at
// its endpoints while one answers there, else a peer. It never listens where a
// router would: its endpoint for that is of a port that is free.
type auto struct {
	s *Session

	mu     sync.Mutex // a look at a time
	router *face      // that we are client of; nil: none
	found  chan *face // a router that has answered
	stop   context.CancelFunc
}

// lookTime bounds a look for a router on the way to it.
const lookTime = 2 * time.Second

// openAuto looks for a router, and is a peer where there is none.
func (s *Session) openAuto(ctx context.Context) error {
	if len(s.endpoints) == 0 {
		e, err := link.ParseEndpoint(DefaultRouter)
		if err != nil {
			return err
		}
		s.endpoints = []link.Endpoint{e}
	}
	a := &auto{s: s, found: make(chan *face, 1)}
	s.auto = a
	if !a.look(ctx) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a.peer(ctx)
		s.settle(ctx, nil)
	}
	s.spawn(a.run)
	return nil
}

// run looks for a router again and again while there is none.
func (a *auto) run() {
	s := a.s
	again := time.NewTicker(max(s.cfg.Connect.RetryMax, s.cfg.Connect.RetryInit))
	defer again.Stop()
	for {
		select {
		case f := <-a.found:
			s.runFace(f)
			a.mu.Lock()
			a.router = nil
			a.mu.Unlock()
			if s.ended() {
				return
			}
			if !a.look(s.ctx) {
				a.peer(s.ctx)
			}
		case <-again.C:
			a.look(s.ctx)
		case <-s.ctx.Done():
			return
		}
	}
}

// look asks whether a router answers, and makes the session its client; true:
// it is.
func (a *auto) look(ctx context.Context) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.router != nil {
		return true
	}
	s := a.s
	none := ErrUnreachable
	defer func() { s.tried(none) }()
	for _, e := range s.endpoints {
		to := target{as: wire.Client, roles: wire.RolesOf(wire.Router), timeout: lookTime}
		f, err := s.connectTo(ctx, e, to)
		if there := (*thereError)(nil); errors.As(err, &there) {
			// A router that was found elsewhere also answers here now.
			a.leave(there.f)
			select {
			case <-there.f.gone:
				f, err = s.connectTo(ctx, e, to)
			case <-ctx.Done():
			}
		}
		if err != nil {
			s.log.Debug("zenoh finds no router", "endpoint", e.String(), "err", err)
			none = fmt.Errorf("%w: %v: %w", none, e, err)
			continue
		}
		a.router, none = f, nil
		a.client()
		a.found <- f
		return true
	}
	return false
}

// client ends what makes the session a peer: it is the client of a router now.
func (a *auto) client() {
	s := a.s
	s.role.Store(uint32(wire.Client))
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
	s.hush()
	for _, f := range s.open() {
		if f != a.router {
			a.leave(f)
		}
	}
	s.log.Info("zenoh is client of a router", "endpoint", a.router.endpoint.String())
}

// leave ends a connection with a goodbye.
func (a *auto) leave(f *face) {
	a.s.spawn(func() {
		ctx, cancel := context.WithTimeout(a.s.ctx, time.Second)
		defer cancel()
		_ = f.t.Close(ctx)
	})
}

// peer makes the session a peer.
func (a *auto) peer(ctx context.Context) {
	s := a.s
	s.role.Store(uint32(wire.Peer))
	s.log.Info("zenoh is a peer: no router answers", "endpoints", s.cfg.Connect.Endpoints)
	_ = s.listen(ctx, s.cfg.Listen) // what cannot be had was said; others can still be dialled
	var stage context.Context
	a.mu.Lock()
	stage, a.stop = context.WithCancel(s.ctx)
	a.mu.Unlock()
	s.discover(stage)
}
