// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// ZEDFile collects the rows of --compat zed.
const ZEDFile = "zed.csv"

// zedHeader and the rows have the form of the benchmark in Stereolabs'
// zed-ros2-examples (component zed_nitros_sub): a comma and a space between
// columns, six significant digits, latency from the stamp of the picture in
// seconds, frequency as the average of 1/period.
const zedHeader = "BENCHMARK, SAMPLES, UNITS, AVG, MIN, MAX, STDDEV\n"

// ZEDRows are the rows of a run: frequency, latency and load of each phase.
func ZEDRows(run *Run) string {
	var b strings.Builder
	for _, r := range run.Results {
		if r.Unavailable != "" {
			continue
		}
		name := strings.ToUpper(r.Phase) + " Subscriber "
		zedRow(&b, name+"Frequency", "Hz", frequencies(r.values(Period)))
		rows := r.Rows()
		if row, ok := find(rows, CaptureToUsable); ok {
			zedRow(&b, name+"Latency", "sec", spreadOf(row.Dist, 1e-9))
		}
		if row, ok := find(rows, SystemCPU); ok {
			zedRow(&b, name+"CPU Load", "%", spreadOf(row.Dist, 1e-2))
		}
		if row, ok := find(rows, GPULoad); ok {
			zedRow(&b, name+"GPU Load", "%", spreadOf(row.Dist, 1e-2))
		}
	}
	return b.String()
}

func zedRow(b *strings.Builder, name, unit string, s measure.Spread) {
	if s.Count == 0 {
		return
	}
	six := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	fmt.Fprintf(b, "%s, %d, %s, %s, %s, %s, %s\n", name, s.Count, unit, six(s.Mean), six(s.Min), six(s.Max), six(s.StdDev))
}

func spreadOf(d measure.Distribution, factor float64) measure.Spread {
	return measure.Spread{
		Count: d.Count, Min: float64(d.Min), Mean: d.Mean, Max: float64(d.Max), StdDev: d.StdDev,
	}.Scale(factor)
}

// frequencies is the spread of 1/period in Hz.
func frequencies(periods []int64) measure.Spread {
	var r measure.Running
	for _, p := range periods {
		if p > 0 {
			r.Add(int64(1e15/float64(p) + 0.5)) // in millionths of Hz
		}
	}
	return r.Spread().Scale(1e-6)
}

// AppendZED adds the rows of a run to zed.csv in the folder that holds runs.
func AppendZED(out string, run *Run) error {
	return appendRows(filepath.Join(out, ZEDFile), zedHeader, ZEDRows(run))
}
