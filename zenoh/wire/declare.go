// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// Decl says what a [Declare] declares or takes back.
type Decl uint8

// The declarations. Each second one takes the one before back.
const (
	DeclKeyExpr Decl = iota
	UndeclKeyExpr
	DeclSubscriber
	UndeclSubscriber
	DeclQueryable
	UndeclQueryable
	DeclToken
	UndeclToken

	DeclFinal Decl = 0x1A
)

// Declare is DECLARE.
type Declare struct {
	HasInterest bool
	Interest    uint32 // answers this interest
	QoS         QoS
	Body        Decl
	ID          uint32 // 16 bits for key expressions
	Key         WireExpr
	HasKey      bool // of withdrawals: Key is there
	Complete    bool // of queryables
	Distance    uint16
}

// Append appends the message.
func (m *Declare) Append(b []byte) []byte {
	x := exts{last: len(b)}
	if m.HasInterest {
		b = AppendZint(append(b, IDDeclare|0x20), uint64(m.Interest))
	} else {
		b = append(b, IDDeclare)
	}
	b = appendQoS(b, &x, m.QoS)
	x.last = len(b)
	switch m.Body {
	case DeclKeyExpr:
		b = append(b, byte(m.Body)|m.Key.flags()&flagN)
		b = AppendZint(b, uint64(m.ID))
		return m.Key.appendTo(b)
	case DeclSubscriber, DeclToken, DeclQueryable:
		b = append(b, byte(m.Body)|m.Key.flags())
		b = AppendZint(b, uint64(m.ID))
		b = m.Key.appendTo(b)
		var info uint64
		if m.Complete {
			info = 1
		}
		info |= uint64(m.Distance) << 8
		if m.Body == DeclQueryable && info != 0 {
			b = x.z64(b, 0x21, info)
		}
		return b
	case DeclFinal:
		return append(b, byte(m.Body))
	}
	b = append(b, byte(m.Body))
	b = AppendZint(b, uint64(m.ID))
	if m.HasKey && m.Body != UndeclKeyExpr {
		f := m.Key.flags() >> 5
		n := 1 + ZintLen(uint64(m.Key.Scope)) + len(m.Key.Suffix)
		b = AppendZint(x.next(b, 0x5F), uint64(n))
		b = AppendZint(append(b, f), uint64(m.Key.Scope))
		b = append(b, m.Key.Suffix...)
	}
	return b
}

// Decode reads the message, header included.
func (m *Declare) Decode(r *Reader) error {
	h := r.U8()
	*m = Declare{HasInterest: h&0x20 != 0}
	if m.HasInterest {
		m.Interest = uint32(r.z(32))
	}
	m.QoS = r.routing(h, nil)
	h = r.U8()
	m.Body = Decl(ID(h))
	switch m.Body {
	case DeclKeyExpr:
		m.ID = uint32(r.z(16))
		m.Key = r.wireExpr(h&^flagM | flagM)
		return r.skipAll(h)
	case UndeclKeyExpr:
		m.ID = uint32(r.z(16))
		return r.skipAll(h)
	case DeclSubscriber, DeclQueryable, DeclToken:
		m.ID = uint32(r.z(32))
		m.Key = r.wireExpr(h)
		m.HasKey = true
	case UndeclSubscriber, UndeclQueryable, UndeclToken:
		m.ID = uint32(r.z(32))
	case DeclFinal:
		return r.skipAll(h)
	default:
		r.fail(fmt.Errorf("%w: declaration %#x", ErrInvalid, h))
	}
	for more := h&flagZ != 0; more && r.err == nil; {
		var e ext
		e, more = r.ext()
		switch {
		case e.id == 0x21 && m.Body == DeclQueryable:
			m.Complete = e.val&1 != 0
			m.Distance = uint16(e.val >> 8)
		case e.id == 0x5F && !m.HasKey:
			m.Key, m.HasKey = r.keyExt(e)
		default:
			r.skip(e)
		}
	}
	return r.err
}

// keyExt reads the key of a withdrawal; false where it is the empty one.
func (r *Reader) keyExt(e ext) (w WireExpr, ok bool) {
	body := Reader{b: e.body}
	f := body.U8()
	w.Scope = uint16(body.z(16))
	w.Sender = f&2 != 0
	if f&1 != 0 {
		w.Suffix = body.Rest()
	}
	if body.err != nil {
		r.fail(fmt.Errorf("key of a withdrawal: %w", body.err))
	}
	return w, w.Scope != 0 || len(w.Suffix) > 0
}

// Mode says what an [Interest] asks for.
type Mode uint8

// The modes.
const (
	ModeFinal Mode = iota
	ModeCurrent
	ModeFuture
	ModeCurrentFuture
)

// The options of an [Interest].
const (
	WantKeys        = 0x01
	WantSubscribers = 0x02
	WantQueryables  = 0x04
	WantTokens      = 0x08
	Aggregate       = 0x80

	interestR = 0x10
)

// Interest is INTEREST.
type Interest struct {
	ID         uint32
	Mode       Mode
	Options    uint8 // Want…, Aggregate
	Restricted bool  // to Key
	Key        WireExpr
	QoS        QoS
}

// Append appends the message.
func (m *Interest) Append(b []byte) []byte {
	x := exts{last: len(b)}
	b = AppendZint(append(b, IDInterest|byte(m.Mode)<<5), uint64(m.ID))
	if m.Mode != ModeFinal {
		o := m.Options &^ (interestR | flagN | flagM)
		if m.Restricted {
			b = append(b, o|interestR|m.Key.flags())
			b = m.Key.appendTo(b)
		} else {
			b = append(b, o)
		}
	}
	return appendQoS(b, &x, m.QoS)
}

// Decode reads the message, header included.
func (m *Interest) Decode(r *Reader) error {
	h := r.U8()
	*m = Interest{Mode: Mode(h >> 5 & 3), ID: uint32(r.z(32))}
	if m.Mode != ModeFinal {
		o := r.U8()
		m.Options = o &^ (interestR | flagN | flagM)
		m.Restricted = o&interestR != 0
		if m.Restricted {
			m.Key = r.wireExpr(o)
		}
	}
	m.QoS = r.routing(h, nil)
	return r.err
}
