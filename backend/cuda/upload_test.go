// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"runtime"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/alone"
	"github.com/seed-3c7e7623/camd/ring"
)

// What a reader takes is in device memory as a whole, however late and in
// however many pieces the GPU copies, and in the order of the camera.
func TestFramesAreWhole(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{Delay: sim.Heavy, DelayMicros: 300, Seed: 3}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	last := uint64(0)
	for range 300 {
		want := rg.publish()
		for last < want {
			l := p.take()
			if l.Meta.Sequence <= last || l.Meta.ReadyNanos != int64(l.Meta.Sequence) {
				t.Fatalf("frame %d after %d: %+v", l.Meta.Sequence, last, l.Meta)
			}
			last = l.Meta.Sequence
			p.check(l)
			p.view.Release(l.Word)
		}
	}
	s := rg.Status()
	if s.Frames != 300 || s.Errors != 0 || s.NoSlot != 0 || !s.Pinned || s.RingBytes == 0 {
		t.Errorf("status %+v", s)
	}
	p.leave()
	rg.gone()
}

// A frame is handed over after the GPU is seen to be done with it: as long as
// the copy is held back, the mailbox stays empty.
func TestLatePublish(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{Delay: sim.Hold}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	for range 20 {
		rg.publish()
		l := p.take()
		p.check(l)
		p.view.Release(l.Word)
	}
	// Operations that do not finish any more: nothing may be handed over.
	sim.Inject(t, rg.dir, "hang")
	rg.publish()
	up := rg.up
	until(t, "the upload has begun", func() bool { return up.busy.Load() != 0 })
	var l ring.Lease
	if ok, err := p.view.Take(&l); ok || err != nil {
		t.Errorf("frame %d was handed over before its copy was done (%v)", l.Meta.Sequence, err)
	}
	sim.Inject(t, rg.dir, "")
	p.check(p.take())
	p.leave()
	rg.gone()
}

// The newest frame goes to the GPU, and the camera is never held up by it.
func TestNewestWins(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{Delay: sim.Uniform, DelayMicros: 3000}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	var last uint64
	for range 200 {
		for range 10 {
			last = rg.publish() // fails without a free slot
		}
		runtime.Gosched()
	}
	for {
		l := p.take()
		p.check(l)
		p.view.Release(l.Word)
		if l.Meta.Sequence == last {
			break
		}
	}
	s := rg.Status()
	if s.Superseded == 0 || s.Frames+s.Superseded != 2000 || s.NoSlot != 0 {
		t.Errorf("of 2000 frames: %+v", s)
	}
	p.leave()
	rg.gone()
}

// The camera does not write into a frame while the GPU fetches it, however many
// come meanwhile.
func TestHostFrameIsHeld(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{Delay: sim.Uniform, DelayMicros: 1000}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	for range 20 {
		var l ring.Lease
		for end := soon(); ; {
			rg.publish()
			if ok, err := p.view.Take(&l); ok {
				break
			} else if err != nil || time.Now().After(end) {
				t.Fatalf("no frame comes: %v", err)
			}
		}
		p.check(l)
		p.view.Release(l.Word)
	}
	p.leave()
	rg.gone()
}

// What a frame costs: counted at the driver, and in this process. A warm upload
// allocates nothing and copies nothing in user space.
func TestCostOfAFrame(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	turn := func() {
		want := rg.publish()
		for {
			var l ring.Lease
			if ok, _ := p.view.Take(&l); ok {
				p.view.Release(l.Word)
				if l.Meta.Sequence == want {
					return
				}
			}
			runtime.Gosched()
		}
	}
	for range 100 {
		turn()
	}
	const n = 500
	before, stats := sim.Processes(t, rg.dir)[0].Calls, rg.Epoch().Ring.Stats()
	allocs := testing.AllocsPerRun(n-1, turn) // runs once more to warm up
	calls, after := sim.Processes(t, rg.dir)[0].Calls, rg.Epoch().Ring.Stats()
	for name, all := range calls {
		got := all - before[name]
		switch name {
		case "cuMemcpyHtoDAsync_v2", "cuEventRecord":
			if got != n {
				t.Errorf("%d calls of %s for %d frames", got, name, n)
			}
		case "cuEventQuery": // until the copy is done
			if got < n {
				t.Errorf("%d frames were handed over after %d looks", n, got)
			}
		case "cuEventSynchronize": // when that takes long
		default:
			if got != 0 {
				t.Errorf("%d calls of %s for %d frames", got, name, n)
			}
		}
	}
	if allocs != 0 && !race {
		t.Errorf("%v allocations a frame", allocs)
	}
	if wakes := after.FutexWakes - stats.FutexWakes + after.PipeWakes - stats.PipeWakes; wakes != 0 {
		t.Errorf("%d system calls to wake readers that do not wait", wakes)
	}
	p.leave()
	rg.gone()
}
