// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestStudentT holds quantiles against those of published tables.
func TestStudentT(t *testing.T) {
	for df, want := range map[float64]float64{
		1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 7: 2.365, 10: 2.228, 19: 2.093, 30: 2.042, 40: 2.021, 60: 2.000, 120: 1.980, 1e7: 1.960,
	} {
		if got := studentT(df); math.Abs(got-want) > 0.0006 {
			t.Errorf("%v degrees of freedom: %.4f, want %.3f", df, got, want)
		}
	}
	if x := studentT(1.5); x >= studentT(1) || x <= studentT(2) {
		t.Errorf("%.4f is not between the neighbours", x)
	}
}

// TestWelch holds the interval of the example of the R manual's t.test on the
// sleep data (extra ~ group): -3.365 to 0.205, with 17.8 degrees of freedom.
func TestWelch(t *testing.T) {
	a := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	b := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	half, ok := welch(a, b)
	if d := average(a) - average(b); !ok || math.Abs(d-half+3.3654832) > 0.001 || math.Abs(d+half-0.2054832) > 0.001 {
		t.Errorf("%.4f ± %.4f", d, half)
	}
	if _, ok := welch([]float64{1}, b); ok {
		t.Error("an interval from one value")
	}
	if half, ok := welch([]float64{1, 1}, []float64{2, 2}); !ok || half != 0 {
		t.Errorf("values that do not vary: ± %v", half)
	}
}

// TestIntervalsCoverTheTruth counts how often intervals between batches hold the
// true difference of series that are drawn anew.
func TestIntervalsCoverTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	k := Key{"shm", ReadyToUsable}
	draw := func(mean float64) []*Stored {
		s := &Stored{Rows: map[Key]StoredRow{}, Times: map[Key][]int64{}}
		var sum float64
		for range 1000 {
			v := mean + random.ExpFloat64()*10_000
			sum += v
			s.Times[k] = append(s.Times[k], int64(v))
		}
		s.Rows[k] = StoredRow{Unit: Nanoseconds, Count: 1000, Mean: sum / 1000, P50: medianOf(s.Times[k])}
		s.Meta.Phases = []PhaseMeta{{Phase: "shm"}}
		return []*Stored{s}
	}
	const rounds = 200
	held := map[Statistic]int{}
	for range rounds {
		for _, d := range Compare(draw(50_000), draw(53_000)) {
			if d.Basis == WithinRuns && d.Low <= 3000 && 3000 <= d.High {
				held[d.Statistic]++
			}
		}
	}
	for _, st := range []Statistic{Mean, P50} {
		if share := float64(held[st]) / rounds; share < 0.90 || share > 0.99 {
			t.Errorf("%s: %.3f of the intervals of 95 %% hold the difference", st, share)
		}
	}
}
