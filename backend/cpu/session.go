// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cpu

import (
	"context"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Session is what this package needs of a Zenoh session. What is declared stays
// declared when the connection is lost and comes back.
type Session interface {
	// ZID is the session's id as Zenoh prints it.
	ZID() string
	// Connected says whether there is somebody to send to, or could be without
	// this side's doing: a peer is never without.
	Connected() bool
	// Publish declares a publisher.
	Publish(key string, o PublishOptions) (Publisher, error)
	// Token declares a liveliness token.
	Token(key string) (Closer, error)
}

// Closer is something that was declared. Close takes it back and never waits.
type Closer interface{ Close() error }

// PublishOptions are settings of a Publisher.
type PublishOptions struct {
	BestEffort bool
	Cache      int // samples kept for late subscribers that ask for history
	// OnMatching is called with each change of whether anybody subscribes. It
	// does not block.
	OnMatching func(matching bool)
}

// Publisher puts samples under its key. Put never waits: of the samples that
// find the link busy the newest is kept.
type Publisher interface {
	Closer
	// Matching says whether anybody subscribes.
	Matching() bool
	Put(o Put) error
	// Detach gives back a payload that was put with Done and that slow links
	// still send: they go on with a copy. It returns the bytes that were copied,
	// 0 where nobody had it, and never waits.
	Detach(payload []byte) int
	// Forget drops the samples that are kept for late subscribers.
	Forget()
}

// Put is a sample: the value is Prefix and then Payload.
type Put struct {
	Prefix, Payload, Attachment []byte
	// Done, if set, is called once when Payload is no longer needed, from any
	// goroutine, and learns whether the sample went to the network. Payload is
	// then not copied. Without it Put copies.
	Done func(sent bool)
}

// Zenoh is s as this package wants it.
func Zenoh(s *zenoh.Session) Session { return zenohSession{s} }

type zenohSession struct{ s *zenoh.Session }

func (z zenohSession) ZID() string { return z.s.ZID().String() }

func (z zenohSession) Connected() bool { return z.s.Role() == wire.Peer || z.s.Info().Connected }

func (z zenohSession) Token(key string) (Closer, error) { return z.s.Token(key) }

func (z zenohSession) Publish(key string, o PublishOptions) (Publisher, error) {
	q := zenoh.QoS{Congestion: zenoh.CongestionDrop}
	if o.BestEffort {
		q.Reliability = zenoh.BestEffort
	}
	p, err := z.s.Publisher(key, &zenoh.PublisherOptions{QoS: q, Cache: o.Cache, OnMatching: o.OnMatching})
	if err != nil {
		return nil, err
	}
	return &zenohPublisher{p}, nil
}

type zenohPublisher struct{ p *zenoh.Publisher }

func (z *zenohPublisher) Matching() bool { return z.p.Matching() }
func (z *zenohPublisher) Close() error   { return z.p.Close() }
func (z *zenohPublisher) Forget()        { z.p.Forget() }

func (z *zenohPublisher) Detach(payload []byte) int { return z.p.Detach(payload) }

func (z *zenohPublisher) Put(o Put) error {
	return z.p.Put(context.Background(), o.Payload, &zenoh.PutOptions{Prefix: o.Prefix, Attachment: o.Attachment, Done: o.Done})
}
