// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"github.com/seed-3c7e7623/camd/zenoh/transport"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Sample is a value that was put, or the news that one was deleted.
//
// Payload and Attachment belong to the receiver. They lie in memory that is
// used again once [Sample.Release] is called; without that call the garbage
// collector takes it.
type Sample struct {
	Key        string
	Kind       Kind
	Payload    []byte
	Encoding   Encoding
	Attachment []byte // nil: none
	Timestamp  Timestamp
	Source     SourceInfo
	QoS        QoS
	// Peer is who sent it, known where that one and this session are peers, which
	// pass nothing on. Zero: it came by a router, as a reply, or from this session.
	Peer ZID

	buf *transport.Buffer
}

// Release gives the memory of Payload and Attachment back, which must not be
// used afterwards. Call it on one copy of a sample only.
func (s *Sample) Release() {
	if s.buf != nil {
		s.buf.Release()
		s.buf, s.Payload, s.Attachment = nil, nil, nil
	}
}

// sampleOf makes a sample that shares the memory of d, which holds only while
// its message does: see own.
func sampleOf(key string, d *wire.Data, q QoS) Sample {
	s := Sample{
		Key: key, Payload: d.Payload, Encoding: d.Encoding, Attachment: d.Attachment,
		Timestamp: d.Timestamp, Source: d.Source, QoS: q,
	}
	if d.Del {
		s.Kind = Delete
	}
	return s
}

// own makes the memory of s last: it keeps buf, in which it lies, or copies.
func (s *Sample) own(pool *transport.Pool, buf *transport.Buffer) {
	if buf != nil {
		buf.Retain()
		s.buf = buf
		return
	}
	s.copy(pool, nil)
}

// copy makes the memory of s last, with prefix before its payload.
func (s *Sample) copy(pool *transport.Pool, prefix []byte) {
	n := len(prefix) + len(s.Payload) + len(s.Attachment)
	if n == 0 {
		s.Payload = nil
		if s.Attachment != nil {
			s.Attachment = []byte{}
		}
		return
	}
	b := pool.Get(n)
	b.B = append(append(append(b.B, prefix...), s.Payload...), s.Attachment...)
	p := len(prefix) + len(s.Payload)
	s.Payload = b.B[:p:p]
	if s.Attachment != nil {
		s.Attachment = b.B[p:]
	}
	s.buf = b
}

// share makes a copy of s with a claim of its own on the memory.
func (s *Sample) share() Sample {
	if s.buf != nil {
		s.buf.Retain()
	}
	return *s
}
