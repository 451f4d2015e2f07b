// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"

	machine "github.com/seed-3c7e7623/camd/internal/bench"
)

// ticks is the first line of /proc/stat (proc(5)), in USER_HZ.
type ticks struct {
	all    uint64
	stolen uint64 // the hypervisor ran something else
}

func readTicks() ticks { return parseTicks(machine.FirstLine("/proc/stat")) }

func parseTicks(line string) ticks {
	const steal = 8 // field, after the word cpu: user nice system idle iowait irq softirq steal
	var t ticks
	for i, field := range strings.Fields(line) {
		if i == 0 || i > steal { // guest times are in user time already
			continue
		}
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return ticks{}
		}
		t.all += n
		if i == steal {
			t.stolen = n
		}
	}
	return t
}

func (t ticks) stolenSince(before ticks) float64 {
	if t.all <= before.all || t.stolen < before.stolen {
		return 0
	}
	return float64(t.stolen-before.stolen) / float64(t.all-before.all)
}
