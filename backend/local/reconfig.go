// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// reserve makes the subscription's place in a new epoch and has it announced.
// It never waits for the client.
func (s *subscription) reserve(e *Epoch) {
	s.mu.Lock()
	credit := s.reader.Credit()
	s.mu.Unlock()
	rd, err := addReader(e.Ring, s.conn.Peer().UID, credit, s.pipeEnd)
	s.mu.Lock()
	stale := s.next.reader
	s.next = place{epoch: e, reader: rd, err: err}
	s.mu.Unlock()
	if stale != nil {
		stale.Remove()
	}
	s.again()
}

// refuse has the subscription end, with err for the client.
func (s *subscription) refuse(err error) {
	s.mu.Lock()
	s.refused = err
	s.mu.Unlock()
	s.again()
}

// announce sends RECONFIG for the newest epoch, but never a second one before
// the first was acknowledged: each that lies in the queue of a client that does
// not read keeps the memory of its ring.
func (s *subscription) announce() error {
	s.mu.Lock()
	if s.refused != nil || s.pending != nil {
		defer s.mu.Unlock()
		return s.refused
	}
	next := s.next
	s.next = place{}
	if next.reader == nil {
		s.mu.Unlock()
		return next.err
	}
	s.pending, s.epoch = next.reader, next.epoch
	s.mu.Unlock()
	info := s.v.Info()
	info.Geometry, info.Epoch = next.epoch.Ring.Geometry(), next.epoch.Ring.Epoch()
	err := s.send(&negotiate.Message{Type: negotiate.TypeReconfig, Reconfig: &negotiate.Reconfig{
		Stream: info, Layout: next.epoch.layout(), Reader: next.reader.ID(),
		Device: next.epoch.Device,
	}}, next.epoch, next.reader)
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
	if s.pending == nil || s.epoch.Ring.Epoch() != epoch {
		return // nothing that waits for it
	}
	s.before = sum(s.before, s.reader.Info().ReaderStats)
	s.reader.Remove()
	s.reader, s.pending = s.pending, nil
	s.reader.Start()
	s.again() // there may be a newer one by now
}
