// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// face is one connection with what was declared on it. All of it is forgotten
// when the connection ends. Only the goroutine that reads uses the tables,
// unless it says otherwise.
type face struct {
	s        *Session
	t        *transport.Transport
	endpoint link.Endpoint
	accepted bool          // it came in
	gone     chan struct{} // closed when the connection has ended

	// What is said without being asked for depends on the roles.
	asks  bool // we ask the other side, which serves us: a router, or whoever we are a client of
	tells bool // we tell all that we declare; clients only get what they ask for
	mesh  bool // both are peers

	theirs map[uint16]string // declared by the other side
	names  map[uint64]ZID    // of nodes, in the other side's gossip

	// The session's mutex guards these.
	ours       map[uint16]string   // declared by us
	subs       map[uint32]string   // subscribers of the other side
	queryables map[uint32]answerer // queryables of the other side
	subsAt     index[uint32]       // the numbers of both by key
	answersAt  index[uint32]
	alive      map[string]int      // tokens by key
	complete   bool                // the other side has told all that it has
	wanted     map[uint32]*wanted  // what the other side, a client, wants to be told of
	shown      map[uint32]struct{} // what it was told of

	tokens  map[uint32]string // liveliness tokens of the other side
	held    int               // bytes in the tables
	known   map[string]string // keys that came before, so that they need no new memory
	matches map[string][]*Subscriber
	version uint64 // of the session that matches shows
}

// answerer is a queryable of the other side.
type answerer struct {
	key      string
	complete bool
}

const (
	// maxHeld bounds the tables of what the other side declares.
	maxHeld = 64 << 20
	// maxKnown and maxKnownKey bound the keys that are remembered: how many, and
	// the length of each.
	maxKnown    = 4096
	maxKnownKey = 1024
)

func newFace(s *Session, t *transport.Transport, e link.Endpoint) *face {
	own, other := t.Role(), t.RemoteRole()
	return &face{
		s: s, t: t, endpoint: e, gone: make(chan struct{}),
		asks:   own == wire.Client || other == wire.Router,
		tells:  own == wire.Client || other != wire.Client,
		mesh:   own == wire.Peer && other == wire.Peer,
		theirs: map[uint16]string{}, names: map[uint64]ZID{}, ours: map[uint16]string{}, subs: map[uint32]string{},
		queryables: map[uint32]answerer{}, complete: other == wire.Client, wanted: map[uint32]*wanted{}, shown: map[uint32]struct{}{},
		tokens: map[uint32]string{}, alive: map[string]int{}, known: map[string]string{}, matches: map[string][]*Subscriber{},
	}
}

// appender is a message that is sent as a whole.
type appender interface{ Append(b []byte) []byte }

// control sends a declaration. It never waits, nor calls back: the session's
// mutex may be held.
func (f *face) control(m appender) {
	out := f.t.Get()
	out.Priority, out.Reliable, out.Congestion, out.Later = wire.QoSControl.Priority(), true, transport.Drop, true
	out.Express = wire.QoSControl&wire.QoSExpress != 0
	out.Head = m.Append(out.Head[:0])
	_ = f.t.Send(context.Background(), out) // a lost connection declares all again
}

func (f *face) send(ctx context.Context, m appender, q wire.QoS, c transport.Congestion) error {
	out := f.t.Get()
	out.Priority, out.Reliable, out.Express, out.Congestion = q.Priority(), true, q&wire.QoSExpress != 0, c
	out.Head = m.Append(out.Head[:0])
	return f.t.Send(ctx, out)
}

// full is a key without a declared part.
func full(key string) wire.WireExpr { return wire.WireExpr{Suffix: []byte(key), Sender: true} }

// intern returns the string of b without new memory for keys that came before.
func (f *face) intern(b []byte) string {
	if k, ok := f.known[string(b)]; ok {
		return k
	}
	k := string(b)
	if len(b) > maxKnownKey {
		return k
	}
	if len(f.known) >= maxKnown {
		clear(f.known)
	}
	f.known[k] = k
	return k
}

// resolve returns the key that w names; false if its prefix is not declared.
func (f *face) resolve(w wire.WireExpr) (string, bool) {
	if w.Scope == 0 {
		return f.intern(w.Suffix), true
	}
	var prefix string
	var ok bool
	if w.Sender {
		prefix, ok = f.theirs[w.Scope]
	} else {
		f.s.mu.Lock()
		prefix, ok = f.ours[w.Scope]
		f.s.mu.Unlock()
	}
	if !ok || len(w.Suffix) == 0 {
		return prefix, ok
	}
	return prefix + string(w.Suffix), true
}

// HandleMessage takes a message of the other side. Nothing in its meaning ends
// the connection.
func (f *face) HandleMessage(m *wire.Message, in transport.Arrival, buf *transport.Buffer) {
	switch m.ID {
	case wire.IDPush:
		f.push(&m.Push, in, buf)
	case wire.IDDeclare:
		f.declared(&m.Declare)
	case wire.IDRequest:
		f.request(&m.Request, in, buf)
	case wire.IDResponse:
		f.response(&m.Response, in, buf)
	case wire.IDResponseFinal:
		f.s.final(f, m.ResponseFinal.ID)
	case wire.IDInterest:
		f.interest(&m.Interest)
	case wire.IDOAM:
		f.hear(&m.OAM)
	}
}

// key resolves w and looks whether it is a key expression.
func (f *face) key(w wire.WireExpr, what string) (string, bool) {
	k, ok := f.resolve(w)
	if ok && keyexpr.Validate(k) == nil {
		return k, true
	}
	f.s.log.Debug("zenoh message ignored", "message", what, "scope", w.Scope, "declared", ok, "key", k)
	return "", false
}

func (f *face) push(m *wire.Push, in transport.Arrival, buf *transport.Buffer) {
	key, ok := f.resolve(m.Key)
	if !ok {
		f.s.log.Debug("zenoh message ignored", "message", "PUSH", "scope", m.Key.Scope)
		return
	}
	subs := f.matching(key)
	if len(subs) == 0 {
		return
	}
	smp := sampleOf(key, &m.Data, qosOf(m.QoS, in.Reliable))
	if !smp.Timestamp.IsZero() {
		f.s.clock.follow(smp.Timestamp)
	}
	if f.mesh {
		smp.Peer = f.t.Remote()
	}
	smp.own(&f.s.pool, buf)
	for _, sub := range subs[1:] {
		sub.q.receiveRemote(smp.share())
	}
	subs[0].q.receiveRemote(smp)
}

// deliver gives each subscriber a copy that shares the memory of smp.
func deliver(smp *Sample, subs []*Subscriber) {
	for _, sub := range subs[1:] {
		sub.q.push(smp.share())
	}
	subs[0].q.push(*smp)
}

// matching lists the subscribers of what comes from outside under key.
func (f *face) matching(key string) []*Subscriber {
	if v := f.s.version.Load(); v != f.version || len(f.matches) > maxKnown {
		clear(f.matches)
		f.version = v
	}
	subs, ok := f.matches[key]
	if !ok {
		if keyexpr.Validate(key) == nil {
			subs = f.s.subscribers(key, Locality.remote)
		}
		if len(key) <= maxKnownKey {
			f.matches[key] = subs
		}
	}
	return subs
}

// declareAll declares everything of the session, with its mutex held.
func (f *face) declareAll() {
	s := f.s
	f.introduce()
	for k, id := range s.keys {
		f.declareKey(k, id)
	}
	if f.tells {
		for d := range s.declarations {
			f.control(d)
		}
	}
	if f.mesh { // the other side now knows all there is
		f.control(&wire.Declare{HasInterest: true, QoS: wire.QoSControl, Body: wire.DeclFinal})
	}
	if !f.asks {
		return
	}
	for _, x := range s.publishers {
		x.interest(f)
	}
	for _, x := range s.watchers {
		// After a loss those that were reported gone must be found again.
		f.control(x.interest(x.history || s.reconnects > 0))
	}
}

func (f *face) declareKey(k string, id uint16) {
	f.ours[id] = k
	f.control(&wire.Declare{QoS: wire.QoSControl, Body: wire.DeclKeyExpr, ID: uint32(id), Key: full(k)})
}
