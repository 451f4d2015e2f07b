// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync/atomic"
	"unsafe"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// stampSlots is how many frames back a reader of the floor finds the stamp of
// the frame that it was woken for.
const stampSlots = 1024

// board is the memory that the writer shares with all readers for the
// measurement itself. Frames of both sides are numbered by one counter through
// the whole run, from 1.
type board struct {
	// word is the floor's whole protocol: the number of its newest frame, and
	// the futex.
	word atomic.Uint32
	_    [60]byte
	// ack is the newest frame that the reader has in hand, where the writer
	// waits for that; a futex too.
	ack atomic.Uint32
	_   [60]byte
	// last is the number of the last frame of the block, 0 until it is known.
	last   atomic.Uint32
	_      [60]byte
	stamps [stampSlots]atomic.Int64 // ready, by number
}

const boardBytes = int64(unsafe.Sizeof(board{}))

func boardIn(memory []byte) *board {
	return (*board)(unsafe.Pointer(&memory[:boardBytes][0]))
}

func (b *board) stamp(number uint32) *atomic.Int64 { return &b.stamps[number%stampSlots] }

// futexOf is the address for futex calls.
func futexOf(a *atomic.Uint32) *uint32 { return (*uint32)(unsafe.Pointer(a)) }

// sampleBytes is the size of a reader's own memory: for each frame of a block
// the time from ready to held in nanoseconds, at least 1; 0 = not received.
const sampleBytes = int64(maxFrames * 8)

func samplesIn(memory []byte) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(&memory[:sampleBytes][0])), maxFrames)
}

// newShared makes memory for other processes to map, writable for them.
func newShared(name string, size int64) (*linux.Memory, error) {
	return linux.NewMemory(name, linux.PageRound(size), false)
}
