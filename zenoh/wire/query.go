// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// Query is QUERY, the body of REQUEST.
type Query struct {
	Consolidation uint8 // 0 auto, 1 none, 2 monotonic, 3 latest
	Parameters    []byte
	Source        SourceInfo
	HasBody       bool
	Encoding      Encoding
	Payload       []byte
	Attachment    []byte // nil: none
}

// Request is REQUEST.
type Request struct {
	ID            uint32
	Key           WireExpr
	QoS           QoS
	Target        uint8 // 0 best matching, 1 all, 2 all complete
	Budget        uint32
	TimeoutMillis uint64 // 0: not said
	Query         Query
}

// Append appends the whole message.
func (m *Request) Append(b []byte) []byte {
	x := exts{last: len(b)}
	b = append(b, IDRequest|m.Key.flags())
	b = AppendZint(b, uint64(m.ID))
	b = m.Key.appendTo(b)
	b = appendQoS(b, &x, m.QoS)
	if m.Target != 0 {
		b = x.z64(b, 0x34, uint64(m.Target))
	}
	if m.Budget != 0 {
		b = x.z64(b, 0x25, uint64(m.Budget))
	}
	if m.TimeoutMillis != 0 {
		b = x.z64(b, 0x26, m.TimeoutMillis)
	}
	return m.Query.append(b)
}

const idQuery = 0x03

func (q *Query) append(b []byte) []byte {
	x := exts{last: len(b)}
	h := byte(idQuery)
	if q.Consolidation != 0 {
		h |= 0x20
	}
	if len(q.Parameters) > 0 {
		h |= 0x40
	}
	b = append(b, h)
	if q.Consolidation != 0 {
		b = AppendZint(b, uint64(q.Consolidation))
	}
	if len(q.Parameters) > 0 {
		b = appendCounted(b, q.Parameters)
	}
	if !q.Source.IsZero() {
		b = q.Source.appendExt(b, &x, 0x41)
	}
	if q.HasBody {
		n := ZintLen(uint64(q.Encoding.ID) << 1)
		if s := min(len(q.Encoding.Schema), 255); s > 0 {
			n += ZintLen(uint64(s)) + s
		}
		b = x.next(b, 0x43)
		b = AppendZint(b, uint64(n+len(q.Payload)))
		b = q.Encoding.appendTo(b)
		b = append(b, q.Payload...)
	}
	if q.Attachment != nil {
		b = x.buf(b, 0x45, q.Attachment)
	}
	return b
}

// Decode reads the message, header included.
func (m *Request) Decode(r *Reader) error {
	h := r.U8()
	*m = Request{ID: uint32(r.z(32))}
	m.Key = r.wireExpr(h)
	m.QoS = r.routing(h, func(e ext) bool {
		switch e.id {
		case 0x34:
			if e.val > 2 {
				r.fail(fmt.Errorf("%w: query target %d", ErrRange, e.val))
			}
			m.Target = uint8(e.val)
		case 0x25:
			m.Budget = uint32(min(e.val, 1<<32-1))
		case 0x26:
			m.TimeoutMillis = e.val
		default:
			return false
		}
		return true
	})
	m.Query.decode(r)
	return r.err
}

func (q *Query) decode(r *Reader) {
	h := r.U8()
	if r.err == nil && ID(h) != idQuery {
		r.fail(fmt.Errorf("%w: body %#x instead of QUERY", ErrInvalid, h))
	}
	if h&0x20 != 0 {
		if c := r.Zint(); c <= 3 {
			q.Consolidation = uint8(c)
		}
	}
	if h&0x40 != 0 {
		q.Parameters = r.counted(32)
	}
	for more := h&flagZ != 0; more && r.err == nil; {
		var e ext
		e, more = r.ext()
		switch e.id {
		case 0x41:
			q.Source = r.source(e)
		case 0x43:
			body := Reader{b: e.body}
			q.HasBody = true
			q.Encoding = body.encoding()
			q.Payload = body.Rest()
			if body.err != nil {
				r.fail(fmt.Errorf("query body: %w", body.err))
			}
		case 0x45:
			q.Attachment = nonNil(e.body)
		default:
			r.skip(e)
		}
	}
}

// Response is RESPONSE: one reply, or one error.
type Response struct {
	ID        uint32
	Key       WireExpr
	QoS       QoS
	Responder SourceInfo // without number

	Err           bool
	Consolidation uint8 // of replies
	// Data is the reply; of an error only encoding, source and payload are used.
	Data Data
}

const (
	idReply = 0x04
	idErr   = 0x05
)

// AppendHead appends all but the bytes of the payload, which must follow.
func (m *Response) AppendHead(b []byte) []byte {
	x := exts{last: len(b)}
	b = append(b, IDResponse|m.Key.flags())
	b = AppendZint(b, uint64(m.ID))
	b = m.Key.appendTo(b)
	b = appendQoS(b, &x, m.QoS)
	if !m.Responder.IsZero() {
		b = x.next(b, 0x43)
		b = AppendZint(b, uint64(1+m.Responder.ZID.Len()+ZintLen(uint64(m.Responder.EID))))
		b = appendNibbleZID(b, 0, m.Responder.ZID)
		b = AppendZint(b, uint64(m.Responder.EID))
	}
	if !m.Err {
		if m.Consolidation == 0 {
			b = append(b, idReply)
		} else {
			b = append(b, idReply|0x20, m.Consolidation)
		}
		return m.Data.AppendHead(b)
	}
	x.last = len(b)
	if m.Data.Encoding == (Encoding{}) {
		b = append(b, idErr)
	} else {
		b = m.Data.Encoding.appendTo(append(b, idErr|0x40))
	}
	if !m.Data.Source.IsZero() {
		b = m.Data.Source.appendExt(b, &x, 0x41)
	}
	return AppendZint(b, uint64(len(m.Data.Payload)))
}

// Append appends the whole message.
func (m *Response) Append(b []byte) []byte { return append(m.AppendHead(b), m.Data.Payload...) }

// Decode reads the message, header included.
func (m *Response) Decode(r *Reader) error {
	h := r.U8()
	*m = Response{ID: uint32(r.z(32))}
	m.Key = r.wireExpr(h)
	m.QoS = r.routing(h, func(e ext) bool {
		if e.id != 0x43 {
			return false
		}
		body := Reader{b: e.body}
		m.Responder.ZID = body.nibbleZID(body.U8())
		m.Responder.EID = uint32(body.z(32))
		if body.err != nil {
			r.fail(fmt.Errorf("responder: %w", body.err))
		}
		return true
	})
	h = r.U8()
	switch {
	case r.err != nil:
	case ID(h) == idReply:
		if h&0x20 != 0 {
			if c := r.Zint(); c <= 3 {
				m.Consolidation = uint8(c)
			}
		}
		if err := r.skipAll(h); err == nil {
			m.Data.decode(r)
		}
	case ID(h) == idErr:
		m.Err = true
		m.decodeErr(r, h)
	default:
		r.fail(fmt.Errorf("%w: body %#x instead of REPLY or ERR", ErrInvalid, h))
	}
	return r.err
}

func (m *Response) decodeErr(r *Reader, h byte) {
	if h&0x40 != 0 {
		m.Data.Encoding = r.encoding()
	}
	for more := h&flagZ != 0; more && r.err == nil; {
		var e ext
		e, more = r.ext()
		if e.id == 0x41 {
			m.Data.Source = r.source(e)
		} else {
			r.skip(e)
		}
	}
	m.Data.Payload = r.counted(32)
}

// ResponseFinal is RESPONSE_FINAL: the last answer to a request.
type ResponseFinal struct {
	ID  uint32
	QoS QoS
}

// Append appends the message.
func (m *ResponseFinal) Append(b []byte) []byte {
	x := exts{last: len(b)}
	b = AppendZint(append(b, IDResponseFinal), uint64(m.ID))
	return appendQoS(b, &x, m.QoS)
}

// Decode reads the message, header included.
func (m *ResponseFinal) Decode(r *Reader) error {
	h := r.U8()
	m.ID = uint32(r.z(32))
	m.QoS = r.routing(h, nil)
	return r.err
}
