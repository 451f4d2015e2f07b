// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// FuzzFace gives a session whatever network messages the bytes hold, on a
// connection of its own: nothing panics, and what is remembered of the other
// side is what is booked.
func FuzzFace(f *testing.F) {
	for _, r := range recordings(f) {
		var whole []byte
		for _, b := range r.batches {
			rd := wire.NewReader(b)
			var fr wire.Frame
			if h, _ := rd.Peek(); wire.ID(h) == wire.IDFrame && fr.Decode(rd) == nil {
				rest := rd.Rest()
				f.Add(rest)
				whole = append(whole, rest...)
			}
		}
		f.Add(whole)
	}
	s, _ := joined(f, nil)
	declareEverything(f, s, func() {})
	real := s.open()[0]
	f.Fuzz(func(t *testing.T, b []byte) {
		x := newFace(s, real.t, real.endpoint)
		var m wire.Message
		for r := wire.NewReader(b); r.Len() > 0 && m.Decode(r) == nil; {
			x.HandleMessage(&m, transport.Arrival{Priority: 5, Reliable: true}, nil)
		}
		held := 0
		for _, k := range x.theirs {
			held += len(k)
		}
		for _, k := range x.subs {
			held += len(k)
		}
		for _, q := range x.queryables {
			held += len(q.key)
		}
		for _, w := range x.wanted {
			held += len(w.key)
		}
		for _, k := range x.tokens {
			held += 2 * len(k)
		}
		if held != x.held {
			t.Errorf("%d bytes are remembered, %d booked", held, x.held)
		}
		x.forget()
	})
}

// FuzzHistory reads the parameters of a query for history.
func FuzzHistory(f *testing.F) {
	for _, s := range []string{"_anyke;_max=2;_sn=3..9", "_time=[now(-2s)..]", "_time=[2026-01-02T15:04:05Z..]", "_sn=..;_max=-1;_time=[now("} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, params string) {
		h := parseHistory(params, time.Unix(1_800_000_000, 0))
		if h.last < 0 {
			t.Errorf("at most %d samples", h.last)
		}
	})
}
