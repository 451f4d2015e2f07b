// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package local is what the backends for processes of this host have in common:
// the hand-shake with a subscriber, and the life of its subscription, of which
// the connection is the measure. It connects the slot protocol (ring) with the
// local socket (negotiate), one goroutine pair a subscription. Where pixels are
// is not its matter: an Epoch says what is sent for them.
package local

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// Deadlines of the hand-shake and of an evicted reader.
const (
	DefaultProbeTimeout = 2 * time.Second
	DefaultForceAfter   = 5 * time.Second
	// HoardingAfter is the age of a held frame from which status and log name
	// the holder.
	HoardingAfter = time.Second
)

// Config is what a Server goes by.
type Config struct {
	Backend negotiate.Backend
	Stream  string
	Session frame.Session
	// Info describes the stream, also while its format changes.
	Info func() negotiate.StreamInfo
	// DefaultCredit is for clients that do not say; MaxCredit bounds the others.
	DefaultCredit, MaxCredit int
	// ProbeTimeout bounds the answer to an offer; ForceAfter is how long an
	// evicted reader may keep its frames from the source.
	ProbeTimeout, ForceAfter time.Duration
	// Quarantine, if set, learns of evicted readers that still hold memory.
	Quarantine *negotiate.Quarantine
	// Check, if set, is asked ten times a second for each subscription; an error
	// cuts it off.
	Check func() error
	Log   *slog.Logger
}

// Server serves one stream in one way. Set its Config before use.
type Server struct {
	Config

	mu    sync.Mutex
	epoch *Epoch
	subs  []*subscription
}

// SetEpoch puts a new epoch in place of the one before, which it retires.
// Subscribers keep their places: they are made here, before anyone new can ask
// for one. They are told and go over as they acknowledge. nil ends the stream;
// with a cause, it also cuts off every subscriber, who learns of it and asks
// again.
func (v *Server) SetEpoch(e *Epoch, cause error) {
	v.mu.Lock()
	old := v.epoch
	v.epoch = e
	for _, s := range v.subs {
		switch {
		case e != nil:
			s.reserve(e)
		case cause != nil:
			s.refuse(cause)
		}
	}
	v.mu.Unlock()
	if old != nil && old != e {
		old.Ring.Retire()
	}
}

// Epoch is the newest, nil while there is none.
func (v *Server) Epoch() *Epoch {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.epoch
}

// Wanted reports whether there are subscribers.
func (v *Server) Wanted() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.subs) > 0
}

// Subscribers implements backend.Backend, in order of arrival.
func (v *Server) Subscribers() []backend.Subscriber {
	v.mu.Lock()
	subs := slices.Clone(v.subs)
	v.mu.Unlock()
	out := make([]backend.Subscriber, 0, len(subs))
	for _, s := range subs {
		out = append(out, s.status())
	}
	return out
}

// Serve implements backend.Backend.
func (v *Server) Serve(ctx context.Context, conn *negotiate.Conn, h *negotiate.Hello, rejected []negotiate.Rejected) error {
	s := &subscription{
		v: v, conn: conn, hello: h, rejected: rejected,
		since: time.Now(), pipe: [2]int{-1, -1}, changed: make(chan struct{}, 1),
	}
	defer s.end()
	if err := s.agree(); err != nil {
		return err
	}
	v.mu.Lock()
	v.subs = append(v.subs, s)
	switch {
	case v.epoch == nil && s.epoch.Device != nil:
		s.refuse(ring.ErrRetired) // its memory is gone and no other is promised
	case v.epoch != nil && v.epoch != s.epoch:
		s.reserve(v.epoch) // the format changed during the hand-shake
	}
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		if i := slices.Index(v.subs, s); i >= 0 {
			v.subs = slices.Delete(v.subs, i, i+1)
		}
		v.mu.Unlock()
	}()
	return s.serve(ctx)
}

// addReader hands the reader its end of the wake-up pipe.
// Readers of one user share a futex.
func addReader(r *ring.Ring, uid, credit int, pipe func() (int, error)) (*ring.Reader, error) {
	fd, err := pipe()
	if err != nil {
		return nil, err
	}
	rd, err := r.AddReaderOf(uid, credit, fd)
	if err != nil {
		closeAll(fd)
		return nil, err
	}
	return rd, nil
}

func (v *Server) credit(h *negotiate.Hello) int {
	return min(cmp.Or(h.Credit, v.DefaultCredit), v.MaxCredit)
}
