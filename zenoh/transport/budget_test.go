// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"runtime"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
)

// Messages that begin on many connections and do not end share what there is
// for all of them: the last get nothing, and once the others have ended they do.
func TestBudget(t *testing.T) {
	b := &Budget{}
	b.SetLimit(firstBuffer / 2)
	var all []*pair
	const n = shares + 8
	for range n {
		all = append(all, connect(t, func(p *Params, _ *fakenode.Listener) { p.MaxMessage, p.Budget = 1<<30, b }))
	}
	wait := func(what string, done func() bool) {
		for c := ctx(t); !done(); runtime.Gosched() {
			if c.Err() != nil {
				t.Fatalf("never: %s", what)
			}
		}
	}
	m := push("a", make([]byte, 1000)).Append(nil)
	for _, x := range all {
		if err := x.node.Send(x.node.Fragment(true, true, m[:100])); err != nil {
			t.Fatal(err)
		}
	}
	lost := func() (n uint64) {
		for _, x := range all {
			n += x.t.Stats().Incomplete
		}
		return n
	}
	wait("eight find no room", func() bool { return lost() == n-shares })
	if b.Used() != shares*firstBuffer/2 {
		t.Errorf("%d bytes are in use", b.Used())
	}
	for _, x := range all {
		if err := x.node.Send(x.node.Fragment(false, false, m[100:])); err != nil {
			t.Fatal(err)
		}
	}
	wait("all is given back", func() bool { return b.Used() == 0 })
}
