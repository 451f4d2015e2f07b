// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"math"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

func TestRunning(t *testing.T) {
	for name, tc := range map[string]struct {
		values []int64
		want   measure.Spread
	}{
		"empty":         {nil, measure.Spread{}},
		"one":           {[]int64{-4}, measure.Spread{Count: 1, Min: -4, Mean: -4, Max: -4}},
		"population":    {[]int64{2, 4, 4, 4, 5, 5, 7, 9}, measure.Spread{Count: 8, Min: 2, Mean: 5, Max: 9, StdDev: 2}},
		"large offsets": {[]int64{1e15 + 1, 1e15 + 3}, measure.Spread{Count: 2, Min: 1e15 + 1, Mean: 1e15 + 2, Max: 1e15 + 3, StdDev: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var r measure.Running
			for _, v := range tc.values {
				r.Add(v)
			}
			got := r.Spread()
			if math.Abs(got.StdDev-tc.want.StdDev) > 1e-9 {
				t.Errorf("stddev: got %v, want %v", got.StdDev, tc.want.StdDev)
			}
			got.StdDev = tc.want.StdDev
			if got != tc.want || r.Count() != tc.want.Count {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
