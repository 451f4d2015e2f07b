// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// PutOptions say how a sample is put. The zero value, and nil, are the
// defaults.
type PutOptions struct {
	Encoding   Encoding
	Attachment []byte // nil: none
	Timestamp  Timestamp
	Source     SourceInfo
	// Release, when set, makes the payload go out of the caller's memory
	// without a copy. The payload must not change until Release is called:
	// once, when the kernel has it or nobody will. Release may be called from
	// any goroutine, also before Put returns, and must not block.
	Release func()
	// Done, when set, is what Release is, and learns whether the sample went to
	// the network: one that gave way to a newer one of its key did not.
	Done func(sent bool)
	// Prefix begins the value, and payload follows it: small bytes before large
	// ones that should not be copied. It is copied, and may change after Put.
	Prefix []byte

	// The following are fixed by a [Publisher] and ignored there. The setting
	// qos/publication may overwrite them.
	QoS         QoS
	Destination Locality
}

// Put puts a value under a key. It returns when the sample is queued; with
// [CongestionBlock] it waits for room, at most until ctx ends. It fails with
// [ErrKeyExpr], [ErrNotConnected] (those in this session got it), [ErrDropped],
// [ErrBlocked] and [ErrClosed].
func (s *Session) Put(ctx context.Context, key string, payload []byte, o *PutOptions) error {
	return s.putKey(ctx, key, Put, payload, o)
}

// Delete says that the value of a key is gone.
func (s *Session) Delete(ctx context.Context, key string, o *PutOptions) error {
	return s.putKey(ctx, key, Delete, nil, o)
}

func (s *Session) putKey(ctx context.Context, key string, kind Kind, payload []byte, o *PutOptions) error {
	if o == nil {
		o = &PutOptions{}
	}
	if err := keyexpr.Validate(key); err != nil {
		release(o)
		return err
	}
	qos, destination := o.QoS, o.Destination
	s.overwrite(key, &qos, &destination)
	to := s.route(key)
	out := outgoing{
		key: key, wire: to.wire, qos: qos.wire(CongestionDrop),
		reliable: qos.Reliability == Reliable, remote: destination.remote(), kind: kind,
	}
	if destination.local() {
		out.local = to.subs
	}
	if out.remote {
		out.faces = to.faces
	}
	return s.put(ctx, &out, payload, o)
}

func release(o *PutOptions) {
	if o.Release != nil {
		o.Release()
	}
	if o.Done != nil {
		o.Done(false)
	}
}

// outgoing is where a sample goes and how.
type outgoing struct {
	key      string
	wire     wire.WireExpr
	qos      wire.QoS
	reliable bool
	remote   bool
	local    []*Subscriber
	faces    []*face
	kind     Kind
}

// copyAbove is the size of a payload from which on a copy gets a buffer of its
// own beside the message.
const copyAbove = 16 << 10

func (s *Session) put(ctx context.Context, out *outgoing, payload []byte, o *PutOptions) error {
	if s.over.Load() {
		release(o)
		return ErrClosed
	}
	d := wire.Data{
		Del: out.kind == Delete, Timestamp: o.Timestamp, Encoding: o.Encoding, Source: o.Source,
		Attachment: o.Attachment, Prefix: o.Prefix, Payload: payload,
	}
	if d.Timestamp.IsZero() && s.cfg.Timestamping {
		d.Timestamp = s.clock.stamp()
	}
	if len(out.local) > 0 {
		smp := sampleOf(out.key, &d, qosOf(out.qos, out.reliable))
		smp.copy(&s.pool, o.Prefix)
		deliver(&smp, out.local)
	}
	if len(out.faces) == 0 {
		release(o)
		if out.remote && s.offline() {
			s.unsent.Add(1)
			return s.away()
		}
		return nil
	}
	return s.send(ctx, out, &d, payload, o)
}

// send sends a sample to each connection that it goes to. It fails when none
// takes it.
func (s *Session) send(ctx context.Context, out *outgoing, d *wire.Data, payload []byte, o *PutOptions) error {
	var shared *transport.Buffer
	var back *fan
	n := len(out.faces)
	given := o.Release != nil || o.Done != nil
	switch {
	case given && n > 1:
		back = newFan(n, o)
	case !given && len(payload) >= copyAbove:
		shared = s.pool.Get(len(payload))
		shared.B = append(shared.B, payload...)
	}
	push := wire.Push{Key: out.wire, QoS: out.qos, Data: *d}
	var first error
	took := false
	for i, f := range out.faces {
		m := f.t.Get()
		m.Priority, m.Reliable, m.Express = out.qos.Priority(), out.reliable, out.qos&wire.QoSExpress != 0
		m.Congestion, m.Key = congestion(out.qos, out.reliable), out.key
		m.Head = push.AppendHead(m.Head[:0])
		switch {
		case back != nil:
			m.Payload, m.Done = payload, back.each
		case given:
			m.Payload, m.Release, m.Done = payload, o.Release, o.Done
		case shared != nil:
			if i < n-1 {
				shared.Retain()
			}
			m.Buffer, m.Payload = shared, shared.B
		default:
			m.Head = append(m.Head, payload...)
		}
		if err := f.t.Send(ctx, m); err == nil {
			took = true
		} else if first == nil {
			first = err
		}
	}
	if took {
		return nil
	}
	return s.sendError(first)
}
