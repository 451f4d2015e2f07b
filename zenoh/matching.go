// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import "github.com/seed-3c7e7623/camd/zenoh/keyexpr"

// Matching says whether anybody subscribes to the publisher's key, as far as
// the others have told.
func (p *Publisher) Matching() bool {
	return p.matched.Load() && p.out.remote || p.o.Destination.local() && len(p.to().subs) > 0
}

// to says where samples go: to those who subscribe, and to those who have not
// told yet whether they do.
func (p *Publisher) to() *route {
	v := p.s.version.Load()
	if r := p.routed.Load(); r != nil && r.version == v {
		return r
	}
	r := &route{version: v}
	if p.o.Destination.local() {
		r.subs = p.s.subscribers(p.key, Locality.local)
	}
	if p.out.remote {
		p.s.mu.Lock()
		p.mu.Lock()
		for _, f := range p.s.open() {
			_, told := p.told[f]
			if len(p.remote[f]) > 0 || !f.complete && !told {
				r.faces = append(r.faces, f)
			}
		}
		p.mu.Unlock()
		p.s.mu.Unlock()
	}
	p.routed.Store(r)
	return r
}

// look books the subscribers that the others have declared already, with the
// session's mutex held.
func (p *Publisher) look() {
	if !p.out.remote {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.s.open() {
		for _, id := range f.subsAt.matching(p.key) {
			p.book(f, id)
		}
	}
}

// book notes a subscriber of the other side, with the mutex held.
func (p *Publisher) book(f *face, id uint32) {
	if p.remote[f] == nil {
		p.remote[f] = map[uint32]struct{}{}
	}
	p.remote[f][id] = struct{}{}
	p.matched.Store(true)
}

// found books a subscriber of the other side.
func (p *Publisher) found(f *face, id uint32, key string) {
	if !p.out.remote || !keyexpr.Intersects(p.key, key) {
		return
	}
	p.mu.Lock()
	p.book(f, id)
	p.mu.Unlock()
	p.s.version.Add(1)
	p.tell()
}

func (p *Publisher) gone(f *face, id uint32) {
	p.mu.Lock()
	if _, ok := p.remote[f][id]; !ok {
		p.mu.Unlock()
		return
	}
	delete(p.remote[f], id)
	if len(p.remote[f]) == 0 {
		delete(p.remote, f)
	}
	p.matched.Store(len(p.remote) > 0)
	p.mu.Unlock()
	p.s.version.Add(1)
	p.tell()
}

// answered is called when the other side has told all subscribers there are.
func (p *Publisher) answered(f *face) {
	p.mu.Lock()
	p.told[f] = struct{}{}
	p.mu.Unlock()
	p.s.version.Add(1)
	p.tell()
}

// reset forgets the other side, which is gone.
func (p *Publisher) reset(f *face) {
	p.mu.Lock()
	delete(p.remote, f)
	delete(p.told, f)
	p.routed.Store(nil) // which may keep it
	p.matched.Store(len(p.remote) > 0)
	p.mu.Unlock()
	p.s.version.Add(1)
	p.tell()
}

// tell reports a change. Several goroutines may come: one of them reports, what
// is newest.
func (p *Publisher) tell() {
	if p.o.OnMatching == nil {
		return
	}
	p.telling.Lock()
	if p.busy {
		p.again = true
		p.telling.Unlock()
		return
	}
	p.busy = true
	for p.again = true; p.again; {
		p.again = false
		p.telling.Unlock()
		now := p.Matching()
		if now != p.last {
			p.last = now
			p.o.OnMatching(now)
		}
		p.telling.Lock()
	}
	p.busy = false
	p.telling.Unlock()
}
