// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// wanted is what the other side, a client, wants to be told of from now on. The
// session's mutex guards it.
type wanted struct {
	kinds byte
	key   string // "": all
	// Of interests in one declaration for all that matches:
	aggregate bool
	members   map[uint32]struct{}
	shown     uint32 // the declaration; 0: none
}

// matches says whether a declaration of the kind is asked for.
func (w *wanted) matches(kind byte, key string) bool {
	return w.kinds&kind != 0 && (w.key == "" || keyexpr.Intersects(w.key, key))
}

// announce tells the others of a declaration, with the mutex held.
func (s *Session) announce(kind byte, d *wire.Declare, key string) {
	for _, f := range s.open() {
		if f.tells {
			f.control(d)
			continue
		}
		for _, w := range f.wanted {
			if w.matches(kind, key) {
				f.show(w, d, nil)
			}
		}
	}
}

// show declares to a client what it asked for; now is the interest that is
// being answered, nil: none.
func (f *face) show(w *wanted, d *wire.Declare, now *wire.Interest) {
	m := *d
	if now != nil {
		m.HasInterest, m.Interest = true, now.ID
	}
	if !w.aggregate {
		f.shown[m.ID] = struct{}{}
		f.control(&m)
		return
	}
	w.members[m.ID] = struct{}{}
	if w.shown == 0 {
		w.shown = f.s.id()
		m.ID, m.Key = w.shown, full(w.key)
		f.control(&m)
	}
}

// withdraw takes a declaration back, with the mutex held.
func (s *Session) withdraw(body wire.Decl, id uint32) {
	for _, f := range s.open() {
		_, shown := f.shown[id]
		if f.tells || shown {
			delete(f.shown, id)
			f.control(&wire.Declare{QoS: wire.QoSControl, Body: body, ID: id})
		}
		for _, w := range f.wanted {
			if _, ok := w.members[id]; !ok {
				continue
			}
			delete(w.members, id)
			if len(w.members) == 0 {
				f.control(&wire.Declare{QoS: wire.QoSControl, Body: body, ID: w.shown})
				w.shown = 0
			}
		}
	}
}

// interest answers what a node asks that relies on answers: what we declared
// that matches, then the end. A client is also told of what comes and goes
// later; others are told of that in any case.
func (f *face) interest(m *wire.Interest) {
	s := f.s
	key := ""
	if m.Restricted && m.Mode != wire.ModeFinal {
		var ok bool
		if key, ok = f.key(m.Key, "INTEREST"); !ok {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &wanted{kinds: m.Options, key: key}
	if m.Mode == wire.ModeFinal {
		f.forgetWanted(m.ID)
		return
	}
	if m.Mode != wire.ModeCurrent && !f.tells {
		f.forgetWanted(m.ID)
		if f.hold(len(key)) {
			w.aggregate = m.Options&wire.Aggregate != 0 && key != "" && m.Options&wire.WantTokens == 0
			w.members = map[uint32]struct{}{}
			f.wanted[m.ID] = w
		}
	}
	if m.Mode == wire.ModeFuture {
		return
	}
	for d, k := range s.declarations {
		if !w.matches(kindOf(d.Body), k) {
			continue
		}
		if f.wanted[m.ID] == w {
			f.show(w, d, m)
			continue
		}
		d.HasInterest, d.Interest = true, m.ID
		if m.Mode == wire.ModeCurrent {
			d.ID = 0
		}
		f.control(d)
	}
	f.control(&wire.Declare{HasInterest: true, Interest: m.ID, QoS: wire.QoSControl, Body: wire.DeclFinal})
}

func (f *face) forgetWanted(id uint32) {
	if w := f.wanted[id]; w != nil {
		f.held -= len(w.key)
		delete(f.wanted, id)
	}
}

func kindOf(b wire.Decl) byte {
	switch b {
	case wire.DeclSubscriber:
		return wire.WantSubscribers
	case wire.DeclQueryable:
		return wire.WantQueryables
	}
	return wire.WantTokens
}

// declarations yields what the session has declared for others, with its key.
// With the mutex held.
func (s *Session) declarations(yield func(*wire.Declare, string) bool) {
	for _, x := range s.subs {
		if x.origin.remote() && !yield(x.declare(), x.key) {
			return
		}
	}
	for _, x := range s.queryables {
		if x.o.Origin.remote() && !yield(x.declare(), x.key) {
			return
		}
	}
	for _, x := range s.tokens {
		if !yield(x.declare(), x.key) {
			return
		}
	}
}
