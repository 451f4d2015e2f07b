// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// watched is a proxy that sees what both sides agree on, and their keep-alives.
type watched struct {
	*proxy
	mu               sync.Mutex
	ours, theirs     wire.Open
	fromUs, fromNode atomic.Uint64 // keep-alives
}

func watch(t testing.TB, endpoint string) *watched {
	w := &watched{proxy: newProxy(t, strings.TrimPrefix(endpoint, "tcp/"))}
	f := func(_ *rand.Rand, b []byte, toUs bool, i int) []byte {
		r := wire.NewReader(b[2:])
		h, _ := r.Peek()
		open, alive := &w.ours, &w.fromUs
		if toUs {
			open, alive = &w.theirs, &w.fromNode
		}
		switch wire.ID(h) {
		case wire.IDOpen:
			w.mu.Lock()
			defer w.mu.Unlock()
			if err := open.Decode(r); err != nil {
				t.Error(err)
			}
		case wire.IDKeepAlive:
			alive.Add(1)
		}
		return b
	}
	w.change.Store(&f)
	return w
}

// ROS 2 has a lease of a minute and two keep-alives in it: both sides say so
// and take it.
func TestROSLease(t *testing.T) {
	const tx = "transport: {link: {tx: {lease: 60000, keep_alive: 2}}}"
	each(t, func(t *testing.T, n *node, e string) {
		w := watch(t, e)
		c := config.New()
		if err := c.Load("session.json5", fmt.Appendf(nil, "{mode: 'client', connect: {endpoints: [%q]}, %s}", w.endpoint(), tx)); err != nil {
			t.Fatal(err)
		}
		s := open(t, c)
		w.mu.Lock()
		if w.ours.LeaseMillis != 60_000 || w.theirs.LeaseMillis != 60_000 {
			t.Errorf("leases of %d and %d ms were said", w.ours.LeaseMillis, w.theirs.LeaseMillis)
		}
		w.mu.Unlock()
		if i := s.Info(); i.Lease != time.Minute {
			t.Errorf("the node's lease is taken for %v", i.Lease)
		}
		exchange(t, n, s)
	}, tx)
}

// Keep-alives follow lease and keep_alive, and a connection without any traffic
// is kept by them.
func TestKeepAlives(t *testing.T) {
	t.Parallel()
	type pair struct {
		version    string
		slow, fast *watched
	}
	var pairs []pair
	for _, v := range versions {
		_, e := router(t, v, "transport: {link: {tx: {lease: 1600, keep_alive: 4}}}")
		p := pair{v, watch(t, e), watch(t, e)}
		for w, times := range map[*watched]int{p.slow: 2, p.fast: 8} {
			c := config.Client(w.endpoint())
			c.Transport.Lease, c.Transport.KeepAlive = 1600*time.Millisecond, times
			s := open(t, c)
			defer func() {
				if i := s.Info(); i.Losses != 0 {
					t.Errorf("%s with %d keep-alives: the connection was lost: %v", v, times, i.LastErr)
				}
			}()
		}
		pairs = append(pairs, p)
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := ctx(t)
	for _, p := range pairs {
		us, node := &p.slow.fromUs, &p.slow.fromNode
		for ; us.Load() < 4 || node.Load() < 5; <-look.C { // more than a lease
			if limit.Err() != nil {
				t.Fatalf("%s: %d keep-alives of ours and %d of the node", p.version, us.Load(), node.Load())
			}
		}
		// The node sends four in the same lease, ours must not lag behind.
		if node, us := node.Load(), us.Load(); node > 3*us {
			t.Errorf("%s: %d keep-alives while the node sent %d, which sends twice as many", p.version, us, node)
		}
		if s, f := us.Load(), p.fast.fromUs.Load(); f < 2*s {
			t.Errorf("%s: %d keep-alives where two a lease are sent, %d where eight are", p.version, s, f)
		}
	}
}
