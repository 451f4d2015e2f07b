// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Query is a question that a queryable got. It must be closed after the last
// reply: the one who asks waits for that. A callback's query is closed when
// the callback returns, unless it calls [Query.Keep].
type Query struct {
	Key        string // the key expression asked for
	Parameters string
	HasPayload bool
	Payload    []byte // valid until Close
	Encoding   Encoding
	Attachment []byte // nil: none
	Source     SourceInfo

	a      *answering
	eid    uint32
	buf    *transport.Buffer
	kept   bool
	closed atomic.Bool
}

// ReplyOptions are settings of a reply.
type ReplyOptions struct {
	Encoding   Encoding
	Attachment []byte // nil: none
	Timestamp  Timestamp
	Source     SourceInfo
	QoS        QoS // the zero value is that of the query
}

// answering is where the answers to a query go, for all queryables that got it.
type answering struct {
	s      *Session
	face   *face
	local  *Replies
	id     uint32
	key    string
	anyKey bool
	qos    wire.QoS
	open   atomic.Int32 // queryables that have not closed
}

// Keep leaves the query open when the callback returns. Call it there, before
// handing the query on.
func (q *Query) Keep() { q.kept = true }

// Reply answers with a sample; o may be nil. The key must meet that of the
// query, unless that allows any (parameter _anyke).
func (q *Query) Reply(ctx context.Context, key string, payload []byte, o *ReplyOptions) error {
	return q.reply(ctx, key, false, payload, o)
}

// ReplyDelete answers that the value of a key is gone.
func (q *Query) ReplyDelete(ctx context.Context, key string, o *ReplyOptions) error {
	return q.reply(ctx, key, true, nil, o)
}

// ReplyErr answers with an error.
func (q *Query) ReplyErr(ctx context.Context, payload []byte, encoding Encoding) error {
	m := wire.Response{Err: true, Data: wire.Data{Encoding: encoding, Payload: payload}}
	return q.send(ctx, &m, q.Key, nil)
}

func (q *Query) reply(ctx context.Context, key string, del bool, payload []byte, o *ReplyOptions) error {
	if err := keyexpr.Validate(key); err != nil {
		return err
	}
	if !q.a.anyKey && !keyexpr.Intersects(key, q.Key) {
		return fmt.Errorf("%w: reply on %q to a query on %q", ErrKeyExpr, key, q.Key)
	}
	if o == nil {
		o = &ReplyOptions{}
	}
	m := wire.Response{Data: wire.Data{
		Del: del, Payload: payload, Encoding: o.Encoding, Attachment: o.Attachment, Timestamp: o.Timestamp, Source: o.Source,
	}}
	if m.Data.Timestamp.IsZero() && q.a.s.cfg.Timestamping {
		m.Data.Timestamp = q.a.s.clock.stamp()
	}
	return q.send(ctx, &m, key, o)
}

func (q *Query) send(ctx context.Context, m *wire.Response, key string, o *ReplyOptions) error {
	if q.closed.Load() {
		return ErrClosed
	}
	a := q.a
	m.ID, m.Key, m.QoS = a.id, full(key), a.qos
	if o != nil && o.QoS != (QoS{}) {
		m.QoS = o.QoS.wire(CongestionBlock)
	}
	m.Responder = SourceInfo{ZID: a.s.zid, EID: q.eid}
	if a.local != nil {
		v := Reply{Sample: sampleOf(key, &m.Data, qosOf(m.QoS, true)), Replier: a.s.zid}
		if m.Err {
			v.Err = &ReplyError{Text: string(m.Data.Payload)}
		}
		v.own(&a.s.pool, nil)
		a.local.add(v)
		return nil
	}
	out := a.face.t.Get()
	out.Priority, out.Reliable, out.Express = m.QoS.Priority(), true, m.QoS&wire.QoSExpress != 0
	out.Congestion = congestion(m.QoS, true)
	out.Head = m.AppendHead(out.Head[:0])
	if p := m.Data.Payload; len(p) < copyAbove {
		out.Head = append(out.Head, p...)
	} else {
		out.Buffer = a.s.pool.Get(len(p))
		out.Buffer.B = append(out.Buffer.B, p...)
		out.Payload = out.Buffer.B
	}
	return a.s.sendError(a.face.t.Send(ctx, out))
}

// Close says that there are no more replies. Further calls do nothing.
func (q *Query) Close() error {
	if q.closed.Swap(true) {
		return nil
	}
	if q.buf != nil {
		q.buf.Release()
		q.buf, q.Payload, q.Attachment = nil, nil, nil
	}
	if q.a.open.Add(-1) == 0 {
		q.a.final()
	}
	return nil
}

// final ends the answers.
func (a *answering) final() {
	if a.local != nil {
		a.local.end(nil)
		return
	}
	// In the lane of the replies, which it must not overtake. It never waits.
	m := wire.ResponseFinal{ID: a.id, QoS: a.qos}
	_ = a.face.send(context.Background(), &m, a.qos, transport.Drop)
}
