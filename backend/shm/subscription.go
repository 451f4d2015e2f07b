// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package shm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// exitPoll is how often a silent peer's process is looked at. The end of the
// socket says the same at once, unless the process left it to a child.
const exitPoll = 100 * time.Millisecond

// subscription is one client of the stream. Serve's goroutine receives; watch's
// goroutine sends.
type subscription struct {
	b        *Backend
	conn     *negotiate.Conn
	hello    *negotiate.Hello
	rejected []negotiate.Rejected
	since    time.Time
	pipe     [2]int        // wake-up pipe: the client's end until START, our original of the write end
	changed  chan struct{} // a new epoch is to be announced
	log      *slog.Logger

	mu      sync.Mutex
	ring    *ring.Ring
	reader  *ring.Reader
	pending *ring.Reader // announced, not acknowledged
	evicted error
}

// agree is the hand-shake up to START.
func (s *subscription) agree() error {
	peer := s.conn.Peer()
	s.log = s.b.Log.With("stream", s.b.Stream, "subscriber", peer.PID, "backend", negotiate.BackendSHM)
	if s.hello.Wake == negotiate.WakePipe {
		if err := unix.Pipe2(s.pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			return backend.Declined(negotiate.BackendSHM, negotiate.ReasonLimit, "wake-up pipe: %v", err)
		}
	}
	credit := s.b.credit(s.hello)
	r, rd, err := s.b.addReader(credit, s.pipeEnd)
	if err != nil {
		return s.declined(err)
	}
	s.ring, s.reader = r, rd
	want := r.Probe()
	if want == nil {
		return s.declined(ring.ErrRetired)
	}
	challenge := negotiate.NewChallenge()
	offer := &negotiate.Offer{
		Protocol: negotiate.Current(), Session: s.b.Session.String(), Backend: negotiate.BackendSHM,
		Rejected: s.rejected, Stream: s.b.Info(), Layout: layoutMessage(r.Layout()), Challenge: challenge,
	}
	offer.Stream.Geometry, offer.Stream.Epoch = r.Geometry(), r.Epoch()
	if err := s.send(&negotiate.Message{Type: negotiate.TypeOffer, Offer: offer}, r, nil); err != nil {
		return s.failed(err)
	}
	if err := s.probe(challenge, want); err != nil {
		return err
	}
	start := &negotiate.Start{Reader: rd.ID(), Credit: credit}
	if err := s.send(&negotiate.Message{Type: negotiate.TypeStart, Start: start}, nil, rd); err != nil {
		return s.failed(err)
	}
	closeAll(s.pipe[0])
	s.pipe[0] = -1
	rd.Start()
	s.log.Info("subscribed", "command", linux.Command(peer.PID), "uid", peer.UID, "credit", credit, "rejected", negotiate.Summary(s.rejected))
	return nil
}

// probe waits for the proof that the client mapped what it was offered.
func (s *subscription) probe(challenge string, want []byte) error {
	deadline := time.Now().Add(s.b.ProbeTimeout)
	m, files, err := s.conn.Receive(deadline)
	_ = files.Close()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return backend.Declined(negotiate.BackendSHM, negotiate.ReasonProbeTimeout, "no answer to the offer within %v", s.b.ProbeTimeout)
	}
	if err != nil {
		return s.failed(err)
	}
	switch {
	case m.Type == negotiate.TypeBye:
		return negotiate.ErrPeerGone
	case m.Type != negotiate.TypeProbe:
		return fmt.Errorf("%w: %s while a probe was due", negotiate.ErrProtocol, m.Type)
	case !m.Probe.OK:
		return backend.Declined(negotiate.BackendSHM, probeReason(m.Probe.Reason), "the client could not use it: %s", m.Probe.Detail)
	case !negotiate.CheckProof(challenge, want, m.Probe.Proof):
		return backend.Declined(negotiate.BackendSHM, negotiate.ReasonProbeMismatch, "the client read something else than was written")
	}
	return nil
}

// serve keeps the subscription until the client or ctx ends it.
func (s *subscription) serve(ctx context.Context) error {
	over, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(over)
		if ctx.Err() != nil {
			_ = s.conn.Send(&negotiate.Message{Type: negotiate.TypeBye, Bye: &negotiate.Bye{Reason: "shutdown"}})
		}
		_ = s.conn.Close() // ends receive
	}()
	err := s.receive()
	cancel()
	<-done
	if errors.Is(err, negotiate.ErrProtocol) {
		s.log.Warn("subscriber cut off", "reason", negotiate.ReasonProtocol, "err", err)
	}
	s.mu.Lock()
	evicted := s.evicted
	s.mu.Unlock()
	s.log.Info("subscription over", "reason", endReason(err, evicted))
	return nil
}

// receive handles the client's messages until the connection ends.
func (s *subscription) receive() error {
	for {
		m, files, err := s.conn.Receive(time.Time{})
		_ = files.Close()
		if err != nil {
			return err
		}
		switch m.Type {
		case negotiate.TypeKick:
			s.mu.Lock()
			rd := s.reader
			s.mu.Unlock()
			rd.Kick()
		case negotiate.TypeAck:
			s.acknowledged(m.Ack.Epoch)
		case negotiate.TypeBye:
			return nil
		default:
			if m.Type.Known() {
				return fmt.Errorf("%w: %s in a running subscription", negotiate.ErrProtocol, m.Type)
			}
		}
	}
}

// watch sends what the daemon has to say until ctx is done or the client has to
// be cut off.
func (s *subscription) watch(ctx context.Context) {
	tick := time.NewTicker(exitPoll)
	defer tick.Stop()
	hoarding := false
	for {
		s.mu.Lock()
		ended := s.reader.Done()
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			if err := s.announce(); err != nil {
				s.log.Warn("subscriber cut off", "reason", negotiate.ReasonNotReading, "err", err)
				return
			}
		case <-ended:
			s.evict(ctx)
			return
		case <-tick.C:
			if s.conn.PeerExited() {
				return
			}
			hoarding = s.warn(hoarding)
		}
	}
}

// warn names a reader that holds a frame for long, once each time it begins.
func (s *subscription) warn(before bool) bool {
	s.mu.Lock()
	rd := s.reader
	s.mu.Unlock()
	i := rd.Info()
	hoarding := i.Oldest > HoardingAfter
	if hoarding && !before {
		s.log.Warn("subscriber holds a frame for long", "command", linux.Command(s.conn.Peer().PID), "held", i.Held, "age", i.Oldest.Round(time.Millisecond))
	}
	return hoarding
}

// evict tells the client that its subscription is over and waits until its
// memory may be used again: the client is gone, or its time is up.
func (s *subscription) evict(ctx context.Context) {
	s.mu.Lock()
	err := s.reader.Err()
	s.evicted = err
	s.mu.Unlock()
	reason := negotiate.ReasonMisbehaved
	if errors.Is(err, ring.ErrHeldTooLong) {
		reason = negotiate.ReasonTooSlow
	}
	peer := s.conn.Peer()
	s.log.Warn("subscriber evicted", "reason", reason, "command", linux.Command(peer.PID), "uid", peer.UID, "err", err)
	if s.b.Quarantine != nil {
		defer s.b.Quarantine.Add(peer.PID, peer.UID)()
	}
	refusal := &negotiate.Refusal{Reason: reason, Text: fmt.Sprintf("subscription to %s ended: %v", s.b.Stream, err)}
	if s.conn.Send(&negotiate.Message{Type: negotiate.TypeEvict, Evict: refusal}) != nil {
		return
	}
	force := time.NewTimer(s.b.ForceAfter)
	defer force.Stop()
	tick := time.NewTicker(exitPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done(): // also when receive saw the client go
			return
		case <-force.C:
			s.log.Warn("frames of an evicted subscriber taken back", "after", s.b.ForceAfter)
			return
		case <-tick.C:
			if s.conn.PeerExited() {
				return
			}
		}
	}
}

// reconfigure has the newest epoch announced.
func (s *subscription) reconfigure() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// announce sends RECONFIG for the newest epoch.
func (s *subscription) announce() error {
	s.mu.Lock()
	credit := s.reader.Credit()
	s.mu.Unlock()
	r, rd, err := s.b.addReader(credit, s.pipeEnd)
	if err != nil {
		return err
	}
	info := s.b.Info()
	info.Geometry, info.Epoch = r.Geometry(), r.Epoch()
	s.mu.Lock()
	stale := s.pending
	s.pending, s.ring = rd, r
	s.mu.Unlock()
	if stale != nil {
		stale.Remove()
	}
	return s.send(&negotiate.Message{Type: negotiate.TypeReconfig, Reconfig: &negotiate.Reconfig{
		Stream: info, Layout: layoutMessage(r.Layout()), Reader: rd.ID(),
	}}, r, rd)
}

func (s *subscription) acknowledged(epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil || s.ring.Epoch() != epoch {
		return // an epoch that was itself replaced meanwhile
	}
	s.reader.Remove()
	s.reader, s.pending = s.pending, nil
	s.reader.Start()
}

// end gives back everything.
func (s *subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rd := range []*ring.Reader{s.reader, s.pending} {
		if rd != nil {
			rd.Remove()
		}
	}
	closeAll(s.pipe[:]...)
	s.pipe = [2]int{-1, -1}
}

func (s *subscription) status() backend.Subscriber {
	s.mu.Lock()
	rd := s.reader
	s.mu.Unlock()
	i := rd.Info()
	p := s.conn.Peer()
	wake := negotiate.WakeFutex
	if s.hello.Wake != "" {
		wake = s.hello.Wake
	}
	out := backend.Subscriber{
		Stream: s.b.Stream, Backend: negotiate.BackendSHM, Wake: string(wake),
		PID: p.PID, UID: p.UID, Command: linux.Command(p.PID), Client: s.hello.Client,
		Since: s.since, Credit: i.Credit, Held: i.Held, OldestMS: i.Oldest.Milliseconds(),
		Granted: i.Granted, Overwritten: i.Overwritten, Skipped: i.Skipped, Released: i.Released,
		Hoarding: i.Oldest > HoardingAfter, Rejected: s.rejected,
	}
	if i.Ended != nil {
		out.Evicted = i.Ended.Error()
	}
	return out
}
