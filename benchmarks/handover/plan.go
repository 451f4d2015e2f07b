// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// busyShare is how much of a frame interval filling may take. Beyond it a
// paced cell would be another back to back.
const busyShare = 0.7

// What comes before the first block of a group.
const (
	warmUp       = 50 * time.Millisecond
	warmUpFrames = 10
)

// measureAll measures every cell into r. It returns nil also when ctx ends it
// early.
func measureAll(ctx context.Context, o Options, r *results, p *progress) (err error) {
	shared, err := newShared("handover-board", boardBytes)
	if err != nil {
		return err
	}
	defer shared.Close()
	dead := new(atomic.Bool)
	b := &bench{o: o, writer: newWriter(boardIn(shared.Data), dead)}
	defer func() {
		for _, c := range b.children {
			if e := c.stop(); e != nil && err == nil {
				err = fmt.Errorf("reader: %w", e)
			}
		}
		p.clear()
	}()
	need := 1
	for _, n := range o.Readers {
		need = max(need, n)
	}
	for range need {
		c, err := startChild(shared, dead, p.out)
		if err != nil {
			return err
		}
		b.children = append(b.children, c)
	}
	random := rand.New(rand.NewPCG(o.Seed, 1))
	for _, g := range plan(o, random) {
		err := b.group(ctx, g, random, r, p)
		switch {
		case ctx.Err() != nil && (err == nil || errors.Is(err, errStopped)):
			return nil
		case errors.Is(err, errSkip):
			r.skipped = append(r.skipped, fmt.Sprintf("%s: %v", g, err))
		case err != nil:
			return fmt.Errorf("%s: %w", g, err)
		}
	}
	return nil
}

// errSkip: this host cannot have the cells of a group.
var errSkip = errors.New("not measured")

// group is the cells that share a daemon and a subscription.
type group struct {
	size     int
	cells    []cell
	readers  int // most of any cell
	duration time.Duration
}

func (g group) String() string { return sizeText(g.size) }

// plan is the groups in random order: one for each size and wake-up, and the
// fan-out.
func plan(o Options, random *rand.Rand) []group {
	var out []group
	for _, size := range o.Sizes {
		for _, wake := range o.Wakes {
			g := group{size: size, readers: 1, duration: o.block()}
			for _, rate := range o.Rates {
				g.cells = append(g.cells, cell{Phase: phaseHandover, Size: size, Rate: rate, Wake: wake, Readers: 1})
			}
			out = append(out, g)
		}
	}
	for _, wake := range o.Wakes {
		g := group{size: fanoutSize, duration: 2 * o.block()}
		for _, n := range o.Readers {
			g.cells = append(g.cells, cell{Size: fanoutSize, Rate: fanoutRate, Wake: wake, Readers: n, Phase: phaseFanout})
			g.readers = max(g.readers, n)
		}
		if len(g.cells) > 0 {
			out = append(out, g)
		}
	}
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// group measures the cells of g. In each repeat their order is random, and in
// each cell the order of the two sides.
func (b *bench) group(ctx context.Context, g group, random *rand.Rand, r *results, p *progress) (err error) {
	f, err := newFloor(g.size)
	if err != nil {
		return fmt.Errorf("%w: %w", errSkip, err)
	}
	defer f.close()
	h, err := startHost(g.size, g.readers)
	if err != nil {
		return fmt.Errorf("%w: %w", errSkip, err)
	}
	defer func() {
		err = errors.Join(err, b.unsubscribe(0), h.stop())
	}()
	cells, err := b.possible(ctx, h, f, g, r)
	if err != nil {
		return err
	}
	got := make([]*cellResult, len(cells))
	for i, c := range cells {
		got[i] = &cellResult{cell: c, pools: map[side]pools{sideCamd: newPools(c.Readers), sideFloor: newPools(c.Readers)}}
	}
	defer func() {
		for _, c := range got {
			if c.finish() {
				r.cells = append(r.cells, c)
			}
		}
	}()
	for repeat := range b.o.Repeats {
		for _, i := range random.Perm(len(cells)) {
			sides := [2]side{sideCamd, sideFloor}
			if random.IntN(2) == 1 {
				sides[0], sides[1] = sides[1], sides[0]
			}
			c := got[i]
			p.show(c.cell, repeat)
			t := task{rate: c.Rate, duration: g.duration, minFrames: b.o.MinFrames}
			for _, s := range sides {
				blk, err := b.measureBlock(ctx, h, f, c.cell, s, t, c.pools[s])
				if err != nil {
					return err
				}
				blk.Repeat = repeat
				c.blocks = append(c.blocks, blk)
			}
		}
	}
	return nil
}

// possible warms both sides up, without keeping the times, and leaves out the
// cells whose pace filling alone would break.
func (b *bench) possible(ctx context.Context, h *host, f *floor, g group, r *results) ([]cell, error) {
	var fill time.Duration
	for _, s := range []side{sideFloor, sideCamd} {
		c := cell{Phase: g.cells[0].Phase, Size: g.size, Wake: g.cells[0].Wake, Readers: 1}
		blk, err := b.measureBlock(ctx, h, f, c, s, task{duration: warmUp, minFrames: warmUpFrames}, nil)
		if err != nil {
			return nil, err
		}
		fill = time.Duration(blk.FillNanos / int64(blk.Published))
	}
	var out []cell
	for _, c := range g.cells {
		if c.Rate > 0 && fill.Seconds()*c.Rate > busyShare {
			r.skipped = append(r.skipped, fmt.Sprintf("%v: not measured: filling a frame takes %v", c, fill.Round(time.Microsecond)))
			continue
		}
		out = append(out, c)
	}
	return out, nil
}
