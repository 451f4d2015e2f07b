// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// floorStamps is how many frames back a reader finds the stamp of the frame
// that it was woken for.
const floorStamps = 256

// floorBoard is the first page of the floor's memory; after it come two buffers
// that take turns.
type floorBoard struct {
	word   atomic.Uint32 // the number of the newest frame, and the futex
	_      [60]byte
	stamps [floorStamps]atomic.Int64 // ready, by number
}

// floorMemory is the memory that writer and reader of the floor share.
type floorMemory struct {
	board   *floorBoard
	buffers [2][]byte
}

func floorMemoryBytes(size int) int64 {
	return linux.PageRound(int64(unsafe.Sizeof(floorBoard{}))) + 2*linux.PageRound(int64(size))
}

func floorMemoryIn(data []byte, size int) floorMemory {
	m := floorMemory{board: (*floorBoard)(unsafe.Pointer(&data[0]))}
	at := int(linux.PageRound(int64(unsafe.Sizeof(floorBoard{}))))
	for i := range m.buffers {
		m.buffers[i] = data[at : at+size]
		at += int(linux.PageRound(int64(size)))
	}
	return m
}

func (b *floorBoard) futex() *uint32 { return (*uint32)(unsafe.Pointer(&b.word)) }

// mapFloor maps the memory file that another process made.
func mapFloor(fd, size int) ([]byte, error) {
	data, err := unix.Mmap(fd, 0, int(floorMemoryBytes(size)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the floor's memory: %w", err)
	}
	return data, nil
}

// publishFloorSHM fills, stamps and wakes until ctx is done.
func publishFloorSHM(ctx context.Context, data []byte, size int, spacing time.Duration) error {
	m, fill := floorMemoryIn(data, size), newFiller()
	for number := uint32(1); ; number++ {
		fill.fill(m.buffers[number%2])
		m.board.stamps[number%floorStamps].Store(linux.Monotonic())
		m.board.word.Store(number)
		linux.FutexWake(m.board.futex(), math.MaxInt32)
		if err := pace.Until(ctx, linux.Monotonic()+int64(spacing)); err != nil {
			return err
		}
	}
}

// openFloorSHM waits as the client does and does nothing else.
func openFloorSHM(data []byte, size int) (Subscription, error) {
	g, err := PayloadGeometry(size)
	if err != nil {
		return nil, err
	}
	m := floorMemoryIn(data, size)
	seen := m.board.word.Load()
	r := &floorReader{backend: FloorSHM, frame: floorFrame{geometry: g}, close: func() error { return nil }}
	r.next = func(ctx context.Context, f *floorFrame) error {
		for ctx.Err() == nil {
			number := m.board.word.Load()
			if number == seen {
				linux.FutexWait(m.board.futex(), seen, 100*time.Millisecond)
				continue
			}
			f.held = linux.Monotonic()
			seen = number
			f.data = m.buffers[number%2]
			f.meta.Sequence, f.meta.DriverSequence = uint64(number), uint64(number)
			f.meta.ReadyNanos, f.meta.Bytes = m.board.stamps[number%floorStamps].Load(), size
			return nil
		}
		return ctx.Err()
	}
	return r, nil
}
