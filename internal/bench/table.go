// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Table is what people read at the end: a row for each metric of each phase,
// then what spoils a phase, then the comparison of the phases.
func Table(run *Run) string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "phase\tmetric\tunit\tcount\tmin\tmean\tstddev\tp50\tp90\tp99\tp99.9\tmax\tdropped\t")
	for _, row := range run.Rows() {
		unit, show := row.Unit.forPeople()
		d := row.Dist
		fmt.Fprintf(out, "%s\t%s\t%s\t%d", row.Phase, row.Metric, unit, d.Count)
		if d.Count == 0 {
			fmt.Fprintf(out, "%s\t%d\t\n", strings.Repeat("\t-", 8), row.Dropped)
			continue
		}
		p999 := "-"
		if d.P999 != 0 {
			p999 = show(float64(d.P999))
		}
		fmt.Fprintf(out, "\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t\n", show(float64(d.Min)), show(d.Mean), show(d.StdDev),
			show(float64(d.P50)), show(float64(d.P90)), show(float64(d.P99)), p999, show(float64(d.Max)), row.Dropped)
	}
	// Writing into a string cannot fail.
	_ = out.Flush()
	b.WriteString(gpuRemarks(run))
	b.WriteString(remarks(run))
	b.WriteString(comparison(run))
	return strings.TrimSuffix(b.String(), "\n")
}

// forPeople is the unit of tables, and how to show a value of the row in it.
func (u Unit) forPeople() (string, func(float64) string) {
	if u == Percent {
		return "%", func(v float64) string { return strconv.FormatFloat(v/100, 'f', 1, 64) }
	}
	if u == KiB {
		return "MiB", func(v float64) string { return strconv.FormatFloat(v/1024, 'f', 1, 64) }
	}
	return "µs", func(v float64) string { return strconv.FormatFloat(v/1000, 'f', 1, 64) }
}

// remarks says what is wrong with phases.
func remarks(run *Run) string {
	var b strings.Builder
	for _, r := range run.Results {
		switch {
		case r.Unavailable != "":
			fmt.Fprintf(&b, "\n%s: not measured: %s\n", r.Phase, r.Unavailable)
		case len(r.Problems) > 0:
			fmt.Fprintf(&b, "\n%s: NOT VALID: %s\n", r.Phase, strings.Join(r.Problems, "; "))
		}
		if r.Interrupted && len(r.Samples) > 0 {
			fmt.Fprintf(&b, "\n%s: ended early, after %d frames\n", r.Phase, len(r.Samples))
		}
	}
	return b.String()
}

// comparison holds the averages of every further phase of a stream against the
// first one.
func comparison(run *Run) string {
	var with []*Result
	for _, r := range run.Results {
		if r.Unavailable == "" && len(r.values(Period)) > 0 {
			with = append(with, r)
		}
	}
	if len(with) < 2 || run.Meta.Command != commandBench {
		return ""
	}
	var b strings.Builder
	b.WriteString("\naverages compared:\n")
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	first := with[0].Rows()
	for _, r := range with[1:] {
		fmt.Fprintf(out, "metric\tunit\t%s\t%s\tdifference\tper cent\t\n", with[0].Phase, r.Phase)
		for _, y := range r.Rows() {
			x, ok := find(first, y.Metric)
			if !ok || x.Dist.Count == 0 || y.Dist.Count == 0 {
				continue
			}
			unit, show := x.Unit.forPeople()
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t\n", x.Metric, unit, show(x.Dist.Mean), show(y.Dist.Mean),
				signed(show(y.Dist.Mean-x.Dist.Mean)), percentOf(y.Dist.Mean-x.Dist.Mean, x.Dist.Mean))
		}
	}
	// Writing into a string cannot fail.
	_ = out.Flush()
	return b.String()
}

// signed gives a number its sign, and none to what is shown as zero.
func signed(number string) string {
	rest, negative := strings.CutPrefix(number, "-")
	switch {
	case strings.Trim(rest, "0.") == "":
		return rest
	case negative:
		return number
	}
	return "+" + number
}

func percentOf(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return signed(strconv.FormatFloat(part/whole*100, 'f', 1, 64))
}

// SweepTable shows a row for each payload and backend.
func SweepTable(run *Run) string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "bytes\tbackend\tcount\tdropped\tready to usable µs: p50\tp90\tp99\tto read p50\tp99\t")
	_, show := Nanoseconds.forPeople()
	for _, r := range run.Results {
		rows := r.Rows()
		usable, ok := find(rows, ReadyToUsable)
		if !ok || usable.Dist.Count == 0 {
			continue
		}
		d := usable.Dist
		fmt.Fprintf(out, "%d\t%s\t%d\t%d\t%s\t%s\t%s", r.Size, r.Asked, d.Count, usable.Dropped,
			show(float64(d.P50)), show(float64(d.P90)), show(float64(d.P99)))
		if read, ok := find(rows, ReadyToRead); ok && read.Dist.Count > 0 {
			fmt.Fprintf(out, "\t%s\t%s\t\n", show(float64(read.Dist.P50)), show(float64(read.Dist.P99)))
		} else {
			fmt.Fprint(out, "\t-\t-\t\n")
		}
	}
	// Writing into a string cannot fail.
	_ = out.Flush()
	b.WriteString(gpuRemarks(run))
	b.WriteString(remarks(run))
	return strings.TrimSuffix(b.String(), "\n")
}
