// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// block is one uninterrupted stretch of one side.
type block struct {
	Side   string
	Repeat int
	Order  int     // of all blocks of the run
	Rate   float64 // frames per second, 0 = back to back
	report
	PerSecond float64 // frames that arrived, of which one follows the other
	// Processor time of each process for each frame that arrived, ns; Hop is -1
	// where there is none.
	PublisherCPU, HopCPU, ReceiverCPU int64
}

// measure runs one block.
func (s *side) measure(o order) (*block, error) {
	var before, after [3]int64
	all := [3]*process{s.publisher, s.hop, s.receiver}
	read := func(to *[3]int64) {
		for i, p := range all {
			if p != nil {
				to[i] = p.cpu()
			}
		}
	}
	read(&before)
	r, err := s.publisher.order(o)
	if err != nil {
		return nil, err
	}
	read(&after)
	b := &block{Side: s.name, Rate: o.Rate, report: r[0], HopCPU: -1}
	got := b.Readers[0]
	if got.Received < 2 {
		return nil, fmt.Errorf("%s: %w: %d of %d frames", s.name, errNothing, got.Received, b.Sent)
	}
	b.PerSecond = float64(got.Received-1) / (float64(got.Last-got.First) / 1e9)
	each := func(i int) int64 { return (after[i] - before[i]) / int64(got.Received) }
	b.PublisherCPU, b.ReceiverCPU = each(0), each(2)
	if s.hop != nil {
		b.HopCPU = each(1)
	}
	return b, nil
}

// measureAll runs all blocks, in random order within each repeat. When ctx is
// done it returns what there is.
func measureAll(ctx context.Context, o Options, stderr io.Writer) (blocks []*block, err error) {
	r, err := newRig(o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var running []*side
	for _, name := range o.Sides {
		s, err := r.open(name)
		if err != nil {
			return nil, err
		}
		running = append(running, s)
	}
	random := rand.New(rand.NewPCG(o.Seed, 0))
	orders := []order{
		{Rate: o.Rate, Nanos: int64(o.Duration)},
		{Window: o.Window, Nanos: int64(o.Duration)},
	}
	for repeat := range o.Repeats {
		for _, i := range random.Perm(len(running) * len(orders)) {
			if ctx.Err() != nil {
				return blocks, nil
			}
			b, err := running[i/len(orders)].measure(orders[i%len(orders)])
			if ctx.Err() != nil {
				return blocks, nil
			}
			if err != nil {
				return blocks, err
			}
			b.Repeat, b.Order = repeat, len(blocks)
			blocks = append(blocks, b)
		}
		fmt.Fprintf(stderr, "repeat %d of %d, %s\n", repeat+1, o.Repeats, time.Now().Format(time.TimeOnly))
	}
	return blocks, nil
}
