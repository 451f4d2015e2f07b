// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// declared books what the other side declares and takes back.
func (f *face) declared(m *wire.Declare) {
	switch m.Body {
	case wire.DeclKeyExpr:
		if k, ok := f.key(m.Key, "D_KEYEXPR"); ok && f.hold(len(k)-len(f.theirs[uint16(m.ID)])) {
			f.theirs[uint16(m.ID)] = k
		}
	case wire.UndeclKeyExpr:
		if k, ok := f.theirs[uint16(m.ID)]; ok {
			f.held -= len(k)
			delete(f.theirs, uint16(m.ID))
		}
	case wire.DeclSubscriber:
		if k, ok := f.key(m.Key, "D_SUBSCRIBER"); ok {
			f.subscribed(m.ID, k)
		}
	case wire.UndeclSubscriber:
		f.unsubscribed(m.ID)
	case wire.DeclQueryable:
		if k, ok := f.key(m.Key, "D_QUERYABLE"); ok {
			f.answers(m.ID, answerer{k, m.Complete})
		}
	case wire.UndeclQueryable:
		f.answers(m.ID, answerer{})
	case wire.DeclToken:
		if k, ok := f.key(m.Key, "D_TOKEN"); ok {
			f.token(m, k)
		}
	case wire.UndeclToken:
		f.untoken(m)
	case wire.DeclFinal:
		switch {
		case m.HasInterest && m.Interest != 0:
			f.s.interestDone(f, m.Interest)
		case f.mesh:
			f.s.told(f)
		}
	}
}

// subscribed books a subscriber of the other side.
func (f *face) subscribed(id uint32, key string) {
	s := f.s
	s.mu.Lock()
	old, known := f.subs[id]
	if known && old == key || !f.hold(len(key)-len(old)) {
		s.mu.Unlock()
		return
	}
	if known {
		f.subsAt.remove(old, id)
	}
	f.subs[id] = key
	f.subsAt.add(key, id)
	s.mu.Unlock()
	s.eachPublisher(func(p *Publisher) {
		if known {
			p.gone(f, id)
		}
		p.found(f, id, key)
	})
	s.version.Add(1)
}

func (f *face) unsubscribed(id uint32) {
	s := f.s
	s.mu.Lock()
	key, known := f.subs[id]
	delete(f.subs, id)
	f.subsAt.remove(key, id)
	s.mu.Unlock()
	if !known {
		return
	}
	f.held -= len(key)
	s.eachPublisher(func(p *Publisher) { p.gone(f, id) })
	s.version.Add(1)
}

// answers books a queryable of the other side; one without key is gone.
func (f *face) answers(id uint32, a answerer) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	old, known := f.queryables[id]
	if !f.hold(len(a.key) - len(old.key)) {
		return
	}
	if known {
		f.answersAt.remove(old.key, id)
	}
	if a.key == "" {
		delete(f.queryables, id)
	} else {
		f.queryables[id] = a
		f.answersAt.add(a.key, id)
	}
}

// told is called when a peer has told all that it has.
func (s *Session) told(f *face) {
	s.mu.Lock()
	f.complete = true
	s.mu.Unlock()
	s.version.Add(1)
	signal(s.news)
}

// hold books n bytes and what a map needs beside them; false above the limit.
func (f *face) hold(n int) bool {
	if f.held+n > maxHeld || len(f.subs)+len(f.tokens)+len(f.queryables)+len(f.wanted) > maxHeld/64 {
		f.s.log.Warn("zenoh declaration ignored", "reason", "the other side declared too much", "bytes", f.held)
		return false
	}
	f.held += n
	return true
}

func (f *face) token(m *wire.Declare, key string) {
	s := f.s
	if m.HasInterest && m.Interest != 0 {
		s.mu.Lock()
		ask, watcher := s.asks[m.Interest], s.watchers[m.Interest]
		s.mu.Unlock()
		if ask != nil {
			ask.found(key)
		}
		if watcher == nil {
			return // nobody will take it back
		}
	}
	// The number may be 0: routers up to 1.5 at least count from there.
	if old, known := f.tokens[m.ID]; !known || old != key {
		if known { // the number now names another
			f.drop(m.ID)
			f.vanished(old, !f.asks)
		}
		if !f.hold(2 * len(key)) {
			return
		}
		f.tokens[m.ID] = key
		s.mu.Lock()
		f.alive[key]++
		s.mu.Unlock()
	}
	for _, w := range s.watching(key) {
		// An answer to an interest is about what was there before; only those
		// that asked for it want it.
		if !m.HasInterest || m.Interest == 0 || m.Interest == w.id || w.history {
			w.appeared(key, true)
		}
	}
}

// drop forgets a token of the other side.
func (f *face) drop(id uint32) {
	key := f.tokens[id]
	f.held -= 2 * len(key)
	delete(f.tokens, id)
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.alive[key]--; f.alive[key] <= 0 {
		delete(f.alive, key)
	}
}

func (f *face) untoken(m *wire.Declare) {
	key, known := f.tokens[m.ID]
	if known {
		f.drop(m.ID)
	} else {
		if !m.HasKey {
			return
		}
		k, ok := f.key(m.Key, "U_TOKEN")
		if !ok {
			return
		}
		key = k
	}
	f.vanished(key, !known || !f.asks)
}

// vanished tells who watches that a token has gone, unless there is another of
// its key. before says that it may be from before those who watch: they were not
// told of it.
func (f *face) vanished(key string, before bool) {
	for _, w := range f.s.watching(key) {
		w.vanished(key, before, true)
	}
}

// forget takes back everything that the other side declared: the connection is
// gone.
func (f *face) forget() {
	s := f.s
	s.eachPublisher(func(p *Publisher) { p.reset(f) })
	for _, key := range f.tokens {
		f.vanished(key, !f.asks)
	}
}

// isAlive says whether a token of ours or of the other side has the key.
func (s *Session) isAlive(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokensOf[key] > 0 {
		return true
	}
	for _, f := range s.open() {
		if f.alive[key] > 0 {
			return true
		}
	}
	return false
}

func (s *Session) watching(key string) []*LivelinessSubscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*LivelinessSubscriber
	for _, w := range s.watchersAt.matching(key) {
		out = append(out, w)
	}
	return out
}

func (s *Session) eachPublisher(do func(*Publisher)) {
	s.mu.Lock()
	all := make([]*Publisher, 0, len(s.publishers))
	for _, p := range s.publishers {
		all = append(all, p)
	}
	s.mu.Unlock()
	for _, p := range all {
		do(p)
	}
}

// interestDone is the end of the answer to an interest.
func (s *Session) interestDone(f *face, id uint32) {
	s.mu.Lock()
	p, ask := s.publishers[id], s.asks[id]
	s.mu.Unlock()
	if p != nil && f.asks {
		p.answered(f)
	}
	if ask != nil {
		ask.answered(f, nil)
	}
}
