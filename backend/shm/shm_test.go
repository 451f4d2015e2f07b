// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package shm

import (
	"sync/atomic"
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// There is nothing to offer before the first ring and after the last.
func TestCandidate(t *testing.T) {
	g, err := frame.NewGeometry(frame.Mono8, 64, 64)
	if err != nil {
		t.Fatal(err)
	}
	var generation atomic.Uint64
	r, err := ring.New(ring.Config{Name: "test/color", Epoch: 1, Geometry: g, Slots: 4, MaxReaders: 1, Generation: &generation})
	if err != nil {
		t.Fatal(err)
	}
	b := new(Backend)
	for _, c := range []struct {
		ring *ring.Ring
		want negotiate.Reason
	}{{nil, negotiate.ReasonNotReady}, {r, ""}, {nil, negotiate.ReasonNotReady}} {
		b.SetRing(c.ring)
		if got := b.Candidate(); got.Reason != c.want || got.Backend != negotiate.BackendSHM {
			t.Errorf("candidate %+v, want reason %q", got, c.want)
		}
	}
	if _, err := r.Acquire(); err == nil {
		t.Error("the ring goes on after the stream ended")
	}
}
