// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"sync"
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// route is where what is put under a key goes.
type route struct {
	version uint64
	subs    []*Subscriber // in the session
	faces   []*face
	wire    wire.WireExpr // the key as it goes out
}

// maxRoutes bounds the keys whose routes are remembered.
const maxRoutes = 4096

// route says where a sample of key goes that no publisher puts.
func (s *Session) route(key string) *route {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.version.Load()
	if r := s.routes[key]; r != nil && r.version == v {
		return r
	}
	r := &route{version: v, subs: s.matchingLocked(key, Locality.local), wire: s.written(key)}
	for _, f := range s.open() {
		if f.asks || !f.complete || f.wants(key) {
			r.faces = append(r.faces, f)
		}
	}
	if len(s.routes) >= maxRoutes {
		clear(s.routes)
	}
	if len(key) <= maxKnownKey {
		s.routes[key] = r
	}
	return r
}

// wants says whether the other side has a subscriber for key, with the
// session's mutex held.
func (f *face) wants(key string) bool {
	for range f.subsAt.matching(key) {
		return true
	}
	return false
}

// questions lists the connections that a query goes to; nil where queryables of
// this session are enough. With the mutex held.
func (s *Session) questions(key string, t Target) []*face {
	var all []*face
	for _, f := range s.open() {
		match, whole := f.asks || !f.complete, false
		for _, id := range f.answersAt.matching(key) {
			q := f.queryables[id]
			w := q.complete && keyexpr.Includes(q.key, key)
			whole = whole || w
			match = match || w || t != AllComplete
		}
		if whole && t == BestMatching {
			return []*face{f}
		}
		if match {
			all = append(all, f)
		}
	}
	return all
}

// fan gives a payload that goes to several connections back when the last has
// it.
type fan struct {
	left    atomic.Int32
	sent    atomic.Bool
	release func()
	done    func(sent bool)
	each    func(sent bool) // one, made once
}

var fans sync.Pool

// newFan calls what o says after n ends of one.
func newFan(n int, o *PutOptions) *fan {
	f, _ := fans.Get().(*fan)
	if f == nil {
		f = &fan{}
		f.each = f.one
	}
	f.release, f.done = o.Release, o.Done
	f.sent.Store(false)
	f.left.Store(int32(n))
	return f
}

func (f *fan) one(sent bool) {
	if sent {
		f.sent.Store(true)
	}
	if f.left.Add(-1) > 0 {
		return
	}
	release, done, any := f.release, f.done, f.sent.Load()
	f.release, f.done = nil, nil
	fans.Put(f)
	if release != nil {
		release()
	}
	if done != nil {
		done(any)
	}
}
