// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// LatencyHeader names the columns of [WriteLatencyCSV].
var LatencyHeader = [...]string{
	"run_id", "phase", "metric", "unit", "count", "min", "mean", "stddev", "p50", "p90", "p99", "p999", "max", "dropped",
}

// LatencyRow is one row: one metric of one phase of one run.
type LatencyRow struct {
	RunID   string
	Phase   string
	Metric  string // for example "ready_to_held"
	Dist    Distribution
	Dropped uint64 // frames that were published in this phase and not seen
}

// WriteLatencyCSV writes the header and the rows. Times are in nanoseconds;
// p999 is empty where there are too few samples for it, and every figure where
// there are none.
func WriteLatencyCSV(w io.Writer, rows []LatencyRow) error {
	out := csv.NewWriter(w)
	if err := out.Write(LatencyHeader[:]); err != nil {
		return fmt.Errorf("write latency table: %w", err)
	}
	for _, r := range rows {
		d := r.Dist
		p999 := ""
		if d.Count >= p999Samples {
			p999 = strconv.FormatInt(d.P999, 10)
		}
		whole := func(n int64) string { return valueOf(d, strconv.FormatInt(n, 10)) }
		tenths := func(f float64) string { return valueOf(d, strconv.FormatFloat(f, 'f', 1, 64)) }
		if err := out.Write([]string{
			r.RunID, r.Phase, r.Metric, "ns", strconv.FormatUint(d.Count, 10),
			whole(d.Min), tenths(d.Mean), tenths(d.StdDev), whole(d.P50), whole(d.P90), whole(d.P99), p999, whole(d.Max),
			strconv.FormatUint(r.Dropped, 10),
		}); err != nil {
			return fmt.Errorf("write latency table: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write latency table: %w", err)
	}
	return nil
}

// valueOf is text, or nothing where there was nothing to measure.
func valueOf(d Distribution, text string) string {
	if d.Count == 0 {
		return ""
	}
	return text
}
