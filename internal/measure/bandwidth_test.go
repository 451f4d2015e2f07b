// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"testing"

	"github.com/seed-3c7e7623/camd/internal/measure"
)

func TestBandwidthText(t *testing.T) {
	const second = int64(1e9)
	for name, tc := range map[string]struct {
		window int
		sizes  []int // one a tenth of a second
		now    int64 // after the first arrival
		want   string
	}{
		"one message is not enough": {100, []int{5}, second, ""},
		"bytes":                     {100, []int{100, 101}, second, "201 B/s from 2 messages\n\tMessage size mean: 100 B min: 100 B max: 101 B"},
		"kilobytes":                 {100, []int{1000, 2000, 6000}, 2 * second, "4.50 KB/s from 3 messages\n\tMessage size mean: 3.00 KB min: 1.00 KB max: 6.00 KB"},
		"megabytes, small messages": {100, []int{900_000, 4_000, 900_000}, second, "1.80 MB/s from 3 messages\n\tMessage size mean: 0.60 MB min: 0.00 MB max: 0.90 MB"},
		"a thousand is kilobytes":   {100, []int{500, 500}, second, "1.00 KB/s from 2 messages\n\tMessage size mean: 0.50 KB min: 0.50 KB max: 0.50 KB"},
		"window": {
			2,
			[]int{9_000_000, 3_686_400, 3_686_400},
			second + second/10,
			"7.37 MB/s from 2 messages\n\tMessage size mean: 3.69 MB min: 3.69 MB max: 3.69 MB",
		},
		"clock stands": {100, []int{1, 1}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := measure.NewBandwidth(tc.window)
			start := 7 * second
			for i, n := range tc.sizes {
				b.Add(start+int64(i)*second/10, n)
			}
			rep, ok := b.Report(start + tc.now)
			if ok != (tc.want != "") || ok && rep.String() != tc.want {
				t.Errorf("got %v %q, want %q", ok, rep, tc.want)
			}
		})
	}
}

func TestBandwidthFinalOnlyWhenFresh(t *testing.T) {
	b := measure.NewBandwidth(10)
	b.Add(1e9, 10)
	b.Add(2e9, 10)
	if _, ok := b.Final(3e9); !ok {
		t.Error("two new messages gave no report")
	}
	if rep, ok := b.Final(4e9); ok {
		t.Errorf("nothing new, yet %q", rep)
	}
	if _, ok := b.Report(4e9); !ok {
		t.Error("the timer reports also when idle")
	}
}
