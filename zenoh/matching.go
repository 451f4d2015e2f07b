// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import "github.com/seed-3c7e7623/camd/zenoh/keyexpr"

// Matching says whether anybody subscribes to the publisher's key, as far as
// the other side has told.
func (p *Publisher) Matching() bool {
	return p.matched.Load() && p.out.remote || len(p.local()) > 0
}

// on makes f the connection whose subscribers are counted, with the mutex held.
func (p *Publisher) on(f *face) {
	if p.face != f {
		p.face = f
		clear(p.remote)
	}
}

// found books a subscriber of the other side.
func (p *Publisher) found(f *face, id uint32, key string) {
	if !p.out.remote || !keyexpr.Intersects(p.key, key) {
		return
	}
	p.mu.Lock()
	p.on(f)
	p.remote[id] = struct{}{}
	p.matched.Store(true)
	p.mu.Unlock()
	p.tell()
}

func (p *Publisher) gone(f *face, id uint32) {
	p.mu.Lock()
	p.on(f)
	delete(p.remote, id)
	p.matched.Store(len(p.remote) > 0)
	p.mu.Unlock()
	p.tell()
}

// answered is called when the other side has told all subscribers there are.
func (p *Publisher) answered(f *face) {
	p.mu.Lock()
	p.on(f)
	p.matched.Store(len(p.remote) > 0)
	p.unknown.Store(false)
	p.mu.Unlock()
	p.tell()
}

// reset forgets the other side, which is gone.
func (p *Publisher) reset() {
	p.mu.Lock()
	p.on(nil)
	p.matched.Store(false)
	p.unknown.Store(true)
	p.mu.Unlock()
	p.tell()
}

// tell reports a change.
func (p *Publisher) tell() {
	if p.o.OnMatching == nil {
		return
	}
	p.mu.Lock()
	now := p.Matching()
	changed := now != p.told
	p.told = now
	p.mu.Unlock()
	if changed {
		p.o.OnMatching(now)
	}
}
