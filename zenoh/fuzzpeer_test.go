// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/internal/fakenode"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// FuzzPeer gives a session that is a peer whatever network messages the bytes
// hold, from a peer and from a client: nothing panics, and what is remembered of
// them is what is booked.
func FuzzPeer(f *testing.F) {
	c := apart()
	c.Scout.Gossip.Autoconnect.Roles = nil // nobody shall be dialled
	s, err := Open(bounded(f), c, silent())
	if err != nil {
		f.Fatal(err)
	}
	declareEverything(f, s, func() {})
	var nodes []*fakenode.Node
	ended := make(chan struct{})
	for i, role := range []Role{wire.Peer, wire.Client} {
		n, err := fakenode.Dial(strings.TrimPrefix(at(s), "tcp/"), wire.Init{WhatAmI: role, ZID: wire.ZID{byte(i + 1), 1}})
		if err != nil {
			f.Fatal(err)
		}
		nodes = append(nodes, n)
		go func() {
			defer func() { ended <- struct{}{} }()
			for {
				if _, err := n.Batch(); err != nil {
					return
				}
			}
		}()
	}
	f.Cleanup(func() {
		for _, n := range nodes {
			_ = n.Close()
			<-ended
		}
		_ = s.Close(bounded(f))
	})
	linked(f, len(nodes), s)
	for _, b := range said(nodes[0]) {
		var fr wire.Frame
		r := wire.NewReader(b)
		if err := fr.Decode(r); err != nil {
			f.Fatal(err)
		}
		f.Add(r.Rest())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, real := range s.open() {
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
			if held != x.held || len(x.names) > maxNames {
				t.Errorf("%d bytes are remembered, %d booked; %d names", held, x.held, len(x.names))
			}
			x.forget()
		}
	})
}
