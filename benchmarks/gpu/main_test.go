// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestStamps(t *testing.T) {
	const head = "sequence,ready,publish,held,consumed\n"
	for _, tt := range []struct {
		name, lines string
		skip        int
		all         []int64
		missed      int
		bad         string
	}{
		{"none", "", 0, nil, 0, ""},
		{"gap", "1,10,20,30,40\n2,11,21,31,51\n5,12,22,32,62\n", 0, []int64{30, 40, 50}, 2, ""},
		{"first ones left out", "1,10,20,30,40\n9,11,21,31,51\n10,12,22,32,62\n", 1, []int64{40, 50}, 0, ""},
		{"held before it was published", "1,10,20,19,40\n", 0, nil, 0, "out of order"},
		{"cut off", "1,10,20\n", 0, nil, 0, "wrong number of fields"},
		{"no numbers", "1,10,20,x,40\n", 0, nil, 0, "invalid syntax"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, all, missed, err := stamps(head+tt.lines, tt.skip)
			if tt.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tt.bad) {
					t.Errorf("error %v, want %q", err, tt.bad)
				}
				return
			}
			if err != nil || !slices.Equal(all, tt.all) || missed != tt.missed {
				t.Errorf("%v, %d missed, error %v", all, missed, err)
			}
		})
	}
}

func TestReaderResults(t *testing.T) {
	for _, tt := range []struct {
		name, out string
		want      result
		ok        bool
	}{
		{"Go", `{"frames":30,"reconnects":1,"verify":{"frames":31,"torn":2,"stale":3}}`, result{30, 2, 3, 1}, true},
		{"C", "path cuda -\naverage rate: 30\nframes 30 missed 4 torn 2 stale 3 reconnects 1\n", result{30, 2, 3, 1}, true},
		{"nothing", "", result{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.out)
			if (err == nil) != tt.ok || tt.ok && got != tt.want {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
}

// No figure leaves the program that was not measured on a GPU.
func TestNoFiguresOfASimulation(t *testing.T) {
	values := []int64{3000, 1000, 2000}
	real, simulated := session{}, session{simulated: true}
	if got := real.spread(values); !slices.Equal(got, []string{"2000", "3000", "3000"}) {
		t.Errorf("%q", got)
	}
	if got := simulated.spread(values); !slices.Equal(got, []string{"", "", ""}) || micros(got[0]) != "-" {
		t.Errorf("%q", got)
	}
}
