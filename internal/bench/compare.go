// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Statistic is what is compared of a metric.
type Statistic string

// The statistics, in the order of tables.
const (
	Mean Statistic = "mean"
	P50  Statistic = "p50"
	P99  Statistic = "p99"
)

// Basis is what the variation that an interval covers was seen between.
type Basis string

// Between runs an interval covers what changes from start to start; within runs
// it does not, and is too narrow for a claim about two programs.
const (
	BetweenRuns Basis = "runs"
	WithinRuns  Basis = "batches"
)

// Difference is one statistic of one metric of one phase in two sets of runs, in
// nanoseconds or per cent.
type Difference struct {
	Key
	Statistic Statistic `json:"statistic"`
	Unit      Unit      `json:"unit"`
	A         float64   `json:"a"`
	B         float64   `json:"b"`
	// Low and High bound B-A with 95 % confidence. Basis is "" without them.
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Basis Basis   `json:"basis,omitempty"`
	// N is on how many values of each side the interval stands.
	NA int `json:"n_a,omitempty"`
	NB int `json:"n_b,omitempty"`
}

// Seen reports whether the interval leaves 0 out.
func (d Difference) Seen() bool { return d.Basis != "" && (d.Low > 0 || d.High < 0) }

// Compare holds two sets of runs against each other, metric by metric of the
// phases that both have. With two runs or more on both sides the intervals are
// Welch's, between runs. Else they are between batches of consecutive frames,
// because neighbouring frames are alike (batch means); p99 and loads have none
// then.
func Compare(a, b []*Stored) []Difference {
	rowsA, rowsB := collect(a), collect(b)
	var out []Difference
	for _, k := range slices.SortedFunc(maps.Keys(rowsA), compareKeys(a)) {
		x, y := rowsA[k], rowsB[k]
		if len(y) == 0 {
			continue
		}
		for _, st := range []Statistic{Mean, P50, P99} {
			va, vb := pick(x, st), pick(y, st)
			d := Difference{Key: k, Statistic: st, Unit: x[0].Unit, A: average(va), B: average(vb)}
			basis := BetweenRuns
			if len(va) < 2 || len(vb) < 2 {
				basis = WithinRuns
				va, vb = batches(a, k, st), batches(b, k, st)
			}
			if half, ok := welch(va, vb); ok {
				d.Low, d.High, d.Basis, d.NA, d.NB = hundredths(d.B-d.A-half), hundredths(d.B-d.A+half), basis, len(va), len(vb)
			}
			d.A, d.B = hundredths(d.A), hundredths(d.B)
			out = append(out, d)
		}
	}
	return out
}

// hundredths rounds: further digits of an average mean nothing.
func hundredths(v float64) float64 { return math.Round(v*100)/100 + 0 } // + 0 makes 0 of -0

// collect is the rows of each metric that has values, a run each.
func collect(runs []*Stored) map[Key][]StoredRow {
	out := make(map[Key][]StoredRow)
	for _, r := range runs {
		for k, row := range r.Rows {
			if row.Count > 0 {
				out[k] = append(out[k], row)
			}
		}
	}
	return out
}

// compareKeys orders by the phases of the first run, then by metric.
func compareKeys(runs []*Stored) func(x, y Key) int {
	order := make(map[string]int)
	for _, p := range runs[0].Meta.Phases {
		order[p.Phase] = len(order) + 1
	}
	metrics := []Metric{ReadyToUsable, PublishToUsable, CaptureToUsable, ReadyToRead, Period, SubscriberCPU, PublisherCPU, SystemCPU}
	return func(x, y Key) int {
		return cmp.Or(
			cmp.Compare(order[x.Phase], order[y.Phase]), strings.Compare(x.Phase, y.Phase),
			cmp.Compare(slices.Index(metrics, x.Metric), slices.Index(metrics, y.Metric)),
		)
	}
}

func pick(rows []StoredRow, st Statistic) []float64 {
	out := make([]float64, 0, len(rows))
	for _, r := range rows {
		switch st {
		case Mean:
			out = append(out, r.Mean)
		case P50:
			out = append(out, r.P50)
		default:
			out = append(out, r.P99)
		}
	}
	return out
}

// How batches are made: as many as tell a variance, and long enough that their
// neighbours hardly depend on each other.
const (
	mostBatches   = 20
	fewestBatches = 5
	fewestInBatch = 10
)

// batches cuts the frames of all runs into consecutive batches and returns the
// statistic of each; nil if there are too few.
func batches(runs []*Stored, k Key, st Statistic) []float64 {
	var out []float64
	for _, r := range runs {
		v := r.Times[k]
		n := min(mostBatches, len(v)/fewestInBatch)
		if n < fewestBatches || st == P99 {
			continue
		}
		for i := range n {
			part := v[i*len(v)/n : (i+1)*len(v)/n]
			if st == P50 {
				out = append(out, medianOf(part))
				continue
			}
			var sum float64
			for _, x := range part {
				sum += float64(x)
			}
			out = append(out, sum/float64(len(part)))
		}
	}
	return out
}

// forPeople is how a value of the unit is shown.
func (d Difference) forPeople() (string, func(float64) string) {
	unit, show := d.Unit.forPeople()
	if d.Unit == Percent { // latency.csv has per cent, not hundredths
		return unit, func(v float64) string { return show(v * 100) }
	}
	return unit, show
}

// CompareTable shows two sets of runs side by side.
func CompareTable(differences []Difference) string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "phase\tmetric\tunit\tstatistic\tA\tB\tB-A\tper cent\t95 % interval\tbasis\tdifferent\t")
	within := false
	for _, d := range differences {
		unit, show := d.forPeople()
		interval, basis, verdict := "-", "-", "-"
		if d.Basis != "" {
			interval = signed(show(d.Low)) + " to " + signed(show(d.High))
			basis = fmt.Sprintf("%d, %d %s", d.NA, d.NB, d.Basis)
			verdict = "no"
			if d.Seen() {
				verdict = "yes"
			}
			within = within || d.Basis == WithinRuns
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", d.Phase, d.Metric, unit, d.Statistic,
			show(d.A), show(d.B), signed(show(d.B-d.A)), percentOf(d.B-d.A, d.A), interval, basis, verdict)
	}
	// Writing into a string cannot fail.
	_ = out.Flush()
	if within {
		b.WriteString("\nIntervals between batches cover what varies within a run, not from run to run: compare folders of several runs.\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// CompareHeader names the columns of WriteComparison.
var CompareHeader = []string{"phase", "metric", "unit", "statistic", "a", "b", "difference", "low95", "high95", "basis", "n_a", "n_b"}

// WriteComparison writes a row for each difference, in nanoseconds or per cent.
func WriteComparison(w io.Writer, differences []Difference) error {
	out := csv.NewWriter(w)
	rows := [][]string{CompareHeader}
	for _, d := range differences {
		one := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
		low, high := "", ""
		if d.Basis != "" {
			low, high = one(d.Low), one(d.High)
		}
		rows = append(rows, []string{
			d.Phase, string(d.Metric), string(d.Unit), string(d.Statistic), one(d.A), one(d.B), one(d.B - d.A), low, high,
			string(d.Basis), strconv.Itoa(d.NA), strconv.Itoa(d.NB),
		})
	}
	return out.WriteAll(rows)
}

// Remarks says what makes two sets hard to compare: phases that are not valid,
// and runs of different machines or sizes.
func Remarks(a, b []*Stored) []string {
	var out []string
	for _, r := range slices.Concat(a, b) {
		if r.Meta.Simulated {
			out = append(out, fmt.Sprintf("%s: %s", r.Meta.RunID, simulatedText))
		}
		for _, p := range r.Meta.Phases {
			if !p.Valid {
				out = append(out, fmt.Sprintf("%s: phase %s is not valid: %s", r.Meta.RunID, p.Phase, strings.Join(append(p.Problems, p.Unavailable), "; ")))
			}
		}
		if r.Meta.Interrupted {
			out = append(out, fmt.Sprintf("%s ended early", r.Meta.RunID))
		}
	}
	first := a[0].Meta
	for _, r := range slices.Concat(a[1:], b) {
		m := r.Meta
		if m.Host.CPU != first.Host.CPU || m.Host.Cores != first.Host.Cores || m.Host.Kernel != first.Host.Kernel {
			out = append(out, fmt.Sprintf("%s and %s ran on different machines or kernels", first.RunID, m.RunID))
		}
		if m.Host.GPUUUID != first.Host.GPUUUID || m.Simulated != first.Simulated {
			out = append(out, fmt.Sprintf("%s and %s used different GPUs, or one of them none", first.RunID, m.RunID))
		}
		if m.Geometry != first.Geometry || m.IntervalNS != first.IntervalNS {
			out = append(out, fmt.Sprintf("%s and %s measured different sizes or rates", first.RunID, m.RunID))
		}
	}
	return out
}
