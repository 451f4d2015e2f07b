// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// squeezed has a subscriber sit on all but one slot of a ring until it is
// evicted.
func squeezed(t *testing.T, rg *rig) (*ring.Ring, *peer) {
	t.Helper()
	r := rg.newRing(func(c *ring.Config) { c.Slots = 3 })
	p := rg.join(negotiate.Hello{})
	for range 2 {
		rg.publish(r)
		p.take()
	}
	rg.clock.Add(int64(2 * time.Second))
	rg.publish(r)
	if _, err := r.Acquire(); !errors.Is(err, ring.ErrNoSlot) {
		t.Fatalf("there is a slot left: %v", err)
	}
	if m, _ := p.receive(negotiate.TypeEvict); m.Evict.Reason != negotiate.ReasonTooSlow {
		t.Errorf("evicted because of %s", m.Evict.Reason)
	}
	return r, p
}

func TestEvictedUntilItGivesBack(t *testing.T) {
	rg := newRig(t)
	r, p := squeezed(t, rg)
	if !rg.quarantine.Holds(os.Getpid(), os.Getuid()) {
		t.Error("an evicted process that holds frames is not in quarantine")
	}
	if s := rg.Subscribers(); len(s) != 1 || s[0].Evicted == "" {
		t.Errorf("status does not name it: %+v", s)
	}
	if _, err := r.Acquire(); !errors.Is(err, ring.ErrNoSlot) {
		t.Error("its frames were reused while it may read them")
	}
	_ = p.conn.Close()
	p.over()
	if rg.quarantine.Holds(os.Getpid(), os.Getuid()) {
		t.Error("still in quarantine after it gave its frames back")
	}
	if _, err := r.Acquire(); err != nil {
		t.Errorf("its frames are not free: %v", err)
	}
}

func TestForce(t *testing.T) {
	rg := newRig(t)
	rg.ForceAfter = time.Millisecond
	r, p := squeezed(t, rg)
	p.over()
	if rg.quarantine.Holds(os.Getpid(), os.Getuid()) {
		t.Error("still in quarantine after its frames were taken back")
	}
	if _, err := r.Acquire(); err != nil {
		t.Errorf("its frames are not free: %v", err)
	}
	if !rg.log.contains("taken back") {
		t.Error("the log does not say that frames were taken back")
	}
	if _, _, err := p.conn.Receive(soon()); !errors.Is(err, negotiate.ErrPeerGone) {
		t.Errorf("its socket is still open: %v", err)
	}
}

// What an evicted client still says changes nothing.
func TestEvictedClientTalksOn(t *testing.T) {
	rg := newRig(t)
	r, p := squeezed(t, rg)
	if err := p.conn.SendKick(); err != nil {
		t.Fatal(err)
	}
	p.acknowledge(1)
	p.acknowledge(2)
	for r.Stats().Kicks == 0 {
		runtime.Gosched()
	}
	if _, err := r.Acquire(); !errors.Is(err, ring.ErrNoSlot) {
		t.Error("its frames were reused")
	}
	p.send(&negotiate.Message{Type: negotiate.TypeBye})
	p.over()
	if _, err := r.Acquire(); err != nil {
		t.Errorf("its frames are not free: %v", err)
	}
}

// A reader at 1 Hz holds each frame for a second: one line, not one a second.
func TestHoardingIsLoggedOnce(t *testing.T) {
	rg := newRig(t)
	r := rg.newRing(nil)
	p := rg.join(negotiate.Hello{})
	rg.mu.Lock()
	s := rg.subs[0]
	rg.mu.Unlock()
	for range 5 {
		rg.publish(r)
		l := p.take()
		s.warn(false)
		rg.clock.Add(int64(2 * time.Second))
		if !s.warn(false) {
			t.Fatal("a frame held for two seconds is not noticed")
		}
		if st := rg.Subscribers()[0]; !st.Hoarding || st.Held != 1 {
			t.Fatalf("status does not say that it holds a frame: %+v", st)
		}
		p.view.Release(l.Word)
		s.warn(true)
	}
	if n := rg.log.count("holds a frame for long"); n != 1 {
		t.Errorf("%d lines about one reader, want 1", n)
	}
}

func TestMisbehavedIsEvicted(t *testing.T) {
	rg := newRig(t)
	r := rg.newRing(nil)
	p := rg.join(negotiate.Hello{})
	p.view.Release(0xdead)
	rg.publish(r)
	if m, _ := p.receive(negotiate.TypeEvict); m.Evict.Reason != negotiate.ReasonMisbehaved {
		t.Errorf("evicted because of %s", m.Evict.Reason)
	}
}

func TestGoodbye(t *testing.T) {
	cases := map[string]struct {
		cause error
		want  string
	}{
		"daemon stops":   {context.Canceled, "shutdown"},
		"cameras ended":  {backend.ErrEnded, "ended"},
		"camera removed": {backend.ErrRemoved, "removed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rg := newRig(t)
			rg.newRing(nil)
			p := rg.join(negotiate.Hello{})
			p.end(c.cause)
			if m, _ := p.receive(negotiate.TypeBye); m.Bye.Reason != c.want {
				t.Errorf("goodbye %q, want %q", m.Bye.Reason, c.want)
			}
			p.over()
			if p.err != nil || len(rg.Subscribers()) != 0 {
				t.Errorf("Serve returned %v, %d subscribers are left", p.err, len(rg.Subscribers()))
			}
		})
	}
}

// Out of order in a running subscription: cut off, with a reason in the log.
func TestProtocolErrorInSubscription(t *testing.T) {
	rg := newRig(t)
	r := rg.newRing(nil)
	p := rg.join(negotiate.Hello{Wake: negotiate.WakePipe})
	p.send(&negotiate.Message{Type: "later"}) // of a later version: passed over
	p.send(failedProbe(negotiate.ReasonPolicy))
	p.over()
	if !rg.log.contains("reason=protocol") {
		t.Error("the log does not say why it was cut off")
	}
	if r.Usage().Readers != 0 {
		t.Error("its place is still taken")
	}
}
