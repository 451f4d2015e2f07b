// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package shm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// exitPoll is how often a silent peer's process is looked at. The end of the
// socket says the same at once, unless the process left it to a child.
const exitPoll = 100 * time.Millisecond

// exitGrace is how long the parts of a process that is being killed may take to
// go one after the other.
const exitGrace = 500 * time.Millisecond

// warnEvery is the least time between two lines about one subscription's frames.
const warnEvery = time.Minute

// subscription is one client of the stream. Serve's goroutine receives; watch's
// goroutine sends.
type subscription struct {
	b        *Backend
	conn     *negotiate.Conn
	hello    *negotiate.Hello
	rejected []negotiate.Rejected
	since    time.Time
	pipe     [2]int        // wake-up pipe, a pair of sockets: the client's end until START, our original of the write end
	changed  chan struct{} // a new epoch is to be announced
	log      *slog.Logger

	mu      sync.Mutex
	ring    *ring.Ring   // the newest that the client was told of
	reader  *ring.Reader // the one that it reads from
	pending *ring.Reader // of ring, announced and not acknowledged
	next    place        // in the newest ring, to be announced
	before  ring.ReaderStats
	evicted error
	warned  time.Time // last line about frames held for long
}

// place is a reader in an epoch, or why there is none.
type place struct {
	ring   *ring.Ring
	reader *ring.Reader
	err    error
}

// agree is the hand-shake up to START.
func (s *subscription) agree() error {
	peer := s.conn.Peer()
	s.log = s.b.Log.With("stream", s.b.Stream, "subscriber", peer.PID, "backend", negotiate.BackendSHM)
	if s.hello.Wake == negotiate.WakePipe {
		if err := s.makePipe(); err != nil {
			return backend.Declined(negotiate.BackendSHM, negotiate.ReasonLimit, "wake-up pipe: %v", err)
		}
	}
	credit := s.b.credit(s.hello)
	r := s.b.current()
	if r == nil {
		return s.declined(ring.ErrRetired)
	}
	// The place is taken once the client has shown that it means it: offers that
	// are never answered must not keep others out.
	if err := r.Room(credit); err != nil {
		return s.declined(err)
	}
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
	rd, err := addReader(r, peer.UID, credit, s.pipeEnd)
	if err != nil {
		return s.declined(err)
	}
	s.ring, s.reader = r, rd
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
			s.bye(byeReason(context.Cause(ctx)))
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

func byeReason(cause error) string {
	switch {
	case errors.Is(cause, backend.ErrRemoved):
		return negotiate.ByeRemoved
	case errors.Is(cause, backend.ErrEnded):
		return negotiate.ByeEnded
	}
	return negotiate.ByeShutdown
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
				s.cutOff(err)
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

// cutOff says why a subscription cannot go over to a new epoch.
func (s *subscription) cutOff(err error) {
	if errors.Is(err, negotiate.ErrPeerGone) || errors.Is(err, net.ErrClosed) {
		return // it is over anyway
	}
	reason := cutReason(err)
	s.log.Warn("subscriber cut off", "reason", reason, "err", err)
	if reason != negotiate.ReasonNotReading {
		s.bye(fmt.Sprintf("%s: %v", reason, err))
	}
}

// warn names a reader that holds a frame for long when it begins, at most once
// a minute: one that reads slowly is in that state again and again.
func (s *subscription) warn(before bool) bool {
	s.mu.Lock()
	rd := s.reader
	s.mu.Unlock()
	i := rd.Info()
	hoarding := i.Oldest > HoardingAfter
	if hoarding && !before && s.mayWarn(time.Now()) {
		s.log.Warn("subscriber holds a frame for long", "command", linux.Command(s.conn.Peer().PID), "held", i.Held, "age", i.Oldest.Round(time.Millisecond))
	}
	return hoarding
}

func (s *subscription) mayWarn(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.warned) < warnEvery {
		return false
	}
	s.warned = now
	return true
}

// evict tells the client that its subscription is over and waits until its
// memory may be used again: the client is gone, or its time is up.
func (s *subscription) evict(ctx context.Context) {
	s.mu.Lock()
	err := s.reader.Err()
	s.mu.Unlock()
	if errors.Is(err, ring.ErrWakeClosed) && s.goes(ctx) {
		return
	}
	s.mu.Lock()
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

// goes waits a moment for the end of a client whose wake-up pipe is closed:
// when a process is killed, that can come before the end of its socket.
func (s *subscription) goes(ctx context.Context) bool {
	t := time.NewTimer(exitGrace)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-t.C:
		return s.conn.PeerExited()
	}
}

// reserve makes the subscription's place in a new epoch and has it announced.
// It never waits for the client.
func (s *subscription) reserve(r *ring.Ring) {
	s.mu.Lock()
	credit := s.reader.Credit()
	s.mu.Unlock()
	rd, err := addReader(r, s.conn.Peer().UID, credit, s.pipeEnd)
	s.mu.Lock()
	stale := s.next.reader
	s.next = place{ring: r, reader: rd, err: err}
	s.mu.Unlock()
	if stale != nil {
		stale.Remove()
	}
	s.again()
}

// announce sends RECONFIG for the newest epoch, but never a second one before
// the first was acknowledged: each that lies in the queue of a client that does
// not read keeps the memory of its ring.
func (s *subscription) announce() error {
	s.mu.Lock()
	if s.pending != nil {
		s.mu.Unlock()
		return nil
	}
	next := s.next
	s.next = place{}
	if next.reader == nil {
		s.mu.Unlock()
		return next.err
	}
	s.pending, s.ring = next.reader, next.ring
	s.mu.Unlock()
	info := s.b.Info()
	info.Geometry, info.Epoch = next.ring.Geometry(), next.ring.Epoch()
	err := s.send(&negotiate.Message{Type: negotiate.TypeReconfig, Reconfig: &negotiate.Reconfig{
		Stream: info, Layout: layoutMessage(next.ring.Layout()), Reader: next.reader.ID(),
	}}, next.ring, next.reader)
	if errors.Is(err, ring.ErrRetired) {
		// Replaced meanwhile and not sent: the next one is announced right after.
		s.mu.Lock()
		s.pending = nil
		s.mu.Unlock()
		next.reader.Remove()
		s.again()
		return nil
	}
	return err
}

// again has announce look once more.
func (s *subscription) again() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *subscription) acknowledged(epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil || s.ring.Epoch() != epoch {
		return // nothing that waits for it
	}
	s.before = sum(s.before, s.reader.Info().ReaderStats)
	s.reader.Remove()
	s.reader, s.pending = s.pending, nil
	s.reader.Start()
	s.again() // there may be a newer one by now
}

func (s *subscription) bye(reason string) {
	_ = s.conn.Send(&negotiate.Message{Type: negotiate.TypeBye, Bye: &negotiate.Bye{Reason: reason}})
}

// end gives back everything.
func (s *subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rd := range []*ring.Reader{s.reader, s.pending, s.next.reader} {
		if rd != nil {
			rd.Remove()
		}
	}
	closeAll(s.pipe[:]...)
	s.pipe = [2]int{-1, -1}
}
