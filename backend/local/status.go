// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// status is a snapshot. Its counters go on through epochs.
func (s *subscription) status() backend.Subscriber {
	s.mu.Lock()
	rd, before := s.reader, s.before
	s.mu.Unlock()
	i := rd.Info()
	counts := sum(before, i.ReaderStats)
	p := s.conn.Peer()
	wake := negotiate.WakeFutex
	if s.hello.Wake != "" {
		wake = s.hello.Wake
	}
	out := backend.Subscriber{
		Stream: s.v.Stream, Backend: s.v.Backend, Wake: string(wake),
		PID: p.PID, UID: p.UID, Command: linux.Command(p.PID), Client: s.hello.Client,
		Since: s.since, Credit: i.Credit, Held: i.Held, OldestMS: i.Oldest.Milliseconds(),
		Granted: counts.Granted, Overwritten: counts.Overwritten, Skipped: counts.Skipped, Released: counts.Released,
		Hoarding: i.Oldest > HoardingAfter, Rejected: s.rejected,
	}
	if i.Ended != nil {
		out.Evicted = i.Ended.Error()
	}
	return out
}

func sum(a, b ring.ReaderStats) ring.ReaderStats {
	return ring.ReaderStats{
		Granted:     a.Granted + b.Granted,
		Overwritten: a.Overwritten + b.Overwritten,
		Skipped:     a.Skipped + b.Skipped,
		Released:    a.Released + b.Released,
	}
}
