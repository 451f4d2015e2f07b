// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import "sync/atomic"

type counters struct {
	messagesOut, batchesOut, bytesOut, writes atomic.Uint64
	messagesIn, batchesIn, bytesIn, reads     atomic.Uint64
	dropped, conflated, stale, incomplete     atomic.Uint64
}

// Stats counts what a connection did.
type Stats struct {
	MessagesOut, BatchesOut, BytesOut, Writes uint64
	MessagesIn, BatchesIn, BytesIn, Reads     uint64
	// Dropped were refused because the queue was full, Conflated gave way to a
	// newer message of their key.
	Dropped, Conflated uint64
	// Stale frames had a number that was seen, Incomplete messages lost a
	// fragment or were too large.
	Stale, Incomplete uint64
}

// Add adds the counts of o.
func (s *Stats) Add(o Stats) {
	s.MessagesOut += o.MessagesOut
	s.BatchesOut += o.BatchesOut
	s.BytesOut += o.BytesOut
	s.Writes += o.Writes
	s.MessagesIn += o.MessagesIn
	s.BatchesIn += o.BatchesIn
	s.BytesIn += o.BytesIn
	s.Reads += o.Reads
	s.Dropped += o.Dropped
	s.Conflated += o.Conflated
	s.Stale += o.Stale
	s.Incomplete += o.Incomplete
}

// Stats returns the counts so far.
func (t *Transport) Stats() Stats {
	c := &t.stats
	return Stats{
		MessagesOut: c.messagesOut.Load(), BatchesOut: c.batchesOut.Load(), BytesOut: c.bytesOut.Load(), Writes: c.writes.Load(),
		MessagesIn: c.messagesIn.Load(), BatchesIn: c.batchesIn.Load(), BytesIn: c.bytesIn.Load(), Reads: c.reads.Load(),
		Dropped: c.dropped.Load(), Conflated: c.conflated.Load(), Stale: c.stale.Load(), Incomplete: c.incomplete.Load(),
	}
}
