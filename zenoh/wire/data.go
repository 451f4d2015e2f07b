// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// Data is PUT or DEL, the body of PUSH and REPLY.
type Data struct {
	Del        bool
	Timestamp  Timestamp
	Encoding   Encoding // not of DEL
	Source     SourceInfo
	Attachment []byte // nil: none
	// Prefix is what a sender puts before Payload: together they are the value.
	// A reader gets all of it as Payload.
	Prefix  []byte
	Payload []byte // not of DEL
}

const (
	idPut = 0x01
	idDel = 0x02
)

// AppendHead appends all but the bytes of the payload, which must follow.
func (d *Data) AppendHead(b []byte) []byte {
	x := exts{last: len(b)}
	h, attachment := byte(idPut), byte(0x43)
	if d.Del {
		h, attachment = idDel, 0x42
	}
	if !d.Timestamp.IsZero() {
		h |= 0x20
	}
	encoded := !d.Del && d.Encoding != (Encoding{})
	if encoded {
		h |= 0x40
	}
	b = append(b, h)
	if !d.Timestamp.IsZero() {
		b = d.Timestamp.appendTo(b)
	}
	if encoded {
		b = d.Encoding.appendTo(b)
	}
	if !d.Source.IsZero() {
		b = d.Source.appendExt(b, &x, 0x41)
	}
	if d.Attachment != nil {
		b = x.buf(b, attachment, d.Attachment)
	}
	if !d.Del {
		b = AppendZint(b, uint64(len(d.Prefix)+len(d.Payload)))
		b = append(b, d.Prefix...)
	}
	return b
}

func (d *Data) decode(r *Reader) {
	*d = Data{}
	h := r.U8()
	attachment := byte(0x43)
	switch {
	case r.err != nil:
		return
	case ID(h) == idPut:
	case ID(h) == idDel:
		d.Del = true
		attachment = 0x42
	default:
		r.fail(fmt.Errorf("%w: body %#x instead of PUT or DEL", ErrInvalid, h))
		return
	}
	if h&0x20 != 0 {
		d.Timestamp = r.timestamp()
	}
	if !d.Del && h&0x40 != 0 {
		d.Encoding = r.encoding()
	}
	for more := h&flagZ != 0; more && r.err == nil; {
		var e ext
		e, more = r.ext()
		switch e.id {
		case 0x41:
			d.Source = r.source(e)
		case attachment:
			d.Attachment = nonNil(e.body)
		default:
			r.skip(e)
		}
	}
	if !d.Del {
		d.Payload = r.counted(32)
	}
}

func (r *Reader) source(e ext) SourceInfo {
	s, err := parseSource(e.body)
	if err != nil {
		r.fail(fmt.Errorf("source information: %w", err))
	}
	return s
}

// Push is PUSH: a sample on its way to subscribers.
type Push struct {
	Key  WireExpr
	QoS  QoS
	Data Data
}

// AppendHead appends all but the bytes of the payload, which must follow.
func (m *Push) AppendHead(b []byte) []byte {
	x := exts{last: len(b)}
	b = append(b, IDPush|m.Key.flags())
	b = m.Key.appendTo(b)
	b = appendQoS(b, &x, m.QoS)
	return m.Data.AppendHead(b)
}

// Append appends the whole message.
func (m *Push) Append(b []byte) []byte { return append(m.AppendHead(b), m.Data.Payload...) }

// Decode reads the message, header included.
func (m *Push) Decode(r *Reader) error {
	h := r.U8()
	m.Key = r.wireExpr(h)
	m.QoS = r.routing(h, nil)
	m.Data.decode(r)
	return r.err
}

func appendQoS(b []byte, x *exts, q QoS) []byte {
	if q == QoSDefault {
		return b
	}
	return x.z64(b, 0x21, uint64(q))
}

// routing takes the extensions that all network messages share, gives others
// to own, and returns the quality of service.
func (r *Reader) routing(h byte, own func(ext) bool) QoS {
	q := QoSDefault
	for more := h&flagZ != 0; more && r.err == nil; {
		var e ext
		e, more = r.ext()
		switch {
		case e.id == 0x21:
			q = QoS(e.val)
		case e.id == 0x42, e.id == 0x33: // time and place in the routing; not for the ends
		case own != nil && own(e):
		default:
			r.skip(e)
		}
	}
	return q
}
