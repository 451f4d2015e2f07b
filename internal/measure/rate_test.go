// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"testing"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// feedRate adds arrivals 34 ms and 33 ms apart and returns every report.
func feedRate(r *measure.Rate, intervals int) []string {
	var out []string
	now := int64(1e9)
	r.Add(now)
	for i := range intervals {
		now += 34_000_000 - int64(i%2)*1_000_000
		r.Add(now)
		if rep, ok := r.Report(); ok {
			out = append(out, rep.String())
		}
	}
	return out
}

// The texts were computed with the formulas and format strings of
// ros2topic/verb/hz.py in Python.
func TestRateText(t *testing.T) {
	for name, tc := range map[string]struct {
		window, intervals int
		want              []string
	}{
		"nothing in the first second": {measure.DefaultRateWindow, 30, nil},
		"at the first arrival a second after the first look": {
			measure.DefaultRateWindow, 31,
			[]string{"average rate: 29.836\n\tmin: 0.033s max: 0.034s std dev: 0.00050s window: 31"},
		},
		"window keeps the newest": {
			4, 31,
			[]string{"average rate: 29.851\n\tmin: 0.033s max: 0.034s std dev: 0.00050s window: 4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := feedRate(measure.NewRate(tc.window), tc.intervals)
			if len(got) != len(tc.want) {
				t.Fatalf("reports: got %q, want %q", got, tc.want)
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("report %d: got %q, want %q", i, got[i], tc.want[i])
				}
			}
		})
	}
}

func TestRateFinal(t *testing.T) {
	r := measure.NewRate(measure.DefaultRateWindow)
	if rep, ok := r.Final(); ok {
		t.Errorf("without an arrival: %q", rep)
	}
	r.Add(1e9)
	if rep, ok := r.Final(); ok {
		t.Errorf("with one arrival: %q", rep)
	}
	r.Add(1.5e9)
	rep, ok := r.Final()
	if want := "average rate: 2.000\n\tmin: 0.500s max: 0.500s std dev: 0.00000s window: 1"; !ok || rep.String() != want {
		t.Errorf("got %q, want %q", rep, want)
	}
	if rep, ok := r.Final(); ok {
		t.Errorf("nothing new, yet: %q", rep)
	}
}

func TestRateClockGoesBack(t *testing.T) {
	r := measure.NewRate(10)
	r.Add(5e9)
	r.Add(6e9)
	r.Add(1e9)
	if rep, ok := r.Final(); ok {
		t.Errorf("intervals survived: %q", rep)
	}
}

func TestRateSameInstant(t *testing.T) {
	r := measure.NewRate(10)
	r.Add(1e9)
	r.Add(1e9)
	rep, ok := r.Final()
	if want := "average rate: 0.000\n\tmin: 0.000s max: 0.000s std dev: 0.00000s window: 1"; !ok || rep.String() != want {
		t.Errorf("got %q, want %q", rep, want)
	}
}
