// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"encoding/csv"
	"encoding/hex"
	"io"
	"strconv"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// number writes a value of a distribution in the unit of its row: nanoseconds
// as they are, hundredths of per cent with two decimals.
func (u Unit) number(v int64) string {
	if u == Percent {
		return strconv.FormatFloat(float64(v)/100, 'f', 2, 64)
	}
	return strconv.FormatInt(v, 10)
}

// mean writes an average in the unit of its row.
func (u Unit) mean(v float64) string {
	if u == Percent {
		return strconv.FormatFloat(v/100, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// fields are the columns of measure.LatencyHeader. Where there was nothing to
// measure the figures are empty, as p999 is where there are too few samples.
func (r Row) fields(runID string) []string {
	d, u := r.Dist, r.Unit
	out := []string{runID, r.Phase, string(r.Metric), string(u), strconv.FormatUint(d.Count, 10)}
	if d.Count == 0 {
		out = append(out, "", "", "", "", "", "", "", "")
	} else {
		p999 := ""
		if d.P999 != 0 {
			p999 = u.number(d.P999)
		}
		out = append(out, u.number(d.Min), u.mean(d.Mean), u.mean(d.StdDev), u.number(d.P50), u.number(d.P90), u.number(d.P99), p999, u.number(d.Max))
	}
	return append(out, strconv.FormatUint(r.Dropped, 10))
}

// WriteRows writes latency.csv: the header of measure.LatencyHeader, and a row
// for each metric of each phase.
func WriteRows(w io.Writer, runID string, rows []Row) error {
	out := csv.NewWriter(w)
	if err := out.Write(measure.LatencyHeader[:]); err != nil {
		return err
	}
	for _, r := range rows {
		if err := out.Write(r.fields(runID)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// sampleHeader names the columns of samples.csv. Stamps are CLOCK_MONOTONIC in
// nanoseconds, empty where they are not known.
var sampleHeader = []string{
	"run_id", "phase", "backend", "sequence", "driver_sequence", "capture_ns", "ready_ns", "publish_ns", "usable_ns", "read_ns", "pixel",
}

// writeSamples writes samples.csv: a row for each frame that was received.
func writeSamples(w io.Writer, runID string, results []*Result) error {
	buffer := bufio.NewWriterSize(w, 1<<16)
	out := csv.NewWriter(buffer)
	if err := out.Write(sampleHeader); err != nil {
		return err
	}
	row := make([]string, len(sampleHeader))
	for _, r := range results {
		for i := range r.Samples {
			s := &r.Samples[i]
			row = append(row[:0], runID, r.Phase, string(s.Backend),
				strconv.FormatUint(s.Sequence, 10), strconv.FormatUint(s.DriverSequence, 10),
				stamp(s.CaptureNanos), stamp(s.ReadyNanos), stamp(s.PublishNanos), stamp(s.UsableNanos), stamp(s.ReadNanos),
				hex.EncodeToString(s.Pixel[:s.PixelLen]))
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return err
	}
	return buffer.Flush()
}

func stamp(nanos int64) string {
	if nanos == 0 {
		return ""
	}
	return strconv.FormatInt(nanos, 10)
}
