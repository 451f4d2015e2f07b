// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// The metrics of latency, in the order of output.
const (
	readyToHeld = iota
	publishToHeld
	captureToHeld
	period
)

var latencyMetrics = [...]string{
	readyToHeld:   "ready_to_held",
	publishToHeld: "publish_to_held",
	captureToHeld: "capture_to_held",
	period:        "period",
}

// latencyMeter collects how long frames take from stations of their way into
// the program's hand.
type latencyMeter struct {
	format       string
	runID, phase string
	times        [len(latencyMetrics)]*measure.Histogram
	last         int64 // when the previous frame was in hand, 0 = there is none
}

func newLatencyMeter(format, runID, phase string) *latencyMeter {
	l := &latencyMeter{format: format, runID: runID, phase: phase}
	for i := range l.times {
		l.times[i] = measure.NewHistogram()
	}
	return l
}

func (l *latencyMeter) frame(f heldFrame) (bool, error) {
	meta, held := f.Meta(), f.HeldNanos()
	l.since(readyToHeld, meta.ReadyNanos, held)
	l.since(publishToHeld, meta.PublishNanos, held)
	l.since(captureToHeld, meta.CaptureNanos, held)
	l.since(period, l.last, held)
	l.last = held
	return true, nil
}

// since records held-from; a stamp of 0 is not known.
func (l *latencyMeter) since(metric int, from, held int64) {
	if from != 0 {
		l.times[metric].Record(held - from)
	}
}

func (l *latencyMeter) idle() (string, error) { return "", nil }
func (l *latencyMeter) tick(int64) string     { return "" }

// latencyResult is the JSON summary of latency. Times are in nanoseconds.
type latencyResult struct {
	measurement
	RunID   string                          `json:"run_id"`
	Phase   string                          `json:"phase"`
	Skipped uint64                          `json:"skipped"` // ready before the subscription began
	Metrics map[string]measure.Distribution `json:"metrics_ns"`
}

func (l *latencyMeter) end(s summary) (string, error) {
	switch l.format {
	case "json":
		r := latencyResult{
			measurement: s.head("latency"), RunID: l.runID, Phase: l.phase, Skipped: s.skipped,
			Metrics: make(map[string]measure.Distribution, len(l.times)),
		}
		for i, h := range l.times {
			r.Metrics[latencyMetrics[i]] = h.Distribution()
		}
		return jsonText(r)
	case "csv":
		rows := make([]measure.LatencyRow, 0, len(l.times))
		for i, h := range l.times {
			rows = append(rows, measure.LatencyRow{
				RunID: l.runID, Phase: l.phase, Metric: latencyMetrics[i], Dist: h.Distribution(), Dropped: s.stats.Missed,
			})
		}
		var b strings.Builder
		err := measure.WriteLatencyCSV(&b, rows)
		return strings.TrimSuffix(b.String(), "\n"), err
	}
	return l.table(s), nil
}

// table shows microseconds.
func (l *latencyMeter) table(s summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "latency of %s by %s", s.stream, s.path.Backend)
	if over := s.path.Over(s.stream); over != "" {
		fmt.Fprintf(&b, " (%s)", over)
	}
	fmt.Fprintf(&b, ", %d frames, %d missed, times in µs\n", max(l.times[readyToHeld].Count(), l.times[publishToHeld].Count()), s.stats.Missed)
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "\tcount\tmin\tmean\tstddev\tp50\tp90\tp99\tp99.9\tmax\t")
	micro := func(nanos float64) string { return strconv.FormatFloat(nanos/1000, 'f', 1, 64) }
	for i, h := range l.times {
		d := h.Distribution()
		p999 := "-"
		if d.P999 != 0 {
			p999 = micro(float64(d.P999))
		}
		if d.Count == 0 {
			fmt.Fprintf(out, "%s\t0%s\t\n", latencyMetrics[i], strings.Repeat("\t-", 8))
			continue
		}
		fmt.Fprintf(out, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n",
			latencyMetrics[i], d.Count, micro(float64(d.Min)), micro(d.Mean), micro(d.StdDev),
			micro(float64(d.P50)), micro(float64(d.P90)), micro(float64(d.P99)), p999, micro(float64(d.Max)))
	}
	// Writing into a string cannot fail.
	_ = out.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

func newLatency(w world) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latency STREAM",
		Short: "Measure how long frames take into this process's hand",
		Long: `Measure, for every frame, the time from ready (complete in shared memory),
from publish (hand-over began) and from capture until this process held it, and
the period between frames. One table at the end; --format csv prints tidy rows
in nanoseconds. p99.9 needs 10,000 frames. Frames that were ready before the
subscription began do not count.

Of frames that come by cpu (ROS 2 topics), publish is the time that the
publisher wrote beside the message, and capture that in its header, both by the
publisher's clock: across hosts these rows mean nothing unless the clocks are
synchronised, nor when a clock was set meanwhile. Ready is not known.`,
		Example: "  camsub latency test/color --count 300 --format csv",
		Args:    OneArg("stream", streamExample),
	}
	flags := addMeasureFlags(cmd)
	flags.complete(w, cmd)
	format := formatFlag(cmd, "text", "json", "csv")
	runID := cmd.Flags().String("run-id", "", "first column of the CSV (default: the time, UTC)")
	phase := cmd.Flags().String("phase", "steady", "second column of the CSV")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id := *runID
		if id == "" {
			id = time.Unix(0, w.realtime()).UTC().Format("20060102T150405Z")
		}
		m := newLatencyMeter(format.value, id, *phase)
		r, err := flags.runner(w, cmd, args[0], m)
		if err != nil {
			return err
		}
		r.fresh, r.ages = true, true
		r.skip = func() { m.last = 0 } // a period goes from one frame to the next
		return r.run(cmd.Context())
	}
	return cmd
}
