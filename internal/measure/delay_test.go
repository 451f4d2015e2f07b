// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"testing"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

// The texts were computed with the formulas and format strings of
// ros2topic/verb/delay.py in Python.
func TestDelayText(t *testing.T) {
	for name, tc := range map[string]struct {
		delays []int64 // after the first, uncounted one
		want   string
	}{
		"nothing counted": {nil, ""},
		"three": {
			[]int64{12_345_678, 9_876_543, 15_000_001},
			"average delay: 0.012\n\tmin: 0.010s max: 0.015s std dev: 0.00209s window: 3",
		},
		"stamps of the future": {
			[]int64{-1_000_000, 3_000_000},
			"average delay: 0.001\n\tmin: -0.001s max: 0.003s std dev: 0.00200s window: 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := measure.NewDelay(measure.DefaultDelayWindow)
			d.Add(1e9, 999)
			for i, v := range tc.delays {
				d.Add(2e9+int64(i), v)
			}
			if got := d.Text(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			idle := measure.NoNewMessages
			if tc.want == "" {
				idle = ""
			}
			if got := d.Text(); got != idle {
				t.Errorf("when idle: got %q, want %q", got, idle)
			}
			if got := d.Final(); got != "" {
				t.Errorf("at the end, nothing new: got %q", got)
			}
		})
	}
}
