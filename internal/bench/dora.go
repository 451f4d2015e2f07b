// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/csv"
	"path/filepath"
	"strconv"
	"strings"
)

// DoraFile collects the rows of --compat dora.
const DoraFile = "dora.csv"

var doraHeader = []string{"date", "language", "platform", "name", "size_bytes", "avg_us", "p50_us", "p90_us", "p99_us", "n"}

// DoraRows are the rows of a sweep as those who compare with dora-benchmark keep
// them: one for each backend and payload, the headline latency in microseconds.
func DoraRows(run *Run) (string, error) {
	var b strings.Builder
	out := csv.NewWriter(&b)
	h := run.Meta.Host
	for _, r := range run.Results {
		row, ok := find(r.Rows(), ReadyToUsable)
		if !ok || row.Dist.Count == 0 {
			continue
		}
		d := row.Dist
		micro := func(nanos float64) string { return strconv.FormatFloat(nanos/1000, 'f', 3, 64) }
		// What fails here is known to Error.
		_ = out.Write([]string{
			r.Started.UTC().Format("2006-01-02T15:04:05Z"), "Go " + strings.TrimPrefix(run.Meta.Program.Go, "go"),
			"Linux-" + h.Kernel + "-" + h.Arch, r.peer(), strconv.Itoa(r.Size),
			micro(d.Mean), micro(float64(d.P50)), micro(float64(d.P90)), micro(float64(d.P99)), strconv.FormatUint(d.Count, 10),
		})
	}
	out.Flush()
	return b.String(), out.Error()
}

// AppendDora adds the rows of a run to dora.csv in the folder that holds runs.
func AppendDora(out string, run *Run) error {
	rows, err := DoraRows(run)
	if err != nil {
		return err
	}
	return appendRows(filepath.Join(out, DoraFile), strings.Join(doraHeader, ",")+"\n", rows)
}

// peer is who moved the bytes, in a table of several.
func (r *Result) peer() string {
	if r.Floor {
		return strings.ReplaceAll(string(r.Asked), "_", " ")
	}
	return "camd " + string(r.Asked)
}
