// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

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
	if s.v.Quarantine != nil {
		defer s.v.Quarantine.Add(peer.PID, peer.UID)()
	}
	refusal := &negotiate.Refusal{Reason: reason, Text: fmt.Sprintf("subscription to %s ended: %v", s.v.Stream, err)}
	if s.conn.Send(&negotiate.Message{Type: negotiate.TypeEvict, Evict: refusal}) != nil {
		return
	}
	force := time.NewTimer(s.v.ForceAfter)
	defer force.Stop()
	tick := time.NewTicker(exitPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done(): // also when receive saw the client go
			return
		case <-force.C:
			s.log.Warn("frames of an evicted subscriber taken back", "after", s.v.ForceAfter)
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
