// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/alone"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// A ring has room for all subscribers that may come, if its bound has, and for
// one in any case.
func TestBoundOfARing(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	const frameBytes = 64 * 80 // two pages
	for _, c := range []struct {
		bound   int64
		readers int
	}{
		{0, 8},
		{27 * 8192, 8},
		{27*8192 - 1, 7},
		{9 * 8192, 2},
		{1, 1},
	} {
		rg := newRig(t, sim.Options{}, Options{RingBytes: c.bound})
		rg.rings.Readers = 8
		host := rg.newRing(frame.Mono8)
		if host.Geometry().Size() != frameBytes {
			t.Fatalf("frames of %d bytes", host.Geometry().Size())
		}
		if n := rg.readers(host); n != c.readers {
			t.Errorf("%d bytes: room for %d, want %d", c.bound, n, c.readers)
		}
		if c.readers > 2 {
			continue
		}
		var peers []*peer
		for range c.readers {
			peers = append(peers, rg.join(hello()))
		}
		if s := rg.Status(); s.Slots != ring.SlotsFor(1, c.readers, 2) {
			t.Errorf("%d bytes: %+v", c.bound, s)
		}
		rg.call(hello()).declined(negotiate.ReasonRingFull)
		for _, p := range peers {
			p.leave()
		}
		rg.gone()
	}
}
