// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"iter"
	"sync"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Token says that something is alive: it vanishes for others when it is closed
// or its session is gone.
type Token struct {
	s   *Session
	id  uint32
	key string
}

// Token declares a liveliness token. It fails with [ErrKeyExpr] or [ErrClosed].
func (s *Session) Token(key string) (*Token, error) {
	if err := keyexpr.Validate(key); err != nil {
		return nil, err
	}
	t := &Token{s: s, key: key}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	t.id = s.id()
	s.tokens[t.id] = t
	s.tokensOf[key]++
	s.announce(wire.WantTokens, t.declare(), key)
	s.mu.Unlock()
	for _, w := range s.watching(key) {
		w.appeared(key, false)
	}
	return t, nil
}

func (t *Token) declare() *wire.Declare {
	return &wire.Declare{QoS: wire.QoSControl, Body: wire.DeclToken, ID: t.id, Key: full(t.key)}
}

// Key is the token's key.
func (t *Token) Key() string { return t.key }

// Close takes the token away.
func (t *Token) Close() error {
	s := t.s
	s.mu.Lock()
	_, there := s.tokens[t.id]
	delete(s.tokens, t.id)
	if there {
		if s.tokensOf[t.key]--; s.tokensOf[t.key] == 0 {
			delete(s.tokensOf, t.key)
		}
		s.withdraw(wire.UndeclToken, t.id)
	}
	s.mu.Unlock()
	if there {
		for _, w := range s.watching(t.key) {
			w.vanished(t.key, false, false)
		}
	}
	return nil
}

// LivelinessOptions are settings of a [LivelinessSubscriber].
type LivelinessOptions struct {
	Handler[Sample]
	History bool // report also the tokens that are there already
}

// LivelinessSubscriber receives a put when a token appears and a delete when
// the last one of its key vanishes.
type LivelinessSubscriber struct {
	s       *Session
	id      uint32
	key     string
	history bool
	q       *queue[Sample]

	mu     sync.Mutex
	seen   map[string]struct{} // reported as alive
	events []Sample            // to be handed over, in order
	busy   bool                // somebody hands over
	room   sync.Cond           // for events
}

// maxEvents is how many changes may wait before whoever reads the network does.
const maxEvents = 1024

// SubscribeLiveliness declares a subscriber of tokens; o may be nil.
func (s *Session) SubscribeLiveliness(key string, o *LivelinessOptions) (*LivelinessSubscriber, error) {
	if err := keyexpr.Validate(key); err != nil {
		return nil, err
	}
	if o == nil {
		o = &LivelinessOptions{}
	}
	w := &LivelinessSubscriber{
		s: s, key: key, history: o.History, seen: map[string]struct{}{},
		q: newQueue(o.Handler, 256, (*Sample).Release),
	}
	w.room.L = &w.mu
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	w.id = s.id()
	s.watchers[w.id] = w
	s.watchersAt.add(key, w)
	var own []string
	if o.History {
		own = s.alive(key)
	}
	for _, f := range s.open() {
		if f.asks {
			f.control(w.interest(w.history))
		}
	}
	s.mu.Unlock()
	for _, k := range own {
		w.appeared(k, false)
	}
	return w, nil
}

// alive lists the keys of the tokens that match, as far as nobody needs to be
// asked for them, with the mutex held.
func (s *Session) alive(key string) (out []string) {
	for _, t := range s.tokens {
		if keyexpr.Intersects(t.key, key) {
			out = append(out, t.key)
		}
	}
	for _, f := range s.open() {
		for k := range f.alive {
			if !f.asks && keyexpr.Intersects(k, key) {
				out = append(out, k)
			}
		}
	}
	return out
}

// interest asks for tokens from now on, with current also for those there are.
func (w *LivelinessSubscriber) interest(current bool) *wire.Interest {
	m := &wire.Interest{
		ID: w.id, Mode: wire.ModeFuture, Options: wire.WantKeys | wire.WantTokens,
		Restricted: true, Key: full(w.key), QoS: wire.QoSControl,
	}
	if current {
		m.Mode = wire.ModeCurrentFuture
	}
	return m
}

func (w *LivelinessSubscriber) appeared(key string, network bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, old := w.seen[key]; !old {
		w.seen[key] = struct{}{}
		w.report(Sample{Key: key, Kind: Put}, network)
	}
}

// vanished reports the end of a token, unless there is another of its key: one
// that was reported, or with before also one from before.
func (w *LivelinessSubscriber) vanished(key string, before, network bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.s.isAlive(key) { // looked at here, so that changes are reported in their order
		return
	}
	_, old := w.seen[key]
	delete(w.seen, key)
	if old || before && !w.history {
		w.report(Sample{Key: key, Kind: Delete}, network)
	}
}

// report hands changes over in order, with the mutex held, which it gives up
// meanwhile: who gets them may change tokens.
func (w *LivelinessSubscriber) report(v Sample, network bool) {
	for network && w.busy && len(w.events) >= maxEvents {
		w.room.Wait()
	}
	w.events = append(w.events, v)
	if w.busy {
		return
	}
	w.busy = true
	for len(w.events) > 0 {
		v := w.events[0]
		w.events = w.events[1:]
		w.mu.Unlock()
		w.q.push(v)
		w.mu.Lock()
		w.room.Broadcast()
	}
	w.busy, w.events = false, nil
}

// Receive returns the next change. It fails with ctx's error, and with
// [ErrClosed] when the subscriber is closed and nothing is left.
func (w *LivelinessSubscriber) Receive(ctx context.Context) (Sample, error) { return w.q.receive(ctx) }

// All yields changes until ctx ends or the subscriber is closed.
func (w *LivelinessSubscriber) All(ctx context.Context) iter.Seq[Sample] { return all(ctx, w.q) }

// Close ends the subscriber.
func (w *LivelinessSubscriber) Close() error {
	s := w.s
	s.mu.Lock()
	_, there := s.watchers[w.id]
	delete(s.watchers, w.id)
	s.watchersAt.remove(w.key, w)
	for _, f := range s.open() {
		if f.asks && there {
			f.control(&wire.Interest{ID: w.id, QoS: wire.QoSControl})
		}
	}
	s.mu.Unlock()
	w.q.end(ErrClosed, nil)
	return nil
}

// livelinessGet is a question for the tokens that are there.
type livelinessGet struct {
	s    *Session
	id   uint32
	key  string
	mu   sync.Mutex
	keys map[string]struct{}
	err  error
	once sync.Once
	done chan struct{}

	faces map[*face]struct{} // that have not answered; the session's mutex guards it
}

// answered books the end of the answers of one that was asked.
func (g *livelinessGet) answered(f *face, err error) {
	g.s.mu.Lock()
	_, asked := g.faces[f]
	delete(g.faces, f)
	over := asked && len(g.faces) == 0
	g.s.mu.Unlock()
	if over {
		g.finish(err)
	}
}

func (g *livelinessGet) found(key string) {
	// 1.5 answers with keys that only meet where "**" takes a verbatim chunk.
	if !keyexpr.Intersects(g.key, key) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.keys) < maxReplies {
		g.keys[key] = struct{}{}
	}
}

func (g *livelinessGet) finish(err error) {
	g.once.Do(func() {
		g.err = err
		close(g.done)
	})
}

// Liveliness returns the keys of the tokens that match and are alive now, in
// no order. ctx bounds it, and without a deadline the timeout of queries does: the
// error is then an [*Unanswered], and the keys are those that were told until then.
func (s *Session) Liveliness(ctx context.Context, key string) ([]string, error) {
	if err := keyexpr.Validate(key); err != nil {
		return nil, err
	}
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.cfg.QueryTimeout, ErrTimeout)
		defer cancel()
	}
	g := &livelinessGet{s: s, key: key, keys: map[string]struct{}{}, faces: map[*face]struct{}{}, done: make(chan struct{})}
	s.mu.Lock()
	if s.closed || s.offline() {
		closed := s.closed
		s.mu.Unlock()
		if closed {
			return nil, ErrClosed
		}
		return nil, ErrNotConnected
	}
	g.id = s.id()
	s.asks[g.id] = g
	for _, k := range s.alive(key) {
		g.keys[k] = struct{}{}
	}
	for _, f := range s.open() {
		if !f.asks && f.complete {
			continue
		}
		g.faces[f] = struct{}{}
		f.control(&wire.Interest{
			ID: g.id, Mode: wire.ModeCurrent, Options: wire.WantKeys | wire.WantTokens,
			Restricted: true, Key: full(key), QoS: wire.QoSControl,
		})
	}
	asked := len(g.faces)
	s.mu.Unlock()
	if asked == 0 {
		g.finish(nil)
	}
	var err error
	select {
	case <-g.done:
		err = g.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	delete(s.asks, g.id)
	err = unanswered(g.faces, err)
	s.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	keys := make([]string, 0, len(g.keys))
	for k := range g.keys {
		keys = append(keys, k)
	}
	return keys, err
}
