// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/seed-3c7e7623/camd/internal/bench"
)

// median is one metric of one peer and payload over all repeats: of each
// quantity of the repeats the median, and the smallest and the largest.
type median struct {
	Peer              string
	Size              int
	Metric            bench.Metric
	Unit              bench.Unit
	Repeats           int
	Received, Dropped uint64 // in all repeats
	P50, P90, P99     spread
}

type spread struct{ Median, Min, Max float64 }

func spreadOf(values []float64) spread {
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return spread{}
	}
	return spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1]}
}

// medians are all of them, in the order of peers, payloads and metrics.
func (s *store) medians() []median {
	type key struct {
		peer   string
		size   int
		metric bench.Metric
	}
	rows := map[key][]bench.Row{}
	var metrics []bench.Metric
	received := map[key]uint64{}
	for _, c := range s.cells {
		for _, r := range c.Rows {
			k := key{c.Peer, c.Size, r.Metric}
			rows[k] = append(rows[k], r)
			received[k] += c.Received
			if !slices.Contains(metrics, r.Metric) {
				metrics = append(metrics, r.Metric)
			}
		}
	}
	var out []median
	for _, peer := range s.meta.Options.Peers {
		for _, size := range s.meta.Options.Sizes {
			for _, metric := range metrics {
				k := key{peer, size, metric}
				all := rows[k]
				if len(all) == 0 {
					continue
				}
				of := func(value func(bench.Row) int64) spread {
					var values []float64
					for _, r := range all {
						values = append(values, float64(value(r)))
					}
					return spreadOf(values)
				}
				m := median{
					Peer: peer, Size: size, Metric: metric, Unit: all[0].Unit, Repeats: len(all), Received: received[k],
					P50: of(func(r bench.Row) int64 { return r.Dist.P50 }),
					P90: of(func(r bench.Row) int64 { return r.Dist.P90 }),
					P99: of(func(r bench.Row) int64 { return r.Dist.P99 }),
				}
				for _, r := range all {
					m.Dropped += r.Dropped
				}
				out = append(out, m)
			}
		}
	}
	return out
}

var mediansHeader = []string{
	"run_id", "peer", "payload_bytes", "metric", "unit", "repeats", "received", "dropped",
	"p50_median", "p50_min", "p50_max", "p90_median", "p90_min", "p90_max", "p99_median", "p99_min", "p99_max",
}

// writeMedians writes medians.csv.
func writeMedians(w io.Writer, runID string, all []median) error {
	out := csv.NewWriter(w)
	// What fails here is known to Error.
	_ = out.Write(mediansHeader)
	for _, m := range all {
		row := []string{
			runID, m.Peer, strconv.Itoa(m.Size), string(m.Metric), string(m.Unit), strconv.Itoa(m.Repeats),
			strconv.FormatUint(m.Received, 10), strconv.FormatUint(m.Dropped, 10),
		}
		factor, decimals := 1.0, 0
		if m.Unit == bench.Percent {
			factor, decimals = 0.01, 2
		}
		for _, s := range []spread{m.P50, m.P90, m.P99} {
			for _, v := range []float64{s.Median, s.Min, s.Max} {
				row = append(row, strconv.FormatFloat(v*factor, 'f', decimals, 64))
			}
		}
		_ = out.Write(row)
	}
	out.Flush()
	return out.Error()
}

// table shows one quantity of one metric in microseconds, a row for each peer and
// a column for each payload, with the spread over repeats in brackets.
func table(o Options, all []median, metric bench.Metric, title string, of func(median) spread) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", title)
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(out, "peer")
	for _, size := range o.Sizes {
		fmt.Fprintf(out, "\t%s", sizeText(size))
	}
	fmt.Fprintln(out)
	for _, peer := range o.Peers {
		fmt.Fprint(out, peer)
		for _, size := range o.Sizes {
			i := slices.IndexFunc(all, func(m median) bool { return m.Peer == peer && m.Size == size && m.Metric == metric })
			if i < 0 {
				fmt.Fprint(out, "\t-")
				continue
			}
			s := of(all[i])
			fmt.Fprintf(out, "\t%s (%s–%s)", micro(s.Median), micro(s.Min), micro(s.Max))
		}
		fmt.Fprintln(out)
	}
	// Writing into a string cannot fail.
	_ = out.Flush()
	return b.String()
}

// micro shows nanoseconds in microseconds with three digits.
func micro(nanos float64) string {
	v := nanos / 1000
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func sizeText(bytes int) string {
	switch {
	case bytes >= 1_000_000:
		return fmt.Sprintf("%g MB", float64(bytes)/1e6)
	case bytes >= 1000:
		return fmt.Sprintf("%g kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%d B", bytes)
}
