// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// results is everything that a run found out.
type results struct {
	cells   []*cellResult
	skipped []string
}

// cellResult is a cell with all its blocks.
type cellResult struct {
	cell
	blocks []*block
	pools  map[side]pools // until finish
	sums   map[side]sum
}

// sum is one side of a cell, all blocks together.
type sum struct {
	blocks int
	block  // counts and times are totals; Times are of all frames together
}

// finish turns what was pooled into sums. It reports false for a cell that
// lacks a side.
func (c *cellResult) finish() bool {
	c.sums = map[side]sum{}
	for s, pool := range c.pools {
		t := sum{block: block{cell: c.cell, Side: s, Times: map[metric]measure.Distribution{}}}
		for _, b := range c.blocks {
			if b.Side != s {
				continue
			}
			t.blocks++
			t.Published += b.Published
			t.Received += b.Received
			t.Dropped += b.Dropped
			t.Late += b.Late
			t.Seconds += b.Seconds
			t.WriterCPU += b.WriterCPU
			t.ReaderCPU += b.ReaderCPU
			t.WriterMallocs += b.WriterMallocs
			t.ReaderMallocs += b.ReaderMallocs
			t.FutexWakes += b.FutexWakes
			t.PipeWakes += b.PipeWakes
			t.FillNanos += b.FillNanos
		}
		for m, h := range pool {
			if h.Count() > 0 {
				t.Times[m] = h.Distribution()
			}
		}
		if t.blocks == 0 {
			return false
		}
		c.sums[s] = t
	}
	c.pools = nil
	return true
}

func (b *block) writerCPUPerFrame() float64 { return float64(b.WriterCPU) / float64(b.Published) }

// readerCPUPerFrame is of one reader and one published frame.
func (b *block) readerCPUPerFrame() float64 {
	return float64(b.ReaderCPU) / float64(b.Published) / float64(b.Readers)
}

// ratio is camd by floor: the median over the repeats, and the extremes.
type ratio struct {
	Name             string
	Median, Min, Max float64
	Lower, Upper     float64 // quartiles
	Repeats          int
}

// quantity is what ratios are taken of. It is 0 where a block does not have it.
type quantity struct {
	name string
	of   func(*block) float64
}

func quantities() []quantity {
	var out []quantity
	for _, m := range metrics {
		out = append(out,
			quantity{string(m) + "_p50", func(b *block) float64 { return float64(b.Times[m].P50) }},
			quantity{string(m) + "_p90", func(b *block) float64 { return float64(b.Times[m].P90) }},
			quantity{string(m) + "_p99", func(b *block) float64 { return float64(b.Times[m].P99) }})
	}
	return append(out,
		quantity{"writer_cpu_per_frame", (*block).writerCPUPerFrame},
		quantity{"reader_cpu_per_frame", (*block).readerCPUPerFrame},
		quantity{"frames_per_second", (*block).perSecond})
}

// values are the ratios of one quantity, one for each repeat that has both
// sides.
func (c *cellResult) values(q quantity) []float64 {
	var out []float64
	for _, a := range c.blocks {
		if a.Side != sideCamd {
			continue
		}
		i := slices.IndexFunc(c.blocks, func(b *block) bool { return b.Side == sideFloor && b.Repeat == a.Repeat })
		if i < 0 {
			continue
		}
		if x, y := q.of(a), q.of(c.blocks[i]); x > 0 && y > 0 {
			out = append(out, x/y)
		}
	}
	return out
}

// ratios are all that both sides of the cell allow.
func (c *cellResult) ratios() []ratio { return ratiosOf([]*cellResult{c}) }

// ratiosOf takes the repeats of several cells together.
func ratiosOf(cells []*cellResult) []ratio {
	var out []ratio
	for _, q := range quantities() {
		var values []float64
		for _, c := range cells {
			values = append(values, c.values(q)...)
		}
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		n := len(values)
		out = append(out, ratio{
			Name: q.name, Median: median(values), Min: values[0], Max: values[n-1], Repeats: n,
			Lower: values[n/4], Upper: values[(3*n-1)/4],
		})
	}
	return out
}

func (c *cellResult) ratio(name string) (ratio, bool) { return pick(c.ratios(), name) }

func pick(all []ratio, name string) (ratio, bool) {
	i := slices.IndexFunc(all, func(r ratio) bool { return r.Name == name })
	if i < 0 {
		return ratio{}, false
	}
	return all[i], true
}

// median of a sorted list that is not empty.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// sort puts the cells into the order of tables, whatever the order in which
// they were measured.
func (r *results) sort() {
	slices.SortFunc(r.cells, func(a, b *cellResult) int { return a.compare(b.cell) })
	slices.Sort(r.skipped)
}
