// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/alone"
	"github.com/seed-3c7e7623/camd/internal/dl"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// The word for each kind of machine, and what people are told beside it.
func TestReasons(t *testing.T) {
	for _, c := range []struct {
		name    string
		sim     sim.Options
		options Options
		reason  negotiate.Reason
		words   string
	}{
		{"discrete", sim.Options{}, Options{}, "", ""},
		{"jetson", sim.Options{Profile: "jetson"}, Options{}, "", ""},
		{"nothing can be shared", sim.Options{Profile: "no-ipc"}, Options{}, negotiate.ReasonVMMUnsupported, "exported"},
		{"second of two", sim.Options{Profile: "two-gpus"}, Options{Device: "1"}, "", ""},
		{"by UUID", sim.Options{Profile: "two-gpus"}, Options{Device: sim.UUID(1)}, "", ""},
		{"not that many", sim.Options{}, Options{Device: "3"}, negotiate.ReasonDifferentGPU, "0 is " + sim.UUID(0)},
		{"off", sim.Options{}, Options{Off: true}, negotiate.ReasonPolicy, "cuda.enabled"},
		{"no library", sim.Options{}, Options{Library: "/nonexistent/libcuda.so.1"}, negotiate.ReasonNoDriver, "/nonexistent"},
		{"no kernel module", sim.Options{Profile: "no-driver"}, Options{}, negotiate.ReasonNoDriver, "CUDA_ERROR_NO_DEVICE"},
		{"mismatch", sim.Options{Profile: "mismatch"}, Options{}, negotiate.ReasonDriverMismatch, "803"},
		{"stub", sim.Options{Profile: "stub"}, Options{}, negotiate.ReasonNoDriver, "CUDA_ERROR_STUB_LIBRARY"},
		{"not ready", sim.Options{Profile: "not-ready"}, Options{}, negotiate.ReasonNoDriver, "CUDA_ERROR_SYSTEM_NOT_READY"},
		{"no memory that can be exported", sim.Options{NoVMM: true}, Options{}, negotiate.ReasonVMMUnsupported, "exported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !alone.Run(t) {
				return
			}
			rg := newRig(t, c.sim, c.options)
			rg.newRing(frame.Mono8)
			got := rg.Candidate()
			if got.Reason != c.reason || !strings.Contains(got.Detail, c.words) || got.Backend != negotiate.BackendCUDA {
				t.Fatalf("candidate %+v, want reason %q with %q", got, c.reason, c.words)
			}
			if s := rg.engine.Status(); s.Reason != c.reason || (s.GPU == "") != (c.reason != "") {
				t.Errorf("status %+v", s)
			}
			if c.reason != "" {
				rg.call(hello()).declined(c.reason)
				return
			}
			h := hello()
			h.GPUs[0].UUID = rg.engine.Status().UUID
			p := rg.join(h)
			rg.publish()
			p.check(p.take())
			p.leave()
			rg.gone()
		})
	}
}

// What keeps a single client from the GPU.
func TestWhatKeepsAClientOff(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	rg := newRig(t, sim.Options{}, Options{})
	rg.call(hello()).declined(negotiate.ReasonNotReady)
	rg.newRing(frame.Mono8)
	for _, c := range []struct {
		name  string
		edit  func(*negotiate.Hello)
		want  negotiate.Reason
		words string
	}{
		{"of before GPUs", func(h *negotiate.Hello) { h.GPUs, h.Handles = nil, nil }, negotiate.ReasonVMMUnsupported, "import"},
		{"another GPU", func(h *negotiate.Hello) { h.GPUs[0].UUID = sim.UUID(1) }, negotiate.ReasonDifferentGPU, sim.UUID(0)},
		{"without a driver", func(h *negotiate.Hello) { h.DeviceReason = negotiate.ReasonNoDriver }, negotiate.ReasonNoDriver, "the client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hello()
			c.edit(&h)
			if d := rg.call(h).declined(c.want); !strings.Contains(d.Detail, c.words) {
				t.Errorf("detail %q, want %q in it", d.Detail, c.words)
			}
		})
	}
	rg.rings.Readers = 1
	a := rg.join(hello())
	rg.call(hello()).declined(negotiate.ReasonRingFull)
	a.leave()

	// A proof that only the header was read is none.
	p := rg.call(hello())
	m, files := p.receive(negotiate.TypeOffer)
	_ = files.Close()
	p.send(&negotiate.Message{Type: negotiate.TypeProbe, Probe: &negotiate.Probe{
		OK: true, Proof: negotiate.Proof(m.Offer.Challenge, rg.Epoch().Ring.Probe()),
	}})
	p.declined(negotiate.ReasonProbeMismatch)
	rg.gone()
}

// Device memory is for those who are trusted with it.
func TestUsers(t *testing.T) {
	e := &Engine{o: Options{Users: []int{1003}}}
	for _, c := range []struct {
		uid  int
		want bool
	}{{0, true}, {1000, true}, {1003, true}, {1004, false}} {
		if got := e.trusts(c.uid, 1000); got != c.want {
			t.Errorf("user %d: %v", c.uid, got)
		}
	}
	b := New(&Engine{driver: nil, off: negotiate.Candidate{Backend: negotiate.BackendCUDA}}, rgConfig(), Rings{})
	rg := hostOnly(t, frame.Mono8)
	b.SetRing(rg)
	var p negotiate.Peer
	p.UID = os.Geteuid() + 1
	h := hello()
	err := b.admit(p, &h)
	var d *backend.DeclinedError
	if !errors.As(err, &d) || d.Reason != negotiate.ReasonPolicy || !strings.Contains(d.Detail, "cuda.users") {
		t.Errorf("another user got %v", err)
	}
}

// Without a library there is no more than the reason.
func TestNoDriverCostsNothing(t *testing.T) {
	e := Open(Options{Library: filepath.Join(t.TempDir(), "libcuda.so.1")})
	b := New(e, rgConfig(), Rings{Readers: 8})
	b.SetRing(hostOnly(t, frame.Mono8))
	want := negotiate.ReasonNoDriver
	if _, err := dl.Open("libc.so.6"); errors.Is(err, dl.ErrBuiltWithoutDL) {
		want = negotiate.ReasonBuiltWithoutDL
	}
	if c := b.Candidate(); c.Reason != want || e.On() || b.Wanted() || b.Status() != nil || threads(t) != 0 {
		t.Errorf("candidate %+v, on %v, status %+v", c, e.On(), b.Status())
	}
}
