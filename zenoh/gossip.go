// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"net"
	"slices"

	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// gossip is what peers and routers tell each other of where they and their
// neighbours can be reached. The session's mutex guards it.
type gossip struct {
	sn        uint64         // of our own entry
	ids       map[ZID]uint64 // by which we name nodes
	neighbour map[ZID]*neighbour
}

// neighbour is a node that we are connected to.
type neighbour struct {
	role     Role
	sn       uint64
	locators []string // as it says
	located  bool
}

const (
	// maxGossip bounds the bytes of one message.
	maxGossip = 1 << 20
	// maxNames bounds the nodes that one neighbour may name.
	maxNames = 4096
)

func newGossip() gossip {
	return gossip{sn: 1, ids: map[ZID]uint64{}, neighbour: map[ZID]*neighbour{}}
}

// id names a node; 0 is ourselves.
func (g *gossip) id(z ZID) uint64 {
	id, ok := g.ids[z]
	if !ok {
		id = uint64(len(g.ids) + 1)
		g.ids[z] = id
	}
	return id
}

// gossips says whether the other side takes part.
func (f *face) gossips() bool {
	g := f.s.cfg.Scout.Gossip
	role := f.t.RemoteRole()
	return g.Enabled && f.t.Role() == wire.Peer && role != wire.Client && slices.Contains(g.Target, role.String())
}

// near says whether the other side is on this host.
func (f *face) near() bool {
	switch a := f.t.RemoteAddr().(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		own, ok := f.t.LocalAddr().(*net.TCPAddr)
		return a.IP.IsLoopback() || ok && a.IP.Equal(own.IP)
	}
	return false
}

// reachable leaves out locators that mean something else on another host.
func (f *face) reachable(locators []string) []string {
	if f.near() {
		return locators
	}
	return slices.DeleteFunc(slices.Clone(locators), link.IsLoopback)
}

// ourself is our own entry for the other side.
func (f *face) ourself() wire.LinkState {
	s := f.s
	e := wire.LinkState{SN: s.gossip.sn, ZID: s.zid, WhatAmI: wire.Peer, Located: true, Locators: s.locatorsLocked(f.near())}
	for z := range s.gossip.neighbour {
		e.Links = append(e.Links, s.gossip.id(z))
	}
	return e
}

func (f *face) entry(z ZID, n *neighbour) wire.LinkState {
	e := wire.LinkState{PSID: f.s.gossip.id(z), SN: n.sn, ZID: z, WhatAmI: n.role, Located: n.located}
	if n.located {
		e.Locators = f.reachable(n.locators)
	}
	return e
}

func (f *face) tellStates(list []wire.LinkState) {
	f.control(&wire.OAM{ID: wire.OAMLinkState, QoS: wire.QoSControl, Body: wire.AppendLinkStates(nil, list)})
}

// introduce tells a new neighbour all that we know, before anything else. With
// the mutex held.
func (f *face) introduce() {
	if !f.gossips() {
		return
	}
	g := &f.s.gossip
	g.sn++
	list := []wire.LinkState{}
	for z, n := range g.neighbour {
		list = append(list, f.entry(z, n))
	}
	g.neighbour[f.t.Remote()] = &neighbour{role: f.t.RemoteRole()}
	list = append(list, f.entry(f.t.Remote(), g.neighbour[f.t.Remote()]))
	f.tellStates(append(list, f.ourself()))
}

// meet tells routers whom we are connected to now: those that relay between
// their peers (up to 1.8) leave out who is connected directly. With the mutex
// held.
func (s *Session) meet(f *face) {
	n := s.gossip.neighbour[f.t.Remote()]
	if n == nil {
		return
	}
	for _, o := range s.open() {
		if o != f && o.gossips() && o.t.RemoteRole() == wire.Router {
			o.tellStates([]wire.LinkState{o.entry(f.t.Remote(), n), o.ourself()})
		}
	}
}

// part is the end of a neighbour, with the mutex held.
func (s *Session) part(f *face) {
	if s.gossip.neighbour[f.t.Remote()] == nil {
		return
	}
	delete(s.gossip.neighbour, f.t.Remote())
	delete(s.gossip.ids, f.t.Remote())
	s.gossip.sn++
	for _, o := range s.open() {
		if o.gossips() && o.t.RemoteRole() == wire.Router {
			o.tellStates([]wire.LinkState{o.ourself()})
		}
	}
}

// hear takes what a neighbour says of itself and others.
func (f *face) hear(m *wire.OAM) {
	if m.ID != wire.OAMLinkState || len(m.Body) > maxGossip || !f.gossips() {
		return
	}
	list, err := wire.DecodeLinkStates(m.Body)
	if err != nil {
		f.s.log.Debug("zenoh message ignored", "message", "OAM", "err", err)
		return
	}
	for i := range list {
		e := &list[i]
		if e.ZID.IsZero() {
			e.ZID = f.names[e.PSID]
		} else if _, known := f.names[e.PSID]; known || len(f.names) < maxNames {
			f.names[e.PSID] = e.ZID
		}
		switch e.ZID {
		case ZID{}, f.s.zid:
		case f.t.Remote():
			f.hearSelf(e)
		default:
			f.s.heardOf(e.ZID, e.WhatAmI, e.Locators, f.s.cfg.Scout.Gossip.Autoconnect)
		}
	}
}

// hearSelf takes what a neighbour says of itself, and passes it on.
func (f *face) hearSelf(e *wire.LinkState) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.gossip.neighbour[f.t.Remote()]
	if n == nil || e.SN <= n.sn {
		return
	}
	n.sn = e.SN
	if !e.Located || n.located && slices.Equal(n.locators, e.Locators) {
		return
	}
	n.locators, n.located = e.Locators, true
	for _, o := range s.open() {
		if o != f && o.gossips() {
			o.tellStates([]wire.LinkState{o.entry(f.t.Remote(), n)})
		}
	}
}
