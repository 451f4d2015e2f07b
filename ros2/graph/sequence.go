// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"math"
	"sync"
)

// DefaultMaxPublishers is how many publishers a [Sequences] follows at a time.
const DefaultMaxPublishers = 64

// Sequences counts the messages that a subscriber missed by the attachments of
// those that came. A publisher that starts anew has another GID, and begins
// anew here too. Safe for use by several goroutines.
//
// Publishers of Lyrical use one counter for several keys: a subscriber of one
// of them sees gaps where nothing is lost.
type Sequences struct {
	mu     sync.Mutex
	limit  int
	clock  uint64
	last   map[GID]*sequence
	counts SequenceCounts
}

type sequence struct {
	number int64
	used   uint64 // the clock at the last message
}

// SequenceCounts are totals over all publishers.
type SequenceCounts struct {
	Messages   uint64
	Missed     uint64 // numbers that were jumped over
	Repeated   uint64 // messages with the number of the one before
	Restarts   uint64 // messages with a lower number than the one before
	Publishers int    // that are followed
	Forgotten  uint64 // publishers given up for others
}

// NewSequences returns one that follows up to limit publishers; 0:
// [DefaultMaxPublishers].
func NewSequences(limit int) *Sequences {
	if limit <= 0 {
		limit = DefaultMaxPublishers
	}
	return &Sequences{limit: limit, last: map[GID]*sequence{}}
}

// Observe counts a message that came, and returns how many of its publisher
// are missing in front of it. The first message of a publisher misses none,
// whatever its number.
func (s *Sequences) Observe(a Attachment) (missed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	s.counts.Messages++
	q := s.last[a.GID]
	if q == nil {
		if len(s.last) >= s.limit {
			s.forget()
		}
		s.last[a.GID] = &sequence{a.Sequence, s.clock}
		return 0
	}
	switch {
	case a.Sequence > q.number:
		// The difference of any two numbers fits, in the unsigned.
		missed = uint64(a.Sequence) - uint64(q.number) - 1
		s.counts.Missed = saturate(s.counts.Missed, missed)
	case a.Sequence == q.number:
		s.counts.Repeated++
	default:
		s.counts.Restarts++
	}
	q.number, q.used = a.Sequence, s.clock
	return missed
}

// forget gives up the publisher that was silent for the most messages.
func (s *Sequences) forget() {
	var oldest GID
	used := uint64(math.MaxUint64)
	for g, q := range s.last {
		if q.used < used {
			oldest, used = g, q.used
		}
	}
	delete(s.last, oldest)
	s.counts.Forgotten++
}

func saturate(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// Counts returns the totals.
func (s *Sequences) Counts() SequenceCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Publishers = len(s.last)
	return c
}
