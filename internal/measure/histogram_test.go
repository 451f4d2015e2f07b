// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
	}
}

func uniform(n int) *measure.Histogram {
	h := measure.NewHistogram()
	for i := 1; i <= n; i++ {
		h.Record(int64(i) * 1000)
	}
	return h
}

func TestHistogramPercentiles(t *testing.T) {
	d := uniform(10_000).Distribution()
	for name, tc := range map[string]struct{ got, want int64 }{
		"p50": {d.P50, 5_000_000}, "p90": {d.P90, 9_000_000}, "p99": {d.P99, 9_900_000}, "p99.9": {d.P999, 9_990_000},
	} {
		if diff := math.Abs(float64(tc.got-tc.want)) / float64(tc.want); diff > 1e-3 {
			t.Errorf("%s: got %d, want %d within three digits", name, tc.got, tc.want)
		}
	}
	if d.Count != 10_000 || d.Min != 1000 || d.Max != 10_000_000 || d.Mean != 5_000_500 {
		t.Errorf("exact part: %+v", d)
	}
	if want := 1000 * math.Sqrt((1e8-1)/12); math.Abs(d.StdDev-want) > 1 {
		t.Errorf("stddev: got %f, want %f", d.StdDev, want)
	}
}

func TestHistogramFewSamplesHaveNoP999(t *testing.T) {
	if d := uniform(9_999).Distribution(); d.P999 != 0 || d.P99 == 0 {
		t.Errorf("got %+v", d)
	}
	if d := measure.NewHistogram().Distribution(); d != (measure.Distribution{}) {
		t.Errorf("empty: got %+v", d)
	}
}

func TestHistogramOutOfRange(t *testing.T) {
	h := measure.NewHistogram()
	h.Record(-5)
	h.Record(200e9)
	d := h.Distribution()
	if d.Count != 2 || d.Min != 0 || d.Max != 200e9 {
		t.Errorf("got %+v", d)
	}
	if d.P99 < 99e9 || d.P99 > 101e9 {
		t.Errorf("p99 %d: must be the end of the range, 100 s", d.P99)
	}
}

func TestPercentileNeverAboveMax(t *testing.T) {
	h := measure.NewHistogram()
	h.Record(1_234_567)
	if d := h.Distribution(); d.P50 != 1_234_567 || d.P99 != 1_234_567 {
		t.Errorf("got %+v", d)
	}
}

func TestNothingAllocatesPerFrame(t *testing.T) {
	h, run := measure.NewHistogram(), measure.Running{}
	r, b, d := measure.NewRate(64), measure.NewBandwidth(64), measure.NewDelay(64)
	now := int64(1)
	step := func() {
		now += 1000
		h.Record(now)
		run.Add(now)
		r.Add(now)
		r.Report()
		b.Add(now, 3)
		d.Add(now, 3)
	}
	for range 200 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
}

func TestLatencyCSV(t *testing.T) {
	var out bytes.Buffer
	err := measure.WriteLatencyCSV(&out, []measure.LatencyRow{
		{RunID: "r1", Phase: "steady", Metric: "ready_to_held", Dist: uniform(10_000).Distribution(), Dropped: 3},
		{RunID: "r1", Phase: "a, b", Metric: "period", Dist: uniform(100).Distribution()},
		{RunID: "r1", Phase: "none", Metric: "capture_to_held"},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "latency.csv", out.Bytes())
}
