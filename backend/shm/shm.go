// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package shm is the backend for processes of this host: they map the ring of
// the stream and read frames in place. It connects the slot protocol (ring)
// with the local socket (negotiate), one goroutine pair a subscription.
package shm

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

// Backend serves one stream. Set the exported fields before use.
type Backend struct {
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
	Log        *slog.Logger

	mu   sync.Mutex
	ring *ring.Ring
	subs []*subscription
}

var _ backend.Backend = (*Backend)(nil)

// SetRing puts a new epoch in place of the one before, which it retires.
// Subscribers keep their places: they are made here, before anyone new can ask
// for one. They are told and go over as they acknowledge. nil ends the stream.
func (b *Backend) SetRing(r *ring.Ring) {
	b.mu.Lock()
	old := b.ring
	b.ring = r
	if r != nil {
		for _, s := range b.subs {
			s.reserve(r)
		}
	}
	b.mu.Unlock()
	if old != nil {
		old.Retire()
	}
}

func (b *Backend) current() *ring.Ring {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ring
}

// Candidate implements backend.Backend.
func (b *Backend) Candidate() negotiate.Candidate {
	c := negotiate.Candidate{Backend: negotiate.BackendSHM}
	if b.current() == nil {
		c.Reason, c.Detail = negotiate.ReasonNotReady, "the camera has not delivered a format yet"
	}
	return c
}

// Wanted implements backend.Backend.
func (b *Backend) Wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subs) > 0
}

// Subscribers implements backend.Backend, in order of arrival.
func (b *Backend) Subscribers() []backend.Subscriber {
	b.mu.Lock()
	subs := slices.Clone(b.subs)
	b.mu.Unlock()
	out := make([]backend.Subscriber, 0, len(subs))
	for _, s := range subs {
		out = append(out, s.status())
	}
	return out
}

// Serve implements backend.Backend.
func (b *Backend) Serve(ctx context.Context, conn *negotiate.Conn, h *negotiate.Hello, rejected []negotiate.Rejected) error {
	s := &subscription{
		b: b, conn: conn, hello: h, rejected: rejected,
		since: time.Now(), pipe: [2]int{-1, -1}, changed: make(chan struct{}, 1),
	}
	defer s.end()
	if err := s.agree(); err != nil {
		return err
	}
	b.mu.Lock()
	b.subs = append(b.subs, s)
	if b.ring != nil && b.ring != s.ring {
		s.reserve(b.ring) // the format changed during the hand-shake
	}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		if i := slices.Index(b.subs, s); i >= 0 {
			b.subs = slices.Delete(b.subs, i, i+1)
		}
		b.mu.Unlock()
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

func (b *Backend) credit(h *negotiate.Hello) int {
	return min(cmp.Or(h.Credit, b.DefaultCredit), b.MaxCredit)
}
