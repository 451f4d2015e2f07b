// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Session is a client of a router or peer, or a peer among others. It stays
// usable while connections are away: it connects again and declares everything
// again. All methods may be called from any goroutine.
type Session struct {
	cfg       *config.Config
	log       *slog.Logger
	zid       ZID
	clock     clock
	pool      transport.Pool
	params    transport.Params
	endpoints []link.Endpoint
	link      link.Options

	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup // the goroutines
	done   chan struct{}  // closed when they have ended
	over   atomic.Bool    // the session is closed or being closed

	finished chan struct{} // closed when nothing of the session is left
	closeErr error         // of closing; set before that

	faces   atomic.Pointer[[]*face] // the connections
	role    atomic.Uint32           // see Role
	refused atomic.Uint64           // connections that were not let in

	mu         sync.Mutex
	claims     map[ZID]*claim
	listeners  []*link.Listener
	pending    chan struct{} // one for each handshake with who came in
	dialling   map[ZID]struct{}
	gossip     gossip
	auto       *auto         // nil: the role is fixed
	news       chan struct{} // something that opening waits for has happened
	closed     bool
	lastErr    error // why the connection before ended
	tryErr     error // why the last try to connect failed
	up         chan struct{}
	reconnects uint64
	past       Stats // of connections before
	nextID     uint32
	subs       map[uint32]*Subscriber
	queryables map[uint32]*Queryable
	tokens     map[uint32]*Token
	publishers map[uint32]*Publisher
	watchers   map[uint32]*LivelinessSubscriber
	asks       map[uint32]*livelinessGet
	queries    map[uint32]*Replies
	subsAt     index[*Subscriber]           // the same by key
	asked      index[*Queryable]            // the same by key
	watchersAt index[*LivelinessSubscriber] // the same by key
	tokensOf   map[string]int               // how many tokens, by key
	keys       map[string]uint16            // declared key expressions
	short      map[string]wire.WireExpr     // those by DeclareKeyExpr
	routes     map[string]*route            // by key
	version    atomic.Uint64                // of what routes depend on
	unsent     atomic.Uint64                // samples without a connection
	expected   map[int]int                  // what receives messages of up to so many bytes, 0: any
	budget     transport.Budget             // of messages that arrive
	copied     atomic.Int64                 // bytes of copies for connections that are behind
}

// Options are settings of [Open] beside the configuration.
type Options struct {
	Logger *slog.Logger // nil: slog.Default
}

// Open connects as c says; nil: the built-in settings. It fails with
// [ErrConfig], or with [ErrUnreachable] when no endpoint answers. ctx bounds
// opening only.
func Open(ctx context.Context, c *config.Config, o *Options) (*Session, error) {
	s, err := newSession(c, o)
	if err != nil {
		return nil, err
	}
	s.spawn(func() { <-s.ctx.Done() })
	switch s.cfg.Mode {
	case "peer":
		err = s.openPeer(ctx)
	case "auto":
		err = s.openAuto(ctx)
	default:
		err = s.openClient(ctx)
	}
	go func() {
		s.tasks.Wait()
		close(s.done)
	}()
	if err != nil {
		s.shut(ctx)
		<-s.finished
		return nil, err
	}
	return s, nil
}

func newSession(c *config.Config, o *Options) (*Session, error) {
	if c == nil {
		c = config.New()
	}
	if o == nil {
		o = &Options{}
	}
	s := &Session{
		cfg: c, log: o.Logger, done: make(chan struct{}), finished: make(chan struct{}), up: make(chan struct{}),
		claims: map[ZID]*claim{}, dialling: map[ZID]struct{}{}, routes: map[string]*route{},
		pending: make(chan struct{}, max(c.Transport.AcceptPending, 1)), gossip: newGossip(), news: make(chan struct{}, 1),
		subs: map[uint32]*Subscriber{}, queryables: map[uint32]*Queryable{}, tokens: map[uint32]*Token{},
		publishers: map[uint32]*Publisher{}, watchers: map[uint32]*LivelinessSubscriber{}, asks: map[uint32]*livelinessGet{},
		queries: map[uint32]*Replies{}, keys: map[string]uint16{}, short: map[string]wire.WireExpr{}, tokensOf: map[string]int{},
		expected: map[int]int{},
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if err := s.configure(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	s.clock = clock{id: s.zid, now: time.Now}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	for _, n := range c.Notes() {
		s.log.Warn("zenoh setting", "key", n.Key, "reason", n.Text, "source", n.Source)
	}
	return s, nil
}

func (s *Session) configure() error {
	c := s.cfg
	switch c.Mode {
	case "client":
		s.role.Store(uint32(wire.Client))
	case "peer":
		s.role.Store(uint32(wire.Peer))
	case "auto":
		s.role.Store(uint32(wire.Peer))
	default:
		return fmt.Errorf("mode %q: want client, peer or auto", c.Mode)
	}
	if c.ID == "" {
		for s.zid.Len() < 16 { // the last byte is not zero
			_, _ = rand.Read(s.zid[:])
		}
	} else {
		z, err := wire.ParseZID(c.ID)
		if err != nil {
			return err
		}
		s.zid = z
	}
	for _, e := range c.Connect.Endpoints {
		ep, err := link.ParseEndpoint(e)
		if err != nil {
			return err
		}
		if !c.Allows(ep.Proto) {
			return fmt.Errorf("endpoint %s: transport/link/protocols does not allow %s", e, ep.Proto)
		}
		s.endpoints = append(s.endpoints, ep)
	}
	if len(s.endpoints) == 0 && c.Mode == "client" && !c.Scout.Multicast {
		return errors.New("connect/endpoints is empty, and scouting/multicast is off: a client has nobody to connect to")
	}
	res, err := c.ResolutionByte()
	if err != nil {
		return err
	}
	tls, err := c.TLS.Link()
	if err != nil {
		return err
	}
	users, err := c.Users()
	if err != nil {
		return err
	}
	t := c.Transport
	s.link = link.Options{TLS: tls, NotSentBytes: t.NotSentBytes, MaxBatch: t.BatchSize}
	s.params = transport.Params{
		ZID: s.zid, WhatAmI: wire.Client, Resolution: res, QoS: t.QoS, BatchSize: t.BatchSize, Lease: t.Lease, KeepAlive: t.KeepAlive,
		User: c.User, Password: c.Password, Users: users, QueueBatches: t.Queue, QueueBytes: t.QueueBytes, WaitBeforeDrop: t.WaitBeforeDrop,
		WaitBeforeClose: t.WaitBeforeClose, Batching: t.Batching, FlushPeriod: t.FlushPeriod, ReadBytes: t.ReadBytes, MaxMessage: t.MaxMessage, Budget: &s.budget,
	}
	s.limit()
	return s.params.Validate()
}

// ZID is the session's id.
func (s *Session) ZID() ZID { return s.zid }

// Timestamp returns a stamp that is larger than every one before.
func (s *Session) Timestamp() Timestamp { return s.clock.stamp() }

// id returns a number that was not used before, with the mutex held.
func (s *Session) id() uint32 {
	s.nextID++
	return s.nextID
}
