// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// Stats counts what a ring did since it was made.
type Stats struct {
	Published  uint64 // frames
	NoSlot     uint64 // frames for which no slot was free
	FutexWakes uint64 // system calls, each for all futex readers at once
	PipeWakes  uint64 // system calls, one for each waiting pipe reader
	Kicks      uint64 // messages of readers that had no credit
	Ended      uint64 // readers that the ring ended by itself
}

// ReaderStats counts what happened to one reader's frames.
type ReaderStats struct {
	Granted     uint64
	Overwritten uint64 // replaced by a newer frame before the reader took it
	Skipped     uint64 // not granted: the reader held its full credit
	Released    uint64
}

// ReaderInfo is a snapshot of a reader.
type ReaderInfo struct {
	ID     int
	Credit int
	Held   int           // frames taken and not returned
	Oldest time.Duration // age of the oldest of them
	Ended  error
	ReaderStats
}

// Usage is a snapshot of the slots.
type Usage struct {
	Slots   int
	Free    int
	Writing int // with the source
	Leased  int // with readers, on offer or taken
	Readers int
}

// Stats returns the counters.
func (r *Ring) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Usage counts slots by what they are used for.
func (r *Ring) Usage() Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := Usage{Slots: len(r.slots), Free: len(r.free), Writing: r.writing, Readers: len(r.readers)}
	for i := range r.slots {
		if r.slots[i].leases > 0 {
			u.Leased++
		}
	}
	return u
}

// Info is a snapshot of the reader. Leases that it returned are taken in first.
func (rd *Reader) Info() ReaderInfo {
	r := rd.ring
	r.mu.Lock()
	wake := false
	if r.drain(rd) {
		wake = r.offer(rd, 0)
	}
	now := r.now()
	oldest := rd.oldest(now)
	info := ReaderInfo{
		ID: rd.id, Credit: rd.credit, Held: len(rd.held), Oldest: time.Duration(oldest),
		Ended: rd.err, ReaderStats: rd.stats,
	}
	if rd.waiting != 0 {
		info.Held--
	}
	r.unlockAndWake(wake)
	return info
}

func addressOf(a *atomic.Uint32) unsafe.Pointer { return unsafe.Pointer(a) }
