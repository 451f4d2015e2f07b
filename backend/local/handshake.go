// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// agree is the hand-shake up to START.
func (s *subscription) agree() error {
	peer := s.conn.Peer()
	s.log = s.v.Log.With("stream", s.v.Stream, "subscriber", peer.PID, "backend", s.v.Backend)
	if s.hello.Wake == negotiate.WakePipe {
		if err := s.makePipe(); err != nil {
			return backend.Declined(s.v.Backend, negotiate.ReasonLimit, "wake-up pipe: %v", err)
		}
	}
	credit := s.v.credit(s.hello)
	e := s.v.Epoch()
	if e == nil {
		return s.declined(ring.ErrRetired)
	}
	r := e.Ring
	// The place is taken once the client has shown that it means it: offers that
	// are never answered must not keep others out.
	if err := r.Room(credit); err != nil {
		return s.declined(err)
	}
	want := e.probe()
	if want == nil {
		return s.declined(ring.ErrRetired)
	}
	challenge := negotiate.NewChallenge()
	offer := &negotiate.Offer{
		Protocol: negotiate.Current(), Session: s.v.Session.String(), Backend: s.v.Backend,
		Rejected: s.rejected, Stream: s.v.Info(), Layout: e.layout(), Challenge: challenge,
		Device: e.Device,
	}
	offer.Stream.Geometry, offer.Stream.Epoch = r.Geometry(), r.Epoch()
	if err := s.send(&negotiate.Message{Type: negotiate.TypeOffer, Offer: offer}, e, nil); err != nil {
		return s.failed(err)
	}
	if err := s.probe(challenge, want); err != nil {
		return err
	}
	rd, err := addReader(r, peer.UID, credit, s.pipeEnd)
	if err != nil {
		return s.declined(err)
	}
	s.epoch, s.reader = e, rd
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
	deadline := time.Now().Add(s.v.ProbeTimeout)
	m, files, err := s.conn.Receive(deadline)
	_ = files.Close()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return backend.Declined(s.v.Backend, negotiate.ReasonProbeTimeout, "no answer to the offer within %v", s.v.ProbeTimeout)
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
		return backend.Declined(s.v.Backend, s.probeReason(m.Probe.Reason), "the client could not use it: %s", m.Probe.Detail)
	case !negotiate.CheckProof(challenge, want, m.Probe.Proof):
		return backend.Declined(s.v.Backend, negotiate.ReasonProbeMismatch, "the client read something else than was written")
	}
	return nil
}
