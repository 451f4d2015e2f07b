// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// fewFrames in a block make its p99 the slowest frame or two.
const fewFrames = 100

// printTables prints the run for people. Times are in microseconds.
func printTables(out io.Writer, o Options, r *results, m *meta) error {
	r.sort()
	fmt.Fprintf(out, "kernel %s, %s, %d cores, %s; load %s; stolen %.1f %%; seed %d\n",
		m.Kernel, m.CPU, m.Cores, m.Go, m.LoadBefore, 100*m.StolenShare, o.Seed)
	if m.Interrupted {
		fmt.Fprintln(out, "stopped early: this is what was measured by then")
	}
	for _, wake := range o.Wakes {
		var single, pairs, fan []*cellResult
		for _, c := range r.cells {
			switch {
			case c.Wake != wake:
			case c.Phase == phaseFanout:
				fan = append(fan, c)
			default:
				single = append(single, c)
				if c.Rate == 0 {
					pairs = append(pairs, c)
				}
			}
		}
		if err := printLatency(out, string(wake), single); err != nil {
			return err
		}
		if err := printAllSizes(out, string(wake), o.Rates, single); err != nil {
			return err
		}
		if err := printThroughput(out, string(wake), pairs); err != nil {
			return err
		}
		if err := printFanout(out, string(wake), fan); err != nil {
			return err
		}
	}
	for _, s := range r.skipped {
		fmt.Fprintln(out, s)
	}
	return nil
}

func printLatency(out io.Writer, wake string, cells []*cellResult) error {
	if len(cells) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nready to held, %s, µs; ratio camd/floor: median over repeats (min-max); ~ = under %d frames a block\n", wake, fewFrames)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "payload\trate\tn\tcamd p50\tp90\tp99\tp99.9\tfloor p50\tp90\tp99\tp99.9\tratio p50\tratio p99\tdropped\t")
	for _, c := range cells {
		a, b := c.sums[sideCamd], c.sums[sideFloor]
		x, y := a.Times[metricHeld], b.Times[metricHeld]
		mark := ""
		if int(x.Count) < fewFrames*a.blocks {
			mark = "~"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s%s\t%d\t\n", sizeText(c.Size), rateText(c.Rate), x.Count,
			percentiles(x), percentiles(y), c.ratioText(string(metricHeld)+"_p50"), mark, c.ratioText(string(metricHeld)+"_p99"), a.Dropped)
	}
	return w.Flush()
}

// printAllSizes takes all payloads together: between ready and held nobody
// reads the pixels, so that they are further repeats of one measurement.
func printAllSizes(out io.Writer, wake string, rates []float64, cells []*cellResult) error {
	if len(cells) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nratio camd/floor, %s, all payloads together: median (quartiles) of pairs of blocks\n", wake)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "rate\tpairs\tready to held p50\tp90\twriter CPU\treader CPU\t")
	for _, rate := range rates {
		same := slices.DeleteFunc(slices.Clone(cells), func(c *cellResult) bool { return c.Rate != rate })
		all := ratiosOf(same)
		if len(all) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t", rateText(rate), all[0].Repeats)
		for _, name := range []string{string(metricHeld) + "_p50", string(metricHeld) + "_p90", "writer_cpu_per_frame", "reader_cpu_per_frame"} {
			r, _ := pick(all, name)
			fmt.Fprintf(w, "%.2f (%.2f-%.2f)\t", r.Median, r.Lower, r.Upper)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func percentiles(d measure.Distribution) string {
	p999 := "-"
	if d.P999 > 0 {
		p999 = micros(d.P999)
	}
	return micros(d.P50) + "\t" + micros(d.P90) + "\t" + micros(d.P99) + "\t" + p999
}

func micros(nanos int64) string { return strconv.FormatFloat(float64(nanos)/1e3, 'f', 1, 64) }

func (c *cellResult) ratioText(name string) string {
	r, ok := c.ratio(name)
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f-%.2f)", r.Median, r.Min, r.Max)
}

func printThroughput(out io.Writer, wake string, cells []*cellResult) error {
	if len(cells) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nback to back, %s; CPU is user and system time of the process, µs per frame, filling included\n", wake)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "payload\tcamd frames/s\tfloor\tratio\tcamd writer CPU\tfloor\tratio\tcamd reader CPU\tfloor\tratio\twakes/frame\t")
	for _, c := range cells {
		a, b := c.sums[sideCamd], c.sums[sideFloor]
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%s\t%.1f\t%.1f\t%s\t%.1f\t%.1f\t%s\t%.2f\t\n", sizeText(c.Size),
			a.perSecond(), b.perSecond(), c.ratioText("frames_per_second"),
			a.writerCPUPerFrame()/1e3, b.writerCPUPerFrame()/1e3, c.ratioText("writer_cpu_per_frame"),
			a.readerCPUPerFrame()/1e3, b.readerCPUPerFrame()/1e3, c.ratioText("reader_cpu_per_frame"),
			float64(a.FutexWakes+a.PipeWakes)/float64(a.Published))
	}
	return w.Flush()
}

func printFanout(out io.Writer, wake string, cells []*cellResult) error {
	if len(cells) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nfan-out, %s, %s at %s, µs: first and last reader of each frame\n", wake, sizeText(fanoutSize), rateText(fanoutRate))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "readers\tside\tframes\tfirst p50\tp99\tlast p50\tp99\tspread p50\tp99\tpublish p50\tp99\twakes/frame\tlast p50 camd/floor\t")
	for _, c := range cells {
		for _, s := range []side{sideCamd, sideFloor} {
			t := c.sums[s]
			first, last, spread := t.Times[metricFirst], t.Times[metricLast], t.Times[metricSpread]
			lastName := string(metricLast)
			if c.Readers == 1 {
				first, last, lastName = t.Times[metricHeld], t.Times[metricHeld], string(metricHeld)
			}
			publish := t.Times[metricPublish]
			wakes, ratio := "", ""
			if s == sideCamd {
				wakes = decimal(float64(t.FutexWakes+t.PipeWakes)/float64(t.Published), 2)
				ratio = c.ratioText(lastName + "_p50")
			}
			fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Readers, s, t.Published,
				micros(first.P50), micros(first.P99), micros(last.P50), micros(last.P99), micros(spread.P50), micros(spread.P99),
				micros(publish.P50), micros(publish.P99), wakes, ratio)
		}
	}
	return w.Flush()
}
