// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// Each announcement in the queue of a client that does not read keeps the
// memory of its ring, so there is one at a time.
func TestOneReconfigUntilItsAck(t *testing.T) {
	rg := newRig(t)
	old := rg.newRing(nil)
	rg.publish(old)
	p := rg.join(negotiate.Hello{})
	l := p.take()
	p.view.Release(l.Word)
	announced := rg.newRing(nil)
	if _, err := old.Acquire(); !errors.Is(err, ring.ErrRetired) || !p.view.Retired() {
		t.Errorf("an epoch that is over is not retired: %v", err)
	}
	first := p.reconfigured()
	p.acknowledge(99) // of none
	p.send(&negotiate.Message{Type: negotiate.TypeKick})
	for end := soon(); old.Stats().Kicks+announced.Stats().Kicks == 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the answer was not read")
		}
	}
	var newest *ring.Ring
	for range 5 {
		newest = rg.newRing(nil)
	}
	p.acknowledge(first) // of an epoch that is over
	second := p.reconfigured()
	if first != 2 || second != 7 {
		t.Fatalf("epochs %d and %d were announced, want 2 and 7", first, second)
	}
	want := rg.publish(newest)
	p.acknowledge(second)
	if l := p.take(); l.Meta.Sequence != want {
		t.Errorf("took frame %d, want %d", l.Meta.Sequence, want)
	}
	if u := newest.Usage(); u.Readers != 1 {
		t.Errorf("%d readers in the newest epoch, want 1", u.Readers)
	}
}

// A client that never acknowledges gets no frames and costs others nothing.
func TestClientThatNeverAcknowledges(t *testing.T) {
	rg := newRig(t)
	rg.newRing(nil)
	lazy, good := rg.join(negotiate.Hello{}), rg.join(negotiate.Hello{})
	var newest *ring.Ring
	for range 10 {
		newest = rg.newRing(nil)
		good.acknowledge(good.reconfigured())
		want := rg.publish(newest)
		if l := good.take(); l.Meta.Sequence != want {
			t.Fatalf("took frame %d, want %d", l.Meta.Sequence, want)
		}
	}
	for range 50 {
		want := rg.publish(newest)
		l := good.take()
		for l.Meta.Sequence != want {
			good.view.Release(l.Word)
			l = good.take()
		}
		good.view.Release(l.Word)
	}
	if u := newest.Usage(); u.Readers != 2 || newest.Stats().NoSlot != 0 {
		t.Errorf("usage %+v, %d frames without a slot", u, newest.Stats().NoSlot)
	}
	_ = lazy.conn.Close()
	lazy.over()
	if u := newest.Usage(); u.Readers != 1 {
		t.Errorf("%d readers after it left, want 1", u.Readers)
	}
}

// Formats that follow each other faster than a subscription announces them are
// no reason to cut it off.
func TestManyFormatsAtOnce(t *testing.T) {
	rg := newRig(t)
	rg.newRing(nil)
	p := rg.join(negotiate.Hello{})
	var newest *ring.Ring
	for range 50 {
		for range 5 {
			newest = rg.newRing(nil)
		}
		for epoch := uint64(0); epoch != rg.epoch; {
			epoch = p.reconfigured()
			p.acknowledge(epoch)
		}
	}
	want := rg.publish(newest)
	if l := p.take(); l.Meta.Sequence != want {
		t.Errorf("took frame %d, want %d", l.Meta.Sequence, want)
	}
}

// Who is there keeps its place when the format changes, however early somebody
// new asks.
func TestNewcomerTakesNoPlaceAtAChangeOfFormat(t *testing.T) {
	for range 20 {
		rg := newRig(t)
		rg.newRing(func(c *ring.Config) { c.MaxReaders = 1 })
		p := rg.join(negotiate.Hello{})
		rg.newRing(func(c *ring.Config) { c.MaxReaders = 1 })
		_, err := addReader(rg.Epoch().Ring, 0, 2, func() (int, error) { return -1, nil })
		if !errors.Is(err, ring.ErrFull) {
			t.Fatalf("a newcomer got %v, want %v", err, ring.ErrFull)
		}
		p.acknowledge(p.reconfigured())
	}
}

// A new epoch with fewer places says why a subscription ends.
func TestNoPlaceInTheNewEpoch(t *testing.T) {
	rg := newRig(t)
	rg.newRing(nil)
	a, b := rg.join(negotiate.Hello{}), rg.join(negotiate.Hello{})
	rg.newRing(func(c *ring.Config) { c.MaxReaders = 1 })
	a.reconfigured()
	m, _ := b.receive(negotiate.TypeBye)
	if !strings.Contains(m.Bye.Reason, string(negotiate.ReasonRingFull)) {
		t.Errorf("goodbye %q, want the reason %s", m.Bye.Reason, negotiate.ReasonRingFull)
	}
	b.over()
	if !rg.log.contains("reason=ring_full") || rg.log.contains("reason=not_reading") {
		t.Error("the log does not say that the ring is full")
	}
}

// A client that is stopped through many formats is not cut off for it, and goes
// over to the newest when it comes back.
func TestClientThatReadsLate(t *testing.T) {
	rg := newRig(t)
	rg.newRing(nil)
	p := rg.join(negotiate.Hello{})
	p.server.WriteTimeout = time.Millisecond
	var newest *ring.Ring
	for range 1000 {
		newest = rg.newRing(nil)
	}
	p.acknowledge(p.reconfigured())
	if p.view.Layout().Epoch != rg.epoch {
		epoch := p.reconfigured()
		if p.acknowledge(epoch); epoch != rg.epoch {
			t.Errorf("epoch %d was announced second, want the newest, %d", epoch, rg.epoch)
		}
	}
	want := rg.publish(newest)
	if l := p.take(); l.Meta.Sequence != want {
		t.Errorf("took frame %d, want %d", l.Meta.Sequence, want)
	}
}

// Status does not begin anew with each epoch.
func TestCountersGoOnThroughEpochs(t *testing.T) {
	rg := newRig(t)
	r := rg.newRing(nil)
	p := rg.join(negotiate.Hello{})
	for range 3 {
		rg.publish(r)
		p.view.Release(p.take().Word)
		r = rg.newRing(nil)
		p.acknowledge(p.reconfigured())
	}
	rg.publish(r)
	p.take()
	if s := rg.Subscribers()[0]; s.Granted != 4 {
		t.Errorf("%d frames granted in all epochs, want 4", s.Granted)
	}
}

// A stream that cannot go on in this way says so to all who have it, whatever
// they have acknowledged, and they ask again.
func TestRefusedSubscribersLearnWhy(t *testing.T) {
	rg := newRig(t)
	rg.newRing(nil)
	a, b := rg.join(negotiate.Hello{}), rg.join(negotiate.Hello{})
	rg.newRing(nil)
	a.acknowledge(a.reconfigured())
	b.reconfigured() // and no answer
	rg.SetEpoch(nil, backend.Declined(negotiate.BackendSHM, negotiate.ReasonGPULost, "in a test"))
	for _, p := range []*peer{a, b} {
		m, _ := p.receive(negotiate.TypeBye)
		if !strings.HasPrefix(m.Bye.Reason, string(negotiate.ReasonGPULost)) {
			t.Errorf("goodbye %q, want the reason %s", m.Bye.Reason, negotiate.ReasonGPULost)
		}
		p.over()
	}
	if !rg.log.contains("reason=gpu_lost") {
		t.Error("the log does not say why they were cut off")
	}
}

func TestCheckCutsOff(t *testing.T) {
	rg := newRig(t)
	var broken atomic.Bool
	rg.Check = func() error {
		if broken.Load() {
			return backend.Declined(negotiate.BackendSHM, negotiate.ReasonGPULost, "in a test")
		}
		return nil
	}
	rg.newRing(nil)
	p := rg.join(negotiate.Hello{})
	broken.Store(true)
	if m, _ := p.receive(negotiate.TypeBye); !strings.HasPrefix(m.Bye.Reason, string(negotiate.ReasonGPULost)) {
		t.Errorf("goodbye %q", m.Bye.Reason)
	}
	p.over()
}

// What is offered for pixels elsewhere: the handle in place of the pixels, and
// both probes in one proof.
func TestEpochWithPixelsElsewhere(t *testing.T) {
	rg := newRig(t)
	g, err := frame.NewGeometry(frame.Mono8, 64, 64)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ring.New(ring.Config{
		Name: "test/color", Session: rg.Session, Epoch: 1, Geometry: g, Slots: 8, MaxReaders: 2,
		Generation: &rg.generation, Elsewhere: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	device := &negotiate.Device{UUID: "GPU-1", Handle: negotiate.HandleVMM, Bytes: r.Layout().PixelBytes + 4096, ProbeOffset: r.Layout().PixelBytes}
	extra := []byte("random bytes that lie in the GPU")
	memory, err := os.CreateTemp(t.TempDir(), "handle")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = memory.Close() })
	rg.Backend = negotiate.BackendCUDA
	rg.SetEpoch(&Epoch{Ring: r, Device: device, Probe: extra, Memory: func() (int, error) {
		return unix.FcntlInt(memory.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	}}, nil)
	for _, c := range []struct {
		name  string
		proof func(header []byte) []byte
		want  negotiate.Reason
	}{
		{"only the header is proven", func(h []byte) []byte { return h }, negotiate.ReasonProbeMismatch},
		{"both", func(h []byte) []byte { return append(h, extra...) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := rg.call(negotiate.Hello{})
			m, files := p.receive(negotiate.TypeOffer)
			if diff := cmp.Diff(device, m.Offer.Device); diff != "" || len(files) != 2 {
				t.Fatalf("%d files, device (-want +got):\n%s", len(files), diff)
			}
			var st, handle unix.Stat_t
			if unix.Fstat(files[1], &st) != nil || unix.Fstat(int(memory.Fd()), &handle) != nil || st.Ino != handle.Ino {
				t.Error("the second descriptor is not the handle of the memory")
			}
			p.send(&negotiate.Message{Type: negotiate.TypeProbe, Probe: &negotiate.Probe{
				OK: true, Proof: negotiate.Proof(m.Offer.Challenge, c.proof(r.Probe())),
			}})
			if c.want != "" {
				p.over()
				wantDeclined(t, p.err, c.want)
				return
			}
			p.receive(negotiate.TypeStart)
		})
	}
}
