// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// errStopped: the block ended early because the run was stopped.
var errStopped = errors.New("stopped")

// writer fills and publishes the frames of blocks. Everything that a block
// needs exists before it begins.
type writer struct {
	board   *board
	dead    *atomic.Bool // a reader ended: do not wait for it
	number  uint32       // of the newest frame
	source  []byte       // what frames are filled with
	publish []int64      // ns that each publish of the block took
}

func newWriter(b *board, dead *atomic.Bool) *writer {
	w := &writer{board: b, dead: dead, source: make([]byte, 64<<10), publish: make([]int64, maxFrames)}
	for i := range w.source {
		w.source[i] = byte(i*7 + 1)
	}
	return w
}

// fill writes every byte of a frame, as a camera or the pattern would.
func (w *writer) fill(to []byte) {
	for len(to) > 0 {
		to = to[copy(to, w.source):]
	}
}

// task is what the writer has to do in one block.
type task struct {
	rate      float64 // frames per second, 0 = when the reader acknowledged the previous one
	duration  time.Duration
	minFrames int
}

// done is what it did.
type done struct {
	published uint64
	late      uint64 // ticks that passed while the writer was busy
	elapsed   time.Duration
	fillNanos int64 // time spent filling, in all
	used      spent
}

// run publishes the frames of one block, numbered from w.number+1. It neither
// allocates nor prints between its first frame and its last.
func (w *writer) run(ctx context.Context, to target, t task) (done, error) {
	var d done
	limit := uint64(maxFrames)
	if t.rate > 0 {
		limit = min(limit, max(uint64(t.rate*t.duration.Seconds()), uint64(t.minFrames)))
	}
	before := usage()
	start := linux.Monotonic()
	schedule := pace.Schedule{Start: start, Rate: t.rate}
	for tick := uint64(0); ; tick++ {
		if t.rate > 0 {
			if late := schedule.Late(tick, linux.Monotonic()); late > 0 {
				tick += late
				d.late += late
			}
			if err := pace.Until(ctx, schedule.At(tick)); err != nil {
				return d, errors.Join(errStopped, w.finish(to))
			}
		}
		begin := linux.Monotonic()
		data, err := to.next()
		if err != nil {
			return d, err
		}
		w.fill(data)
		ready := linux.Monotonic()
		d.fillNanos += ready - begin
		last := d.published+1 >= limit ||
			t.rate == 0 && (ready-start >= int64(t.duration) && d.published+1 >= uint64(t.minFrames) || ctx.Err() != nil)
		w.number++
		if last {
			w.board.last.Store(w.number)
		}
		to.publish(w.number)
		w.publish[d.published] = linux.Monotonic() - ready
		d.published++
		if t.rate == 0 {
			if err := w.acknowledged(); err != nil {
				return d, err
			}
		}
		if last {
			break
		}
	}
	d.elapsed = time.Duration(linux.Monotonic() - start)
	after := usage()
	d.used = spent{cpuNanos: after.cpuNanos - before.cpuNanos, mallocs: after.mallocs - before.mallocs}
	if ctx.Err() != nil {
		return d, errStopped
	}
	return d, nil
}

// finish ends a block that was given up, so that its readers hear of it.
func (w *writer) finish(to target) error {
	if _, err := to.next(); err != nil {
		return err
	}
	w.number++
	w.board.last.Store(w.number)
	to.publish(w.number)
	return nil
}

// acknowledged waits until the reader has the newest frame in hand.
func (w *writer) acknowledged() error {
	for {
		got := w.board.ack.Load()
		if got == w.number {
			return nil
		}
		if w.dead.Load() {
			return fmt.Errorf("%w: frame %d was not acknowledged", errReaderGone, w.number)
		}
		linux.FutexWait(futexOf(&w.board.ack), got, 100*time.Millisecond)
	}
}
