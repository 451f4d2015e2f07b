// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// PublisherOptions are settings of a [Publisher].
type PublisherOptions struct {
	QoS         QoS      // like Destination, the setting qos/publication may overwrite it
	Encoding    Encoding // of samples that have none of their own
	Destination Locality
	// Cache keeps the last so many samples for subscribers that come late and
	// ask for history (advanced subscribers, TRANSIENT_LOCAL in ROS 2). Every
	// sample then carries its number and time, and half a second after one the
	// last number is told to who may have missed it; with best effort the time
	// alone, and nothing is told. 0: none.
	Cache int
	// OnMatching is called with each change of [Publisher.Matching], from the
	// goroutine that reads the network or declares subscribers. It must not
	// block.
	OnMatching func(matching bool)
}

// Publisher puts samples under one key. It knows whether anybody subscribes,
// and sends nothing when nobody does.
type Publisher struct {
	s   *Session
	id  uint32 // of its interest
	key string
	o   PublisherOptions
	out outgoing

	cache   *cache // nil: none
	routed  atomic.Pointer[route]
	matched atomic.Bool // others subscribe
	closed  atomic.Bool

	mu     sync.Mutex
	remote map[*face]map[uint32]struct{} // subscribers of others, by number
	told   map[*face]struct{}            // who has told all that there are

	telling sync.Mutex // for the following
	busy    bool       // somebody reports
	again   bool       // there may be news
	last    bool       // what OnMatching was called with last; only who reports uses it
}

// Publisher declares a publisher; o may be nil. Its key becomes a number on
// the wire. It fails with [ErrKeyExpr] or [ErrClosed].
func (s *Session) Publisher(key string, o *PublisherOptions) (*Publisher, error) {
	if err := keyexpr.Validate(key); err != nil {
		return nil, err
	}
	if o == nil {
		o = &PublisherOptions{}
	}
	p := &Publisher{s: s, key: key, o: *o, remote: map[*face]map[uint32]struct{}{}, told: map[*face]struct{}{}}
	o = &p.o
	s.overwrite(key, &o.QoS, &o.Destination)
	p.out = outgoing{
		key: key, qos: o.QoS.wire(CongestionDrop), reliable: o.QoS.Reliability == Reliable, remote: o.Destination.remote(),
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	p.id = s.id()
	p.out.wire = s.declareKey(key)
	s.publishers[p.id] = p
	p.look()
	for _, f := range s.open() {
		p.interest(f)
	}
	s.mu.Unlock()
	if o.Cache > 0 {
		c, err := s.newCache(p)
		if err != nil {
			_ = p.Close()
			return nil, err
		}
		p.cache = c
	}
	p.tell()
	return p, nil
}

// interest asks who subscribes, with the session's mutex held.
func (p *Publisher) interest(f *face) {
	if !p.out.remote || !f.asks {
		return
	}
	f.control(&wire.Interest{
		ID: p.id, Mode: wire.ModeCurrentFuture, Options: wire.WantKeys | wire.WantSubscribers,
		Restricted: true, Key: full(p.key), QoS: wire.QoSControl,
	})
}

// Key is the publisher's key.
func (p *Publisher) Key() string { return p.key }

// Put puts a value, like [Session.Put]; o may be nil.
func (p *Publisher) Put(ctx context.Context, payload []byte, o *PutOptions) error {
	return p.put(ctx, Put, payload, o)
}

// Delete says that the value is gone.
func (p *Publisher) Delete(ctx context.Context, o *PutOptions) error {
	return p.put(ctx, Delete, nil, o)
}

func (p *Publisher) put(ctx context.Context, kind Kind, payload []byte, o *PutOptions) error {
	var opts PutOptions
	if o != nil {
		opts = *o
	}
	if p.closed.Load() {
		release(&opts)
		return ErrClosed
	}
	if opts.Encoding == (Encoding{}) {
		opts.Encoding = p.o.Encoding
	}
	out := p.out
	out.kind = kind
	to := p.to()
	out.local, out.faces = to.subs, to.faces
	if c := p.cache; c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stamp(&opts)
		c.keep(p.key, kind, payload, &opts)
	}
	return p.s.put(ctx, &out, payload, &opts)
}

// Close ends the publisher.
func (p *Publisher) Close() error {
	s := p.s
	s.mu.Lock()
	_, there := s.publishers[p.id]
	delete(s.publishers, p.id)
	for _, f := range s.open() {
		if f.asks && there && p.out.remote {
			f.control(&wire.Interest{ID: p.id, QoS: wire.QoSControl})
		}
	}
	s.mu.Unlock()
	p.close()
	if p.cache != nil {
		p.cache.close()
	}
	return nil
}

func (p *Publisher) close() { p.closed.Store(true) }
