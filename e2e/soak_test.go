// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// TestSoakHostile runs every attack again and again on one daemon with one good
// reader: nothing may add up.
func TestSoakHostile(t *testing.T) {
	needSoak(t)
	const rounds = 20
	besideGoodReader(t, "test=pattern,160x120@60", func(t *testing.T, d *daemon) {
		base := settled(t, d.pid())
		attack := func(name string, f func(t *testing.T, d *daemon)) {
			t.Run(name, func(t *testing.T) { f(t, &daemon{process: d.process.of(t), dir: d.dir}) })
			back(t, "camd after "+name, d.pid(), base)
		}
		for round := range rounds {
			for _, a := range socketAttacks {
				attack(fmt.Sprintf("%s %d", a.name, round), a.attack)
			}
			for _, a := range memoryAttacks {
				attack(fmt.Sprintf("%s %d", a.name, round), func(t *testing.T, d *daemon) { a.attack(t, attach(t, d.dir, a.wake)) })
			}
		}
		if d.stream().Ring.Ended == 0 || d.status().Refused[string(negotiate.ReasonProtocol)] < rounds {
			t.Errorf("status counts %d evictions and %v refusals", d.stream().Ring.Ended, d.status().Refused)
		}
	})
}
