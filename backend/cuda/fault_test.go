// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/alone"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// Without memory on the GPU a subscriber gets the next backend, and the reason
// with what was asked for and what there was; with memory again, the next one
// gets it.
func TestOutOfMemory(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	sim.Inject(t, rg.dir, "oom")
	d := rg.call(hello()).declined(negotiate.ReasonLimit)
	for _, words := range []string{"2097152 bytes were asked for", "are free on SIMULATED"} {
		if !strings.Contains(d.Detail, words) {
			t.Errorf("detail %q, want %q in it", d.Detail, words)
		}
	}
	if c := rg.Candidate(); c.Reason != "" {
		t.Errorf("candidate %+v: it may be better next time", c)
	}
	rg.gone()
	sim.Inject(t, rg.dir, "")
	p := rg.join(hello())
	rg.publish()
	p.check(p.take())

	// A new format for which there is none sends subscribers away.
	sim.Inject(t, rg.dir, "oom")
	rg.newRing(frame.Mono8)
	if m, _ := p.receive(negotiate.TypeBye); !strings.HasPrefix(m.Bye.Reason, string(negotiate.ReasonLimit)) {
		t.Errorf("goodbye %q", m.Bye.Reason)
	}
	p.over()
	sim.Inject(t, rg.dir, "")
	p.leave()
	rg.gone()
}

// A GPU that has no room for as many readers as the stream may have serves as
// many as it has room for; who comes later gets the next backend.
func TestRoomForFewerReaders(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{Memory: 8 << 20}, Options{})
	rg.width = 13_000 // 1 MB a frame
	rg.rings.Readers = 8
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	if s := rg.Status(); s.Slots != ring.SlotsFor(1, 1, 2) || s.RingBytes > 8<<20 {
		t.Errorf("status %+v", s)
	}
	rg.publish()
	p.check(p.take())
	rg.call(hello()).declined(negotiate.ReasonRingFull)
	p.leave()
	rg.gone()
}

// Each call of setting up may fail: nothing is left, and the host path has its
// reason.
func TestEverySetupCallMayFail(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	for _, c := range []struct {
		call string
		want negotiate.Reason
	}{
		{"cuDevicePrimaryCtxRetain:1:46", negotiate.ReasonLimit}, // an exclusive GPU in use
		{"cuMemGetAllocationGranularity:1:801", negotiate.ReasonVMMUnsupported},
		{"cuMemCreate:1:801", negotiate.ReasonVMMUnsupported},
		{"cuMemCreate:0:2", negotiate.ReasonLimit},
		{"cuMemAddressReserve:0:2", negotiate.ReasonLimit},
		{"cuMemMap:0:2", negotiate.ReasonLimit},
		{"cuMemSetAccess:1:1", negotiate.ReasonGPUError},
		{"cuStreamCreateWithPriority:1:2", negotiate.ReasonLimit},
		{"cuMemsetD8Async:1:1", negotiate.ReasonGPUError},
		{"cuMemHostAlloc:1:2", negotiate.ReasonLimit},
		{"cuMemcpyHtoDAsync_v2:1:1", negotiate.ReasonGPUError},
		{"cuMemExportToShareableHandle:1:304", negotiate.ReasonLimit},
		{"cuEventCreate:1:2", negotiate.ReasonLimit},
		{"cuStreamSynchronize:1:1", negotiate.ReasonGPUError},
	} {
		t.Run(c.call, func(t *testing.T) {
			sim.Inject(t, rg.dir, c.call)
			d := rg.call(hello()).declined(c.want)
			if name, _, _ := strings.Cut(c.call, ":"); !strings.Contains(d.Detail, strings.TrimSuffix(name, "_v2")) {
				t.Errorf("detail %q does not name the call", d.Detail)
			}
			if strings.HasPrefix(c.call, "cuMemAddressReserve") && (!strings.Contains(d.Detail, "addresses of this process") || strings.Contains(d.Detail, "free on")) {
				t.Errorf("detail %q blames the GPU", d.Detail)
			}
			got := rg.Candidate()
			if c.want != negotiate.ReasonVMMUnsupported {
				if got.Reason != "" {
					t.Fatalf("candidate %+v", got)
				}
				return
			}
			// What the machine cannot do is not tried for each subscriber, and said.
			if s := rg.engine.Status(); got.Reason != c.want || s.Reason != c.want {
				t.Fatalf("candidate %+v, status %+v", got, s)
			}
			rg.call(hello()).declined(c.want)
			rg.engine.mu.Lock()
			rg.engine.tried = time.Time{} // long ago
			rg.engine.mu.Unlock()
			if got := rg.Candidate(); got.Reason != "" {
				t.Fatalf("later: candidate %+v", got)
			}
		})
	}
	sim.Inject(t, rg.dir, "")
	p := rg.join(hello())
	rg.publish()
	p.check(p.take())
	p.leave()
	rg.gone()
}

// Memory that cannot be pinned is copied by the driver: slower, and right.
func TestNotPinned(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{Delay: sim.Uniform, DelayMicros: 500, Pageable: true, Fail: "cuMemHostRegister_v2:0:304"}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	for range 50 {
		rg.publish()
		l := p.take()
		p.check(l)
		p.view.Release(l.Word)
	}
	if s := rg.Status(); s.Pinned || s.Frames == 0 || !rg.log.contains("cannot be pinned") {
		t.Errorf("status %+v", s)
	}
	p.leave()
	rg.gone()
}

// A frame that does not get to the GPU is lost for its readers, and nothing else
// is.
func TestOneFrameFails(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	rg.publish()
	p.view.Release(p.take().Word)
	for _, call := range []string{"cuMemcpyHtoDAsync_v2:1:1", "cuEventRecord:1:400"} {
		before := rg.Status().Errors
		sim.Inject(t, rg.dir, call)
		rg.publish()
		until(t, "the failure is counted", func() bool { return rg.Status().Errors == before+1 })
		want := rg.publish()
		l := p.take()
		if p.check(l); l.Meta.Sequence != want {
			t.Errorf("took frame %d, want %d", l.Meta.Sequence, want)
		}
		p.view.Release(l.Word)
	}
	if s := rg.Status(); s.Free+s.Leased+1 < s.Slots {
		t.Errorf("slots were lost: %+v", s)
	}
	p.leave()
	rg.gone()
}

// After a fault that strikes the context, subscribers are sent away with the
// reason, nobody gets memory any more, and the camera goes on.
func TestGPULost(t *testing.T) {
	for _, plan := range []string{"lost:719", "op:1:700"} {
		t.Run(plan, func(t *testing.T) {
			if !alone.Run(t) {
				return
			}
			rg := newRig(t, sim.Options{}, Options{})
			rg.newRing(frame.Mono8)
			a, b := rg.join(hello()), rg.join(hello())
			rg.publish()
			a.take()
			sim.Inject(t, rg.dir, plan)
			rg.publish()
			for _, p := range []*peer{a, b} {
				if m, _ := p.receive(negotiate.TypeBye); !strings.HasPrefix(m.Bye.Reason, string(negotiate.ReasonGPULost)) {
					t.Errorf("goodbye %q", m.Bye.Reason)
				}
				p.over()
			}
			if c := rg.Candidate(); c.Reason != negotiate.ReasonGPULost {
				t.Errorf("candidate %+v", c)
			}
			if s := rg.engine.Status(); s.Reason != negotiate.ReasonGPULost || s.GPU == "" || s.Rings != 0 {
				t.Errorf("status %+v", s)
			}
			rg.call(hello()).declined(negotiate.ReasonGPULost)
			if !rg.log.contains("GPU lost") {
				t.Error("the log does not say so")
			}
			for range 100 {
				rg.publish() // fails if a slot of the camera is kept
			}
			before := rg.host
			rg.newRing(frame.Mono8)
			if before.Probe() != nil {
				t.Error("memory of the host ring is kept")
			}
			for _, p := range []*peer{a, b} { // nothing can be given back by itself
				_ = p.thread.Close()
				p.memory, p.thread = nil, nil
			}
		})
	}
}

// A GPU that takes no frame any more, without a fault that it tells of, counts as
// lost, because of what failed first.
func TestNoFrameGetsThrough(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	rg.publish()
	p.view.Release(p.take().Word)
	// The copy of a frame that failed is waited for by the context, if not otherwise.
	sim.Inject(t, rg.dir, "cuEventRecord:0:400,cuStreamSynchronize:0:1")
	for n := range uint64(maxFailures) {
		rg.publish()
		until(t, "the failure is counted", func() bool { return rg.Status().Errors > n })
	}
	p.receive(negotiate.TypeBye)
	c := rg.Candidate()
	if c.Reason != negotiate.ReasonGPULost || !strings.Contains(c.Detail, "10 frames in a row") || !strings.Contains(c.Detail, "cuEventRecord") {
		t.Errorf("candidate %+v", c)
	}
	if s := rg.Status(); s.NoSlot != 0 {
		t.Errorf("frames without a free slot: %+v", s)
	}
	sim.Inject(t, rg.dir, "")
	p.leave()
	rg.gone()
}

// A GPU that does not answer costs its subscribers their path and the camera
// nothing.
func TestGPUHangs(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	sim.Inject(t, rg.dir, "hang")
	for range 100 {
		rg.publish()
	}
	up := rg.up
	until(t, "the copy has begun", func() bool { return up.busy.Load() != 0 })
	up.busy.Store(1) // long ago
	if m, _ := p.receive(negotiate.TypeBye); !strings.HasPrefix(m.Bye.Reason, string(negotiate.ReasonGPULost)) {
		t.Errorf("goodbye %q", m.Bye.Reason)
	}
	if c := rg.Candidate(); c.Reason != negotiate.ReasonGPULost || !strings.Contains(c.Detail, "does not answer") {
		t.Errorf("candidate %+v", c)
	}
	sim.Inject(t, rg.dir, "")
	p.leave()
	rg.gone()
}
