// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/bench"
	"github.com/seed-3c7e7623/camd/internal/measure"
)

func TestMedians(t *testing.T) {
	st := &store{meta: meta{RunID: "run", Options: Options{Peers: []string{"b", "a", "none"}, Sizes: []int{8}, Repeats: 4}}}
	for i, p50 := range []int64{4000, 1000, 3000, 8000} {
		st.cells = append(st.cells, &measured{
			cell: cell{"a", 8, i + 1}, Received: 10, Dropped: uint64(i),
			Rows: []bench.Row{
				{Metric: bench.ReadyToUsable, Unit: bench.Nanoseconds, Dist: measure.Distribution{Count: 10, P50: p50, P90: p50 + 1, P99: p50 + 2}, Dropped: uint64(i)},
				{Metric: bench.SubscriberCPU, Unit: bench.Percent, Dist: measure.Distribution{Count: 1, P50: p50, P90: p50, P99: p50}},
			},
		})
	}
	st.cells = append(st.cells,
		&measured{cell: cell{"b", 8, 1}, Failed: "no memory"},
		&measured{cell: cell{"b", 8, 2}, Received: 10, Rows: []bench.Row{{Metric: bench.ReadyToUsable, Unit: bench.Nanoseconds, Dist: measure.Distribution{Count: 10, P50: 12_345_678}}}})
	all := st.medians()
	var text strings.Builder
	if err := writeMedians(&text, "run", all); err != nil {
		t.Fatal(err)
	}
	want := strings.Join(mediansHeader, ",") + `
run,b,8,ready_to_usable,ns,1,10,0,12345678,12345678,12345678,0,0,0,0,0,0
run,a,8,ready_to_usable,ns,4,40,6,3500,1000,8000,3501,1001,8001,3502,1002,8002
run,a,8,subscriber_cpu,percent,4,40,0,35.00,10.00,80.00,35.00,10.00,80.00,35.00,10.00,80.00
`
	if text.String() != want {
		t.Errorf("medians.csv:\n%s\nwant:\n%s", text.String(), want)
	}
	got := table(st.meta.Options, all, bench.ReadyToUsable, "title", func(m median) spread { return m.P50 })
	want = "title\npeer  8 B\nb     12346 (12346–12346)\na     3.50 (1.00–8.00)\nnone  -\n"
	if got != want {
		t.Errorf("table:\n%s\nwant:\n%s", got, want)
	}
}
