// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// table is one CSV file: rows only, one observation a row.
type table struct {
	file   string
	header []string
	rows   [][]string
}

var cellColumns = []string{"phase", "payload_bytes", "rate_hz", "wake", "readers"}

// columns of a cell; rate 0 is back to back.
func (c cell) columns() []string {
	return []string{string(c.Phase), strconv.Itoa(c.Size), strconv.FormatFloat(c.Rate, 'g', -1, 64), string(c.Wake), strconv.Itoa(c.Readers)}
}

func whole[T int | int64 | uint64](v T) string { return fmt.Sprint(v) }

func decimal(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

// tables are the files of a run.
func tables(runID string, r *results) []table {
	times := table{file: "latency.csv", header: concat([]string{"run_id", "side"}, cellColumns,
		[]string{"metric", "unit", "count", "min", "mean", "stddev", "p50", "p90", "p99", "p999", "max"})}
	ratios := table{file: "ratios.csv", header: concat([]string{"run_id"}, cellColumns,
		[]string{"quantity", "median", "min", "max", "repeats"})}
	sums := table{file: "throughput.csv", header: concat([]string{"run_id", "side"}, cellColumns,
		[]string{
			"published", "received", "dropped", "late", "seconds", "frames_per_s", "fill_ns_per_frame",
			"writer_cpu_ns_per_frame", "reader_cpu_ns_per_frame", "futex_wakes_per_frame", "pipe_wakes_per_frame",
		})}
	blocks := table{file: "blocks.csv", header: concat([]string{"run_id", "order", "repeat", "side"}, cellColumns,
		[]string{
			"published", "received", "dropped", "late", "seconds", "fill_ns", "writer_cpu_ns", "reader_cpu_ns",
			"writer_mallocs", "reader_mallocs", "futex_wakes", "pipe_wakes",
			"ready_to_held_p50_ns", "ready_to_held_p90_ns", "ready_to_held_p99_ns", "ready_to_held_max_ns", "publish_p50_ns",
		})}
	for _, c := range r.cells {
		for _, s := range []side{sideCamd, sideFloor} {
			t := c.sums[s]
			for _, m := range metrics {
				d, ok := t.Times[m]
				if !ok {
					continue
				}
				p999 := ""
				if d.P999 > 0 {
					p999 = whole(d.P999)
				}
				times.rows = append(times.rows, concat([]string{runID, string(s)}, c.columns(), []string{
					string(m), "ns", whole(d.Count), whole(d.Min), decimal(d.Mean, 1), decimal(d.StdDev, 1),
					whole(d.P50), whole(d.P90), whole(d.P99), p999, whole(d.Max),
				}))
			}
			n := float64(t.Published)
			futex, pipe := "", "" // of the floor they follow from what it is
			if s == sideCamd {
				futex, pipe = decimal(float64(t.FutexWakes)/n, 4), decimal(float64(t.PipeWakes)/n, 4)
			}
			sums.rows = append(sums.rows, concat([]string{runID, string(s)}, c.columns(), []string{
				whole(t.Published), whole(t.Received), whole(t.Dropped), whole(t.Late), decimal(t.Seconds, 6), decimal(t.perSecond(), 3),
				decimal(float64(t.FillNanos)/n, 1), decimal(t.writerCPUPerFrame(), 1), decimal(t.readerCPUPerFrame(), 1), futex, pipe,
			}))
		}
		for _, x := range c.ratios() {
			ratios.rows = append(ratios.rows, concat([]string{runID}, c.columns(), []string{
				x.Name, decimal(x.Median, 4), decimal(x.Min, 4), decimal(x.Max, 4), whole(x.Repeats),
			}))
		}
		for _, b := range c.blocks {
			h := b.Times[metricHeld]
			blocks.rows = append(blocks.rows, concat([]string{runID, whole(b.Order), whole(b.Repeat), string(b.Side)}, c.columns(), []string{
				whole(b.Published), whole(b.Received), whole(b.Dropped), whole(b.Late), decimal(b.Seconds, 6), whole(b.FillNanos),
				whole(b.WriterCPU), whole(b.ReaderCPU), whole(b.WriterMallocs), whole(b.ReaderMallocs), whole(b.FutexWakes), whole(b.PipeWakes),
				whole(h.P50), whole(h.P90), whole(h.P99), whole(h.Max), whole(b.Times[metricPublish].P50),
			}))
		}
	}
	return []table{times, ratios, sums, blocks}
}

func concat(parts ...[]string) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// writeResults makes a folder of its own for the run and returns its path.
func writeResults(out string, r *results, m *meta) (string, error) {
	r.sort()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	dir, err := newFolder(filepath.Join(out, "handover-"+m.Started.Format("20060102-150405")))
	if err != nil {
		return "", err
	}
	m.RunID = filepath.Base(dir)
	for _, t := range tables(m.RunID, r) {
		if err := t.write(dir); err != nil {
			return "", err
		}
	}
	doc, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "meta.json"), append(doc, '\n'), 0o644)
}

// newFolder makes path, or path-2 and so on where that exists.
func newFolder(path string) (string, error) {
	for n := 1; n < 1000; n++ {
		p := path
		if n > 1 {
			p = fmt.Sprintf("%s-%d", path, n)
		}
		err := os.Mkdir(p, 0o755)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s: %w", path, os.ErrExist)
}

func (t table) write(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, t.file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	err = w.Write(t.header)
	if err == nil {
		err = w.WriteAll(t.rows)
	}
	return errors.Join(err, f.Close())
}
