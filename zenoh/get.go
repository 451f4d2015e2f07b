// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Target says which queryables get a query.
type Target uint8

// The targets.
const (
	BestMatching Target = iota // the nearest complete one, else all
	All
	AllComplete
)

// Consolidation says which replies of the same key reach the one who asked.
type Consolidation uint8

// The consolidations.
const (
	ConsolidationAuto      Consolidation = iota // latest; none for queries over time
	ConsolidationNone                           // all
	ConsolidationMonotonic                      // at once, but none that is older than one before
	ConsolidationLatest                         // the newest of each key, at the end
)

// GetOptions are settings of [Session.Get].
type GetOptions struct {
	Target        Target
	Consolidation Consolidation
	Timeout       time.Duration // 0: that of the session
	Payload       []byte        // goes to the queryables; nil: none
	Encoding      Encoding
	Attachment    []byte // nil: none
	Source        SourceInfo
	QoS           QoS // the default congestion control is block
	// Destination says whose queryables to ask.
	Destination Locality
	Handler     Handler[Reply]
	// MaxReply is the most bytes that a reply may have, as
	// [QueryableOptions.MaxQuery] is.
	MaxReply int
}

// maxReplies bounds the keys of replies that are remembered, and with them the
// replies that are held back until the last has come. Their bytes are bounded
// as those of a message are.
const maxReplies = 1 << 16

// Reply is an answer to a query: a sample, or an error that a queryable sent.
type Reply struct {
	Sample
	// Err is not nil when this is an error; Payload and Encoding then hold what
	// it says.
	Err *ReplyError
	// Replier is the session that answered, if it said so.
	Replier ZID
}

// ReplyError is an error that a queryable answered with.
type ReplyError struct {
	Text string // the payload
}

func (e *ReplyError) Error() string { return "error reply: " + e.Text }

// Replies are the answers to a query.
type Replies struct {
	s      *Session
	id     uint32
	key    string
	anyKey bool
	mode   Consolidation
	most   int // bytes of a reply; 0: any
	q      *queue[Reply]
	stop   func() bool
	timer  *time.Timer

	mu      sync.Mutex
	faces   map[*face]struct{} // it was sent on, and has not ended there
	pending int                // ends that have not come
	cut     error              // why an end came early
	latest  map[string]Reply
	held    int      // bytes in latest
	order   []string // keys of latest
	newest  map[string]Timestamp
}

// Get asks the queryables whose key expression meets that of the selector,
// "key" or "key?name=value;name=value". The query ends by itself; ctx ends it
// earlier. It fails with [ErrKeyExpr], [ErrClosed], and with [ErrNotConnected]
// when nobody in the session can answer either.
func (s *Session) Get(ctx context.Context, selector string, o *GetOptions) (*Replies, error) {
	if o == nil {
		o = &GetOptions{}
	}
	key, params, _ := strings.Cut(selector, "?")
	if err := keyexpr.Validate(key); err != nil {
		return nil, err
	}
	r := &Replies{
		s: s, key: key, mode: o.Consolidation, most: o.MaxReply, q: newQueue(o.Handler, 256, (*Reply).release),
		latest: map[string]Reply{}, newest: map[string]Timestamp{}, anyKey: hasParameter(params, "_anyke"),
	}
	if r.mode == ConsolidationAuto || r.mode > ConsolidationLatest {
		r.mode = ConsolidationLatest
		if hasParameter(params, "_time") {
			r.mode = ConsolidationNone
		}
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = s.cfg.QueryTimeout
	}
	locals, best := s.localQueryables(key, o)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	var to []*face
	if o.Destination.remote() && !best {
		if to = s.questions(key, o.Target); len(to)+len(locals) == 0 && s.offline() {
			s.mu.Unlock()
			return nil, ErrNotConnected
		}
	}
	r.id = s.id()
	r.faces = make(map[*face]struct{}, len(to))
	for _, f := range to {
		r.faces[f] = struct{}{}
	}
	r.pending = len(to) + min(len(locals), 1)
	none := r.pending == 0
	s.queries[r.id] = r
	s.expect(r.most, 1)
	s.mu.Unlock()
	if none {
		r.finish(nil)
		return r, nil
	}
	r.mu.Lock()
	r.timer = time.AfterFunc(timeout, func() { r.finish(r.open(ErrTimeout)) })
	r.stop = context.AfterFunc(ctx, func() { r.finish(r.open(context.Cause(ctx))) })
	r.mu.Unlock()
	if len(to) > 0 {
		if err := r.send(ctx, to, r.request(params, timeout, o)); err != nil {
			r.finish(err)
			return nil, err
		}
	}
	if len(locals) > 0 {
		s.askLocal(r, locals, params, o)
	}
	return r, nil
}

// send sends the question to each connection. It fails when none takes it for
// another reason than that it has ended, of which [Replies.lost] learns.
func (r *Replies) send(ctx context.Context, to []*face, m *wire.Request) error {
	failed := 0
	var first error
	for _, f := range to {
		err := r.s.sendError(f.send(ctx, m, m.QoS, congestion(m.QoS, true)))
		if err == nil || errors.Is(err, ErrNotConnected) {
			continue
		}
		if failed++; failed == 1 {
			first = err
		}
		if failed < len(to) {
			r.leave(f, err)
		}
	}
	if failed == len(to) {
		return first
	}
	return nil
}

// grace is what the wire gets more than the timeout here, so that our end
// comes first and not the error of a router.
const grace = time.Second

func (r *Replies) request(params string, timeout time.Duration, o *GetOptions) *wire.Request {
	r.s.mu.Lock()
	key := r.s.written(r.key)
	r.s.mu.Unlock()
	m := &wire.Request{
		ID: r.id, Key: key, QoS: o.QoS.wire(CongestionBlock), Target: uint8(min(o.Target, AllComplete)),
		TimeoutMillis: uint64(min(timeout, math.MaxInt64-grace)+grace) / uint64(time.Millisecond),
		Query: wire.Query{
			Parameters: []byte(params), Source: o.Source, HasBody: o.Payload != nil,
			Encoding: o.Encoding, Payload: o.Payload, Attachment: o.Attachment,
		},
	}
	switch r.mode {
	case ConsolidationNone:
		m.Query.Consolidation = 1
	case ConsolidationMonotonic:
		m.Query.Consolidation = 2
	case ConsolidationLatest:
		m.Query.Consolidation = 3
	}
	return m
}

// hasParameter says whether the parameters name p, with or without value.
func hasParameter(params, p string) bool {
	for part := range strings.SplitSeq(params, ";") {
		if name, _, _ := strings.Cut(part, "="); name == p {
			return true
		}
	}
	return false
}

func (r *Reply) release() { r.Sample.Release() }

func (r *Reply) size() int { return len(r.Key) + len(r.Payload) + len(r.Attachment) }

// Receive returns the next reply. It fails with ctx's error; when there are no
// more with [io.EOF], or with why the query ended early: [ErrTimeout],
// [ErrNotConnected], [ErrReplies], [ErrClosed], or the error of the context of
// [Session.Get]. Where time ran out it is an [*Unanswered].
func (r *Replies) Receive(ctx context.Context) (Reply, error) { return r.q.receive(ctx) }

// All yields the replies until ctx ends or there are no more.
func (r *Replies) All(ctx context.Context) iter.Seq[Reply] { return all(ctx, r.q) }

// Err is why the query ended early; nil if it has not, or ended by itself.
func (r *Replies) Err() error {
	r.q.mu.Lock()
	defer r.q.mu.Unlock()
	if r.q.err == nil || errors.Is(r.q.err, io.EOF) {
		return nil
	}
	return r.q.err
}

// Done is closed when the query has ended.
func (r *Replies) Done() <-chan struct{} { return r.q.done }

// Close ends the query. Replies that came before can still be taken.
func (r *Replies) Close() error {
	r.finish(ErrClosed)
	return nil
}

// add books an answer.
func (r *Replies) add(v Reply) {
	if v.Err == nil && !r.anyKey && !keyexpr.Intersects(v.Key, r.key) {
		v.release()
		return
	}
	if v.Err != nil || r.mode == ConsolidationNone {
		r.q.push(v)
		return
	}
	r.mu.Lock()
	last, known := r.newest[v.Key]
	if known && v.Timestamp.Before(last) {
		r.mu.Unlock()
		v.release()
		return
	}
	old, held := r.latest[v.Key]
	more := v.size() - old.size()
	if limit := r.s.cfg.Transport.MaxMessage; !known && len(r.newest) >= maxReplies || r.mode == ConsolidationLatest && r.held+more > limit {
		err := fmt.Errorf("%w: one of %d bytes after %d keys and %d bytes, at most are %d and %d", ErrReplies, v.size(), len(r.newest), r.held, maxReplies, limit)
		r.mu.Unlock()
		v.release()
		r.finish(err)
		return
	}
	r.newest[v.Key] = v.Timestamp
	if r.mode == ConsolidationMonotonic {
		r.mu.Unlock()
		r.q.push(v)
		return
	}
	r.latest[v.Key] = v
	r.held += more
	if !held {
		r.order = append(r.order, v.Key)
	}
	r.mu.Unlock()
	if held {
		old.release()
	}
}

// end books one end of the answers; err is why it came early.
func (r *Replies) end(err error) {
	r.mu.Lock()
	r.pending--
	if r.cut == nil {
		r.cut = err
	}
	over, err := r.pending == 0, r.cut
	r.mu.Unlock()
	if over {
		r.finish(err)
	}
}

// leave books the end of the answers through a connection, once.
func (r *Replies) leave(f *face, err error) {
	r.mu.Lock()
	_, ours := r.faces[f]
	delete(r.faces, f)
	r.mu.Unlock()
	if ours {
		r.end(err)
	}
}

// lost is called when a connection has ended.
func (r *Replies) lost(f *face) {
	r.leave(f, fmt.Errorf("query cut short: %w", r.s.away()))
}

// open adds to err who has not answered.
func (r *Replies) open(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return unanswered(r.faces, err)
}

func (r *Replies) finish(err error) {
	s := r.s
	s.mu.Lock()
	if s.queries[r.id] != nil {
		s.expect(r.most, -1)
	}
	delete(s.queries, r.id)
	s.mu.Unlock()
	r.mu.Lock()
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.stop != nil {
		r.stop()
	}
	clear(r.faces)
	last := make([]Reply, 0, len(r.order))
	for _, k := range r.order {
		last = append(last, r.latest[k])
	}
	r.latest, r.order = map[string]Reply{}, nil
	r.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	r.q.end(err, last)
}

// response hands an answer to its query.
func (f *face) response(m *wire.Response, in transport.Arrival, buf *transport.Buffer) {
	s := f.s
	s.mu.Lock()
	r := s.queries[m.ID]
	s.mu.Unlock()
	if r == nil {
		return
	}
	v := Reply{Replier: m.Responder.ZID}
	if m.Err {
		v.Sample = sampleOf(r.key, &m.Data, qosOf(m.QoS, in.Reliable))
		v.Err = &ReplyError{Text: string(m.Data.Payload)}
	} else {
		key, ok := f.key(m.Key, "RESPONSE")
		if !ok {
			return
		}
		v.Sample = sampleOf(key, &m.Data, qosOf(m.QoS, in.Reliable))
		if !v.Timestamp.IsZero() {
			s.clock.follow(v.Timestamp)
		}
	}
	v.own(&s.pool, buf)
	if r.q.callback != nil {
		r.q.serial.Lock()
		defer r.q.serial.Unlock()
	}
	r.add(v)
}

// final is the end of the answers that come through a connection.
func (s *Session) final(f *face, id uint32) {
	s.mu.Lock()
	r := s.queries[id]
	s.mu.Unlock()
	if r != nil {
		r.leave(f, nil)
	}
}
