// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"fmt"
	"iter"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// QueryableOptions are settings of a [Queryable].
type QueryableOptions struct {
	Handler[*Query]
	Complete bool     // it knows all there is about its key expression
	Origin   Locality // whose queries to answer
	// MaxQuery is the most bytes that a query may bring. A session that expects
	// nothing large drops what is larger before it has it whole. 0: any size that
	// the settings allow.
	MaxQuery int
}

// Queryable answers queries whose key expression meets its own.
type Queryable struct {
	s   *Session
	id  uint32
	key string
	o   QueryableOptions
	q   *queue[*Query]
}

// Queryable declares a queryable; o may be nil. It fails with [ErrKeyExpr] or
// [ErrClosed].
func (s *Session) Queryable(key string, o *QueryableOptions) (*Queryable, error) {
	if err := keyexpr.Validate(key); err != nil {
		return nil, err
	}
	if o == nil {
		o = &QueryableOptions{}
	}
	h := o.Handler
	if call := h.Callback; call != nil {
		h.Callback = func(q *Query) {
			call(q)
			if !q.kept {
				_ = q.Close()
			}
		}
	}
	x := &Queryable{s: s, key: key, o: *o, q: newQueue(h, 256, func(q **Query) { _ = (*q).Close() })}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	x.id = s.id()
	s.queryables[x.id] = x
	s.expect(o.MaxQuery, 1)
	s.asked.add(key, x)
	if o.Origin.remote() {
		s.announce(wire.WantQueryables, x.declare(), key)
	}
	return x, nil
}

func (x *Queryable) declare() *wire.Declare {
	return &wire.Declare{QoS: wire.QoSControl, Body: wire.DeclQueryable, ID: x.id, Key: full(x.key), Complete: x.o.Complete}
}

// Key is the queryable's key expression.
func (x *Queryable) Key() string { return x.key }

// Receive returns the next query, which must be closed. It fails with ctx's
// error, and with [ErrClosed] when the queryable is closed.
func (x *Queryable) Receive(ctx context.Context) (*Query, error) { return x.q.receive(ctx) }

// All yields queries until ctx ends or the queryable is closed.
func (x *Queryable) All(ctx context.Context) iter.Seq[*Query] { return all(ctx, x.q) }

// Close ends the queryable. Queries that nobody has received end without an
// answer.
func (x *Queryable) Close() error {
	s := x.s
	s.mu.Lock()
	_, there := s.queryables[x.id]
	if there {
		s.expect(x.o.MaxQuery, -1)
	}
	delete(s.queryables, x.id)
	s.asked.remove(x.key, x)
	if there && x.o.Origin.remote() {
		s.withdraw(wire.UndeclQueryable, x.id)
	}
	s.mu.Unlock()
	x.q.discard(ErrClosed)
	return nil
}

// queryablesFor lists those that answer a query for key.
func (s *Session) queryablesFor(key string, t Target, origin func(Locality) bool) (out []*Queryable, complete *Queryable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.asked.matching(key) {
		if !origin(x.o.Origin) {
			continue
		}
		whole := x.o.Complete && keyexpr.Includes(x.key, key)
		if t == AllComplete && !whole {
			continue
		}
		if whole {
			complete = x
		}
		out = append(out, x)
	}
	return out, complete
}

// localQueryables lists those of this session that a query reaches; best says
// that they are enough.
func (s *Session) localQueryables(key string, o *GetOptions) (out []*Queryable, best bool) {
	if !o.Destination.local() {
		return nil, false
	}
	out, complete := s.queryablesFor(key, o.Target, Locality.local)
	if complete != nil && o.Target == BestMatching {
		return []*Queryable{complete}, true
	}
	return out, false
}

// askLocal asks queryables of this session.
func (s *Session) askLocal(r *Replies, to []*Queryable, params string, o *GetOptions) {
	a := &answering{s: s, id: r.id, key: r.key, anyKey: r.anyKey, local: r, qos: o.QoS.wire(CongestionBlock)}
	a.open.Store(int32(len(to)))
	for _, x := range to {
		x.q.push(&Query{
			a: a, eid: x.id, Key: r.key, Parameters: params, HasPayload: o.Payload != nil,
			Payload: append([]byte(nil), o.Payload...), Encoding: o.Encoding, Attachment: clone(o.Attachment), Source: o.Source,
		})
	}
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// request hands a query of the other side to the queryables that match.
func (f *face) request(m *wire.Request, in transport.Arrival, buf *transport.Buffer) {
	s := f.s
	var to []*Queryable
	key, ok := f.key(m.Key, "REQUEST")
	if ok {
		to, _ = s.queryablesFor(key, Target(m.Target), Locality.remote)
	}
	a := &answering{s: s, face: f, id: m.ID, key: key, qos: m.QoS}
	if len(to) == 0 {
		a.final()
		return
	}
	a.open.Store(int32(len(to)))
	params := string(m.Query.Parameters)
	a.anyKey = hasParameter(params, "_anyke")
	smp := Sample{Payload: m.Query.Payload, Attachment: m.Query.Attachment}
	smp.own(&s.pool, buf)
	for i, x := range to {
		own := smp
		if i < len(to)-1 {
			own = smp.share()
		}
		x.q.receiveRemote(&Query{
			a: a, eid: x.id, Key: key, Parameters: params, HasPayload: m.Query.HasBody, Payload: own.Payload,
			Encoding: m.Query.Encoding, Attachment: own.Attachment, Source: m.Query.Source, buf: own.buf,
		})
	}
}

// String is the selector.
func (q *Query) String() string {
	if q.Parameters == "" {
		return q.Key
	}
	return fmt.Sprintf("%s?%s", q.Key, q.Parameters)
}
