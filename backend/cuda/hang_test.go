// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/alone"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// late wants a subscriber sent on, and status to name the call that hangs.
func (rg *rig) late(call string) {
	rg.t.Helper()
	if d := rg.call(hello()).declined(negotiate.ReasonGPUTimeout); !strings.Contains(d.Detail, call) {
		rg.t.Errorf("detail %q, want %s in it", d.Detail, call)
	}
	until(rg.t, "status says so", func() bool {
		s := rg.engine.Status()
		return s.Reason == negotiate.ReasonGPUTimeout && strings.Contains(s.Detail, call)
	})
	if d := rg.call(hello()).declined(negotiate.ReasonGPUTimeout); !strings.Contains(d.Detail, call) {
		rg.t.Errorf("detail for the next one %q, want %s in it", d.Detail, call)
	}
}

// served wants frames to come on the GPU again.
func (rg *rig) served() {
	rg.t.Helper()
	until(rg.t, "the GPU can be had", func() bool { return rg.Candidate().Reason == "" })
	p := rg.join(hello())
	rg.publish()
	p.check(p.take())
	p.leave()
	rg.gone()
}

// A driver that takes long to open keeps nobody: subscribers are sent on, and
// served once it has come up.
func TestSlowToOpen(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{Fail: "cuDeviceGetCount:1:-60"}, Options{})
	rg.newRing(frame.Mono8)
	if !rg.engine.On() {
		t.Error("no room is kept for a GPU that may come up")
	}
	rg.late("cuDeviceGetCount")
	sim.Inject(t, rg.dir, "")
	rg.served()
}

// A set-up that takes long is there for the next subscriber.
func TestSlowSetUp(t *testing.T) {
	for _, call := range []string{"cuDevicePrimaryCtxRetain", "cuMemExportToShareableHandle"} {
		t.Run(call, func(t *testing.T) {
			if !alone.Run(t) {
				return
			}
			rg := newRig(t, sim.Options{}, Options{})
			rg.newRing(frame.Mono8)
			sim.Inject(t, rg.dir, call+":1:-60")
			rg.late(call)
			up := rg.last
			sim.Inject(t, rg.dir, "")
			until(t, "the ring is there", func() bool { return rg.Epoch() != nil })
			rg.served()
			if rg.last != up {
				t.Error("the set-up began anew")
			}
		})
	}
}

// Nobody waits for what a GPU does not give back.
func TestSlowTearDown(t *testing.T) {
	for _, call := range []string{"cuMemHostUnregister", "cuMemUnmap", "cuDevicePrimaryCtxRelease_v2"} {
		t.Run(call, func(t *testing.T) {
			if !alone.Run(t) {
				return
			}
			rg := newRig(t, sim.Options{}, Options{})
			rg.newRing(frame.Mono8)
			p := rg.join(hello())
			rg.publish()
			p.take()
			p.unmap()
			if err := p.thread.Close(); err != nil {
				t.Fatal(err)
			}
			p.thread = nil
			sim.Inject(t, rg.dir, call+":1:-60")
			p.leave()
			rg.late(call)
			sim.Inject(t, rg.dir, "")
			rg.served()
		})
	}
}

// Subscribers of a stream whose next ring does not come about go another way.
func TestSlowToGoOver(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	sim.Inject(t, rg.dir, "cuMemCreate:1:-60")
	rg.newRing(frame.Mono8)
	if m, _ := p.receive(negotiate.TypeBye); !strings.HasPrefix(m.Bye.Reason, string(negotiate.ReasonGPUTimeout)) {
		t.Errorf("goodbye %q", m.Bye.Reason)
	}
	p.over()
	p.leave()
	sim.Inject(t, rg.dir, "")
	rg.served()
}
