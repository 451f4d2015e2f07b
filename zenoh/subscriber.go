// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"iter"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// SubscriberOptions are settings of a [Subscriber].
type SubscriberOptions struct {
	Handler[Sample]
	Origin Locality // whose samples to take
}

// Subscriber receives the samples whose key its key expression matches.
type Subscriber struct {
	s      *Session
	id     uint32
	key    string
	origin Locality
	q      *queue[Sample]
}

// Subscribe declares a subscriber; o may be nil. It fails with [ErrKeyExpr] or
// [ErrClosed]. Samples that were put before are not received.
func (s *Session) Subscribe(key string, o *SubscriberOptions) (*Subscriber, error) {
	if err := keyexpr.Validate(key); err != nil {
		return nil, err
	}
	if o == nil {
		o = &SubscriberOptions{}
	}
	sub := &Subscriber{s: s, key: key, origin: o.Origin, q: newQueue(o.Handler, 256, (*Sample).Release)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	sub.id = s.id()
	s.subs[sub.id] = sub
	s.expect(0, 1)
	s.subsAt.add(key, sub)
	s.version.Add(1)
	if o.Origin.remote() {
		s.announce(wire.WantSubscribers, sub.declare(), key)
	}
	s.mu.Unlock()
	s.eachPublisher((*Publisher).tell)
	return sub, nil
}

func (sub *Subscriber) declare() *wire.Declare {
	return &wire.Declare{QoS: wire.QoSControl, Body: wire.DeclSubscriber, ID: sub.id, Key: full(sub.key)}
}

// Key is the subscriber's key expression.
func (sub *Subscriber) Key() string { return sub.key }

// Receive returns the next sample. It fails with ctx's error, and with
// [ErrClosed] when the subscriber is closed and nothing is left.
func (sub *Subscriber) Receive(ctx context.Context) (Sample, error) { return sub.q.receive(ctx) }

// All yields samples until ctx ends or the subscriber is closed.
func (sub *Subscriber) All(ctx context.Context) iter.Seq[Sample] { return all(ctx, sub.q) }

func all[T any](ctx context.Context, q *queue[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, err := q.receive(ctx)
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Dropped is how many samples a ring gave up for newer ones.
func (sub *Subscriber) Dropped() uint64 { return sub.q.dropped.Load() }

// Close ends the subscriber. What was received before can still be taken.
func (sub *Subscriber) Close() error {
	s := sub.s
	s.mu.Lock()
	_, there := s.subs[sub.id]
	if there {
		s.expect(0, -1)
	}
	delete(s.subs, sub.id)
	s.subsAt.remove(sub.key, sub)
	s.version.Add(1)
	if there && sub.origin.remote() {
		s.withdraw(wire.UndeclSubscriber, sub.id)
	}
	s.mu.Unlock()
	sub.q.end(ErrClosed, nil)
	s.eachPublisher((*Publisher).tell)
	return nil
}

// subscribers lists those that match key and take samples of the origin.
func (s *Session) subscribers(key string, origin func(Locality) bool) []*Subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.matchingLocked(key, origin)
}

func (s *Session) matchingLocked(key string, origin func(Locality) bool) []*Subscriber {
	var out []*Subscriber
	for _, sub := range s.subsAt.matching(key) {
		if origin(sub.origin) {
			out = append(out, sub)
		}
	}
	return out
}
