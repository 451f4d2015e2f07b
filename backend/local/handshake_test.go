// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// The two packages do not know each other's bounds, but must agree.
func TestCreditIsWhatTheProtocolAllows(t *testing.T) {
	if ring.MaxCredit != negotiate.MaxCredit {
		t.Errorf("a ring allows credit %d, the protocol %d", ring.MaxCredit, negotiate.MaxCredit)
	}
}

func failedProbe(r negotiate.Reason) *negotiate.Message {
	return &negotiate.Message{Type: negotiate.TypeProbe, Probe: &negotiate.Probe{Reason: r, Detail: "in a test"}}
}

func TestAnswersToAnOffer(t *testing.T) {
	wrong := &negotiate.Message{Type: negotiate.TypeProbe, Probe: &negotiate.Probe{OK: true, Proof: strings.Repeat("0", 64)}}
	hello := &negotiate.Message{Type: negotiate.TypeHello, Hello: &negotiate.Hello{
		Protocol: negotiate.Current(), Stream: "test/color", Accepts: []negotiate.Backend{negotiate.BackendSHM},
	}}
	cases := map[string]struct {
		answer   *negotiate.Message
		declined negotiate.Reason // "" = the connection is finished with
		want     error
	}{
		"wrong proof":                 {wrong, negotiate.ReasonProbeMismatch, nil},
		"cannot map it":               {failedProbe(negotiate.ReasonProbeMismatch), negotiate.ReasonProbeMismatch, nil},
		"another layout version":      {failedProbe(negotiate.ReasonProtocol), negotiate.ReasonProtocol, nil},
		"a reason that is made up":    {failedProbe("reason_4711"), negotiate.ReasonProbeMismatch, nil},
		"a reason that is not its":    {failedProbe(negotiate.ReasonNotReady), negotiate.ReasonProbeMismatch, nil},
		"a reason of another backend": {failedProbe(negotiate.ReasonGPULost), negotiate.ReasonProbeMismatch, nil},
		"kick before the start":       {&negotiate.Message{Type: negotiate.TypeKick}, "", negotiate.ErrProtocol},
		"acknowledges before start":   {&negotiate.Message{Type: negotiate.TypeAck, Ack: &negotiate.Ack{Epoch: 1}}, "", negotiate.ErrProtocol},
		"a second hello":              {hello, "", negotiate.ErrProtocol},
		"a type of a later version":   {&negotiate.Message{Type: "later"}, "", negotiate.ErrProtocol},
		"goodbye":                     {&negotiate.Message{Type: negotiate.TypeBye}, "", negotiate.ErrPeerGone},
		"gone without an answer":      {nil, "", negotiate.ErrPeerGone},
		"asks for status in between":  {&negotiate.Message{Type: negotiate.TypeStatus}, "", negotiate.ErrProtocol},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rg := newRig(t)
			r := rg.newRing(nil)
			p := rg.call(negotiate.Hello{})
			p.offered()
			if c.answer == nil {
				_ = p.conn.Close()
			} else {
				p.send(c.answer)
			}
			p.over()
			if c.declined != "" {
				wantDeclined(t, p.err, c.declined)
			} else if !errors.Is(p.err, c.want) {
				t.Errorf("Serve returned %v, want %v", p.err, c.want)
			}
			if u := r.Usage(); u.Readers != 0 || len(rg.Subscribers()) != 0 {
				t.Errorf("%d readers and %d subscribers are left", u.Readers, len(rg.Subscribers()))
			}
		})
	}
}

func TestProbeTimeout(t *testing.T) {
	rg := newRig(t)
	rg.ProbeTimeout = time.Millisecond
	r := rg.newRing(nil)
	p := rg.call(negotiate.Hello{})
	p.over()
	if d := wantDeclined(t, p.err, negotiate.ReasonProbeTimeout); !strings.Contains(d.Detail, "1ms") {
		t.Errorf("detail %q does not say how long was waited", d.Detail)
	}
	if r.Usage().Readers != 0 {
		t.Error("its place is still taken")
	}
}

// Offers that nobody answers take no place: they must not keep others out.
func TestUnansweredOffersTakeNoPlace(t *testing.T) {
	rg := newRig(t)
	r := rg.newRing(func(c *ring.Config) { c.MaxReaders = 1 })
	for range 5 {
		rg.call(negotiate.Hello{}).receive(negotiate.TypeOffer)
	}
	if u := r.Usage(); u.Readers != 0 {
		t.Fatalf("%d places are taken by offers", u.Readers)
	}
	rg.join(negotiate.Hello{})
}

func TestRingFullSaysHowMuch(t *testing.T) {
	rg := newRig(t)
	rg.newRing(func(c *ring.Config) { c.Budget = 5 })
	rg.join(negotiate.Hello{})
	p := rg.call(negotiate.Hello{Credit: 4})
	p.over()
	if d := wantDeclined(t, p.err, negotiate.ReasonRingFull); !strings.Contains(d.Detail, "3 of 5 slots are reserved, 5 more") {
		t.Errorf("detail %q", d.Detail)
	}
	rg.join(negotiate.Hello{Credit: 1})
	third := rg.call(negotiate.Hello{Credit: 1})
	third.over()
	if d := wantDeclined(t, third.err, negotiate.ReasonRingFull); !strings.Contains(d.Detail, "2 of 2 subscribers") {
		t.Errorf("detail %q", d.Detail)
	}
}

func TestNoFormatYet(t *testing.T) {
	rg := newRig(t)
	p := rg.call(negotiate.Hello{})
	p.over()
	wantDeclined(t, p.err, negotiate.ReasonNotReady)
}

// The client mapped an epoch that ended before it said so: no fault of its.
func TestFormatChangesBetweenOfferAndProbe(t *testing.T) {
	rg := newRig(t)
	rg.newRing(nil)
	p := rg.call(negotiate.Hello{})
	answer := p.offered()
	rg.newRing(nil)
	p.send(answer)
	p.over()
	wantDeclined(t, p.err, negotiate.ReasonNotReady)
	rg.join(negotiate.Hello{}) // asks again and gets it
}

func TestStreamEndsBetweenOfferAndProbe(t *testing.T) {
	rg := newRig(t)
	rg.newRing(nil)
	p := rg.call(negotiate.Hello{Wake: negotiate.WakePipe})
	answer := p.offered()
	rg.SetEpoch(nil, nil)
	p.send(answer)
	p.over()
	wantDeclined(t, p.err, negotiate.ReasonNotReady)
}

func TestStartCarriesPageAndPipe(t *testing.T) {
	cases := map[negotiate.WakeKind]int{"": 2, negotiate.WakeFutex: 2, negotiate.WakePipe: 3}
	for wake, files := range cases {
		t.Run("wake "+string(wake), func(t *testing.T) {
			rg := newRig(t)
			rg.newRing(nil)
			p := rg.call(negotiate.Hello{Wake: wake, Credit: 3})
			p.send(p.offered())
			m, got := p.receive(negotiate.TypeStart)
			if len(got) != files || m.Start.Credit != 3 {
				t.Errorf("start with %d files and credit %d, want %d and 3", len(got), m.Start.Credit, files)
			}
		})
	}
}
