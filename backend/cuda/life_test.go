// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/alone"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// threads counts the threads of this process that are named for the stream. Those
// that the driver makes on them inherit the name.
func threads(t *testing.T) int {
	t.Helper()
	names, err := filepath.Glob("/proc/self/task/*/comm")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil && strings.HasPrefix(string(text), "cuda ") {
			n++
		}
	}
	return n
}

// Without a subscriber there is no thread, no context and no memory on the GPU;
// the first brings them, the last takes them along, again and again.
func TestNothingWithoutSubscribers(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	empty := func(when string) {
		t.Helper()
		// What the driver starts for itself may take a moment to end.
		until(t, "threads are gone "+when, func() bool { return threads(t) == 0 })
		p := sim.Processes(t, rg.dir)[0]
		if n := sim.Memory(t, rg.dir); n != 0 || p.Contexts != 0 || p.Registrations != 0 {
			t.Errorf("%s: %d bytes, %s", when, n, p.Leaks())
		}
		if s := rg.engine.Status(); s.Rings != 0 || s.RingBytes != 0 || s.Reason != "" {
			t.Errorf("%s: status %+v", when, s)
		}
	}
	rg.publish()
	empty("before the first")
	for range 3 {
		a, b := rg.join(hello()), rg.join(hello())
		rg.publish()
		a.check(a.take())
		b.check(b.take())
		if n, s := sim.Memory(t, rg.dir), rg.engine.Status(); n == 0 || threads(t) == 0 || s.Rings != 1 || s.RingBytes != n || s.Handle != negotiate.HandleVMM {
			t.Errorf("with two subscribers: %d bytes, %d threads, status %+v", n, threads(t), s)
		}
		a.leave()
		rg.publish()
		b.leave()
		select {
		case <-rg.last.done:
		default:
			t.Error("the last one has left, and the GPU does not have everything back")
		}
		select { // what was there before it stopped
		case <-rg.last.wake:
		default:
		}
		rg.publish()
		if len(rg.last.wake) != 0 {
			t.Error("frames are told to an upload that has stopped")
		}
		empty("after the last")
	}
	rg.gone()
}

// A new format is a new epoch in new memory; what the GPU had of the one before
// goes, and the host ring with it.
func TestEpochs(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{Delay: sim.Uniform, DelayMicros: 200}, Options{})
	before := rg.newRing(frame.Mono8)
	p := rg.join(hello())
	held := []ring.Lease{}
	for range 10 {
		want := rg.publish()
		l := p.take()
		for l.Meta.Sequence < want {
			p.view.Release(l.Word)
			l = p.take()
		}
		p.check(l)
		held = append(held, l)
		rg.newRing(frame.Mono8)
		if got := p.reconfigured(); got != rg.epoch {
			t.Fatalf("went over to epoch %d, want %d", got, rg.epoch)
		}
		until(t, "the ring before is let go of", func() bool { return before.Probe() == nil })
		before = rg.host
	}
	for i := 1; i < len(held); i++ {
		if held[i].Word.Generation() <= held[i-1].Word.Generation() {
			t.Errorf("generation %d after %d: a word could mean two frames", held[i].Word.Generation(), held[i-1].Word.Generation())
		}
	}
	if n, s := sim.Memory(t, rg.dir), rg.engine.Status(); n != s.RingBytes {
		t.Errorf("%d bytes are on the GPU for a ring of %d", n, s.RingBytes)
	}
	p.leave()
	rg.gone()
}

// A stream that turns into one that is of no use on a GPU sends subscribers
// away, with the reason.
func TestCompressedEpoch(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	rg.newRing(frame.JPEG)
	if m, _ := p.receive(negotiate.TypeBye); !strings.HasPrefix(m.Bye.Reason, string(negotiate.ReasonNotOffered)) {
		t.Errorf("goodbye %q", m.Bye.Reason)
	}
	p.over()
	if c := rg.Candidate(); c.Reason != negotiate.ReasonNotOffered || !strings.Contains(c.Detail, "compressed") {
		t.Errorf("candidate %+v", c)
	}
	p.leave()
	rg.gone()
}

// The end of a stream does not wait for its subscribers.
func TestStreamEnds(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.newRing(frame.Mono8)
	p := rg.join(hello())
	rg.publish()
	l := p.take()
	rg.SetRing(nil)
	rg.host.Retire()
	p.check(l) // what a reader has mapped stays
	select {
	case <-p.done:
		t.Error("the subscription ended before the daemon said so")
	default:
	}
	until(t, "the host ring is let go of", func() bool { return rg.host.Probe() == nil })
	p.leave()
	if p.err != nil {
		t.Error(p.err)
	}
	rg.gone()
}

// Leases of a reader that goes, in whichever way, go back, and the others have
// the memory as before.
func TestReaderGoesWithLeases(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.free(t)
	rg.newRing(frame.Mono8)
	stays := rg.join(hello())
	turn := func() {
		t.Helper()
		want := rg.publish()
		l := stays.take()
		for l.Meta.Sequence < want {
			stays.view.Release(l.Word)
			l = stays.take()
		}
		stays.check(l)
		stays.view.Release(l.Word)
	}
	for range 20 {
		goes := rg.join(hello())
		turn()
		goes.take()
		turn()
		goes.take()
		if s := rg.Status(); s.Leased < 2 {
			t.Fatalf("status %+v with two frames held", s)
		}
		goes.leave()
		turn()
		until(t, "leases are back", func() bool { return rg.Status().Leased <= 1 })
	}
	// One that breaks the rules is sent away and remembered.
	bad := rg.join(hello())
	bad.view.Release(0xdead)
	rg.publish()
	if m, _ := bad.receive(negotiate.TypeEvict); m.Evict.Reason != negotiate.ReasonMisbehaved {
		t.Errorf("evicted because of %s", m.Evict.Reason)
	}
	if !rg.quarantine.Holds(os.Getpid(), os.Getuid()) {
		t.Error("not in quarantine while it has the memory")
	}
	bad.leave()
	rg.free(t)
	turn()
	stays.leave()
	rg.gone()
}
