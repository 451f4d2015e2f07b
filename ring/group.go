// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// wakeBytes is the size of a group's wake-up memory: a u32 at offset 0 that
// counts wake-ups, the futex.
const (
	wakeCount = 0
	wakeBytes = 64
)

// group is readers that trust each other, which share one futex: one system
// call wakes them all. Whoever can map a futex, even for reading, can also take
// its wake-ups away or queue up on it by the thousand (futex(2), requeue), so
// readers of different users never share one.
type group struct {
	key     int
	memory  *linux.Memory
	readers int
	flagged int // 1 + index in Ring.wakeGroups while a wake-up is put together, else 0
}

func (g *group) counter() *atomic.Uint32 { return area(g.memory.Data).u32(wakeCount) }

// join finds or makes the group. mu is held.
func (r *Ring) join(key int) (*group, error) {
	for _, g := range r.groups {
		if g.key == key {
			g.readers++
			return g, nil
		}
	}
	m, err := linux.NewMemory("camd-ring-wake", linux.PageRound(wakeBytes), true)
	if err != nil {
		return nil, err
	}
	g := &group{key: key, memory: m, readers: 1}
	r.groups = append(r.groups, g)
	return g, nil
}

// leave ends one reader's part in its group. mu and wakeMu are held.
func (r *Ring) leave(g *group) {
	if g.readers--; g.readers > 0 {
		return
	}
	_ = g.memory.Close()
	for i := range r.groups {
		if r.groups[i] == g {
			r.groups = append(r.groups[:i], r.groups[i+1:]...)
			return
		}
	}
}
