// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// side is what a block measures.
type side string

const (
	sideCamd  side = "camd"
	sideFloor side = "floor"
)

// target is where the writer puts frames.
type target interface {
	// next is memory for a frame.
	next() ([]byte, error)
	// publish hands over what next returned. Its first act is to read the
	// clock: the frame is ready.
	publish(number uint32)
}

// camdTarget is the product, as a source sees it.
type camdTarget struct {
	w    capture.Writer
	slot *capture.Slot
	at   int64 // capture time of the frame at hand
}

var errNoSlot = errors.New("no free slot, which a ring with one prompt reader must not say")

func (t *camdTarget) next() ([]byte, error) {
	t.at = linux.Monotonic()
	s, err := t.w.Acquire()
	if errors.Is(err, capture.ErrNoSlot) {
		return nil, errNoSlot
	}
	if err != nil {
		return nil, err
	}
	t.slot = s
	return s.Data, nil
}

func (t *camdTarget) publish(number uint32) {
	t.w.Commit(t.slot, capture.Stamp{DriverSequence: uint64(number), CaptureNanos: t.at})
}

// floorTarget is the bare wake-up. Two buffers take turns, as the newest frame
// must stay whole while the next one is written, whatever hands it over.
type floorTarget struct {
	board   *board
	buffers [2][]byte
	turn    int
	pipes   []int // one for each reader, nil with the futex
	failed  error
}

func (t *floorTarget) next() ([]byte, error) {
	t.turn ^= 1
	return t.buffers[t.turn], t.failed
}

var wakeByte = []byte{1}

func (t *floorTarget) publish(number uint32) {
	t.board.stamp(number).Store(linux.Monotonic())
	t.board.word.Store(number)
	if t.pipes == nil {
		linux.FutexWake(futexOf(&t.board.word), math.MaxInt32)
		return
	}
	for _, p := range t.pipes {
		// A full pipe holds wake-ups enough.
		if _, err := unix.Write(p, wakeByte); err != nil && err != unix.EAGAIN {
			t.failed = fmt.Errorf("waking a reader: %w", err)
		}
	}
}

// floor owns the buffers of the bare wake-up.
type floor struct {
	memory *linux.Memory
	size   int
}

func newFloor(size int) (*floor, error) {
	stride := linux.PageRound(int64(size))
	m, err := newShared("handover-floor", 2*stride)
	if err != nil {
		return nil, err
	}
	return &floor{memory: m, size: size}, nil
}

func (f *floor) target(b *board, wake negotiate.WakeKind, readers []*child) *floorTarget {
	stride := int(linux.PageRound(int64(f.size)))
	t := &floorTarget{board: b}
	for i := range t.buffers {
		t.buffers[i] = f.memory.Data[i*stride : i*stride+f.size]
	}
	if wake == negotiate.WakePipe {
		for _, c := range readers {
			t.pipes = append(t.pipes, c.pipe)
		}
	}
	return t
}

func (f *floor) close() error { return f.memory.Close() }
