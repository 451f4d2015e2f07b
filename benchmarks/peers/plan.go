// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
)

// cell is one combination of what is varied: a publisher and a subscriber of
// their own.
type cell struct {
	Peer   string `json:"peer"`
	Size   int    `json:"payload_bytes"`
	Repeat int    `json:"repeat"` // from 1 on
}

// name is the phase in the files.
func (c cell) name() string { return fmt.Sprintf("%s/%d/%d", c.Peer, c.Size, c.Repeat) }

// plan is every cell, in the order in which they run: repeat by repeat, and
// within a repeat at random. It depends on the options alone.
func (o Options) plan() []cell {
	random := rand.New(rand.NewPCG(o.Seed, 1))
	var out []cell
	for repeat := 1; repeat <= o.Repeats; repeat++ {
		first := len(out)
		for _, size := range o.Sizes {
			for _, p := range o.Peers {
				out = append(out, cell{p, size, repeat})
			}
		}
		part := out[first:]
		random.Shuffle(len(part), func(i, k int) { part[i], part[k] = part[k], part[i] })
	}
	return out
}
