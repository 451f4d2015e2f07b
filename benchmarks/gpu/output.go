// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// table is a CSV file, each row of which is in the file when it is known.
type table struct {
	r *session
	f *os.File
	w *csv.Writer
}

func (r *session) table(name string, columns ...string) (*table, error) {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return nil, err
	}
	t := &table{r: r, f: f, w: csv.NewWriter(f)}
	t.write(append([]string{"run_id", "simulated"}, columns...))
	return t, nil
}

func (t *table) row(fields ...string) {
	t.write(append([]string{t.r.id, strconv.FormatBool(t.r.simulated)}, fields...))
}

func (t *table) write(fields []string) {
	_ = t.w.Write(fields)
	t.w.Flush()
	if err := t.w.Error(); err != nil {
		fmt.Fprintln(os.Stderr, "gpu: writing results:", err)
	}
}

func (t *table) close() { _ = t.f.Close() }

// figure is a measured number for a file or the screen; nothing where there is
// no GPU.
func (r *session) figure(format string, v float64) string {
	if r.simulated {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// quantile is the value below which q of the sorted values are.
func quantile(sorted []int64, q float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// spread is median, p99 and maximum of values in nanoseconds, as fields in
// nanoseconds.
func (r *session) spread(values []int64) []string {
	s := slices.Sorted(slices.Values(values))
	return []string{
		r.figure("%.0f", float64(quantile(s, 0.5))),
		r.figure("%.0f", float64(quantile(s, 0.99))),
		r.figure("%.0f", float64(quantile(s, 1))),
	}
}

// micros is a field of spread for people.
func micros(field string) string {
	n, err := strconv.ParseFloat(field, 64)
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%.0f us", n/1000)
}

// median is the middle one of the values.
func median(values []int64) int64 { return quantile(slices.Sorted(slices.Values(values)), 0.5) }
