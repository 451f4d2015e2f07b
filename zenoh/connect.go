// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
)

// connect tries each endpoint once and keeps the first that answers.
func (s *Session) connect(ctx context.Context) (*face, error) {
	err := ErrUnreachable
	for i, e := range s.endpoints {
		f, why := s.connectTo(ctx, e)
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

func (s *Session) connectTo(ctx context.Context, e link.Endpoint) (*face, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Transport.OpenTimeout)
	defer cancel()
	c, err := link.Dial(ctx, e, &s.link)
	if err != nil {
		return nil, err
	}
	t, err := transport.Open(ctx, c, s.params, &s.pool)
	if err != nil {
		return nil, err
	}
	return newFace(s, t, e), nil
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
	pause := s.cfg.Connect.RetryInit
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		s.log.Debug("zenoh not connected", "err", err, "pause", pause)
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		var f *face
		if f, err = s.connect(ctx); err == nil {
			return f
		}
		pause = longer(pause, &s.cfg.Connect)
	}
}

// longer is the pause after one of that length.
func longer(pause time.Duration, c *config.Connect) time.Duration {
	return min(time.Duration(float64(pause)*max(c.RetryFactor, 1)), max(c.RetryMax, c.RetryInit))
}

// run reads from the connection, and makes a new one when it ends.
func (s *Session) run(f *face) {
	defer close(s.done)
	for {
		if f == nil {
			if f = s.retry(s.ctx, ErrUnreachable); f == nil {
				return
			}
			s.adopt(f)
		}
		err := f.t.Run(s.ctx, f)
		s.lose(f, err)
		f = nil
		if s.ctx.Err() != nil || s.isClosed() {
			<-s.ctx.Done()
			return
		}
	}
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// adopt makes f the connection and declares everything on it.
func (s *Session) adopt(f *face) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.declareAll()
	s.face.Store(f)
	close(s.up)
	s.log.Info("zenoh connected", "endpoint", f.endpoint.String(), "remote", f.t.Remote().String(), "role", f.t.RemoteRole().String())
}

// lose tells everybody that the connection has ended.
func (s *Session) lose(f *face, err error) {
	s.mu.Lock()
	s.face.Store(nil)
	s.up = make(chan struct{})
	s.lastErr = err
	s.reconnects++
	s.past.Add(f.t.Stats())
	queries, asks := make([]*Replies, 0, len(s.queries)), make([]*livelinessGet, 0, len(s.asks))
	for _, q := range s.queries {
		queries = append(queries, q)
	}
	for _, a := range s.asks {
		asks = append(asks, a)
	}
	s.mu.Unlock()
	if err != nil {
		s.log.Warn("zenoh connection lost", "endpoint", f.endpoint.String(), "err", err)
	}
	for _, q := range queries {
		q.lost(f)
	}
	for _, a := range asks {
		a.finish(ErrNotConnected)
	}
	f.forget()
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
		case s.face.Load() != nil:
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

// Info is the state of a session.
type Info struct {
	ZID       ZID
	Connected bool
	// Of the connection, if there is one:
	Remote    ZID
	Role      Role
	Endpoint  string
	QoS       bool // priorities were agreed on
	BatchSize int
	// Lease is the other side's: who hears nothing for so long gives it up.
	Lease time.Duration

	Losses  uint64 // connections that ended
	LastErr error  // why the one before ended
	Unsent  uint64 // samples that were put while there was no connection
	Stats   Stats  // of all connections together
}

// Info returns the state of the session.
func (s *Session) Info() Info {
	s.mu.Lock()
	i := Info{ZID: s.zid, Losses: s.reconnects, LastErr: s.lastErr, Unsent: s.unsent.Load(), Stats: s.past}
	f := s.face.Load()
	s.mu.Unlock()
	if f != nil {
		i.Connected, i.Remote, i.Role, i.Endpoint = true, f.t.Remote(), f.t.RemoteRole(), f.endpoint.String()
		i.QoS, i.BatchSize, i.Lease = f.t.QoS(), f.t.BatchSize(), f.t.RemoteLease()
		i.Stats.Add(f.t.Stats())
	}
	return i
}
