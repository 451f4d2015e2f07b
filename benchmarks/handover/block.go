// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/internal/measure"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// phase is the part of the run that a cell belongs to.
type phase string

const (
	phaseHandover phase = "handover" // one reader, all sizes and rates
	phaseFanout   phase = "fanout"   // one size and rate, several readers
)

// cell is one combination of what is varied. Both sides are measured in each.
type cell struct {
	Phase   phase
	Size    int     // bytes
	Rate    float64 // frames per second, 0 = back to back
	Wake    negotiate.WakeKind
	Readers int
}

func (c cell) String() string {
	return fmt.Sprintf("%s: %s, %s, %s, readers: %d", c.Phase, sizeText(c.Size), rateText(c.Rate), c.Wake, c.Readers)
}

// metric is a time that a block has a distribution of.
type metric string

const (
	metricHeld    metric = "ready_to_held"  // each frame at each reader
	metricFirst   metric = "ready_to_first" // each frame at its first reader
	metricLast    metric = "ready_to_last"  // each frame at its last reader
	metricSpread  metric = "first_to_last"  // between the two
	metricPublish metric = "publish"        // the writer's call that hands over
)

var metrics = []metric{metricHeld, metricFirst, metricLast, metricSpread, metricPublish}

// block is one uninterrupted stretch of one side of a cell.
type block struct {
	cell
	Side      side
	Repeat    int
	Order     int    // of all blocks of the run
	Published uint64 // frames
	Received  uint64 // by all readers
	Dropped   uint64 // frames that a reader did not see, all readers
	Late      uint64 // ticks that the writer missed
	Seconds   float64
	// CPU time and heap allocations of the block, of the writer's process and
	// of all readers'.
	WriterCPU, ReaderCPU         int64 // ns
	WriterMallocs, ReaderMallocs uint64
	FutexWakes, PipeWakes        uint64 // system calls; of the floor 0, which does not count
	FillNanos                    int64
	Times                        map[metric]measure.Distribution
}

func (b *block) perSecond() float64 { return float64(b.Published) / b.Seconds }

// bench is what all blocks of a run share.
type bench struct {
	o        Options
	writer   *writer
	children []*child
	order    int
}

// settle is from the moment when all readers say that they are ready to the
// first frame: time to fall asleep, and for camd to wake new subscribers for the
// frame that it retained.
const settle = 5 * time.Millisecond

var errCounts = errors.New("frames do not add up")

// measureBlock runs one block with the first c.Readers readers. The histograms
// of pool, if there are any, get its times as well.
func (b *bench) measureBlock(ctx context.Context, h *host, f *floor, c cell, s side, t task, pool pools) (*block, error) {
	if err := b.unsubscribe(c.Readers); err != nil {
		return nil, err
	}
	runtime.GC()
	readers := b.children[:c.Readers]
	first := b.writer.number + 1
	b.writer.board.last.Store(0)
	for _, ch := range readers {
		clear(ch.samples)
		ch.subscribed = ch.subscribed || s == sideCamd
		if err := ch.order(order{Side: s, Dir: h.dir, Stream: fullName, Wake: c.Wake, First: first, Ack: t.rate == 0}); err != nil {
			return nil, err
		}
	}
	// Not ended by ctx: the readers wait for a last frame.
	if err := pace.Until(context.Background(), linux.Monotonic()+int64(settle)); err != nil {
		return nil, err
	}
	futex, pipe := h.wakes()
	var d done
	var writerErr error
	finished := make(chan error, 1)
	go func() {
		finished <- h.do(func(w capture.Writer) {
			var to target = &camdTarget{w: w}
			if s == sideFloor {
				to = f.target(b.writer.board, c.Wake, readers)
			}
			d, writerErr = b.writer.run(ctx, to, t)
		})
	}()
	blk := &block{cell: c, Side: s, Order: b.order, Times: map[metric]measure.Distribution{}}
	b.order++
	var errs []error
	for _, ch := range readers {
		// Twice the time of the block, for a machine that is much too slow.
		r, err := ch.report(2*(t.duration+time.Duration(float64(t.minFrames)*float64(time.Second)/max(t.rate, 1))) + replyTimeout)
		errs = append(errs, err)
		blk.Received += r.Received
		blk.Dropped += r.Dropped
		blk.ReaderCPU += r.CPUNanos
		blk.ReaderMallocs += r.Mallocs
	}
	errs = append(errs, <-finished, writerErr)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	blk.Published, blk.Late, blk.Seconds, blk.FillNanos = d.published, d.late, d.elapsed.Seconds(), d.fillNanos
	blk.WriterCPU, blk.WriterMallocs = d.used.cpuNanos, d.used.mallocs
	if s == sideCamd {
		f, p := h.wakes()
		blk.FutexWakes, blk.PipeWakes = f-futex, p-pipe
	}
	if blk.Received+blk.Dropped != blk.Published*uint64(c.Readers) {
		return nil, fmt.Errorf("%w: %v, %s: %d published to each of %d readers, %d received, %d dropped",
			errCounts, c, s, blk.Published, c.Readers, blk.Received, blk.Dropped)
	}
	b.evaluate(blk, readers, pool)
	return blk, nil
}

// unsubscribe ends the subscriptions of all readers but the first ones.
func (b *bench) unsubscribe(from int) error {
	for _, c := range b.children[from:] {
		if !c.subscribed || c.dead.Load() {
			continue
		}
		c.subscribed = false
		if err := c.order(order{}); err != nil {
			return err
		}
	}
	return nil
}

// pools collects the times of all blocks of one side of a cell.
type pools map[metric]*measure.Histogram

func newPools(readers int) pools {
	p := pools{metricHeld: measure.NewHistogram(), metricPublish: measure.NewHistogram()}
	if readers > 1 {
		p[metricFirst], p[metricLast], p[metricSpread] = measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram()
	}
	return p
}

// evaluate turns the samples of a block into distributions.
func (b *bench) evaluate(blk *block, readers []*child, pool pools) {
	own := newPools(blk.Readers)
	add := func(m metric, nanos int64) {
		own[m].Record(nanos)
		if pool != nil {
			pool[m].Record(nanos)
		}
	}
	for i := range blk.Published {
		add(metricPublish, b.writer.publish[i])
		var first, last int64
		all := true
		for n, ch := range readers {
			v := ch.samples[i]
			if v == 0 {
				all = false
				continue
			}
			add(metricHeld, v)
			if n == 0 {
				first, last = v, v
			}
			first, last = min(first, v), max(last, v)
		}
		if all && blk.Readers > 1 {
			add(metricFirst, first)
			add(metricLast, last)
			add(metricSpread, last-first)
		}
	}
	for m, h := range own {
		if h.Count() > 0 {
			blk.Times[m] = h.Distribution()
		}
	}
}
