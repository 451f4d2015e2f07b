// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// Reason says why a node closes.
type Reason uint8

// The reasons.
const (
	Generic Reason = iota
	Unsupported
	Invalid
	MaxSessions
	MaxLinks
	Expired
	Unresponsive
	ConnectionToSelf
)

var reasons = [...]string{"generic", "unsupported", "invalid", "too many sessions", "too many links", "lease expired", "unresponsive", "connection to self"}

func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Close is CLOSE.
type Close struct {
	Session bool // the whole transport, else only this link
	Reason  Reason
}

// Append appends the message.
func (m *Close) Append(b []byte) []byte {
	h := byte(IDClose)
	if m.Session {
		h |= 0x20
	}
	return append(b, h, byte(m.Reason))
}

// Decode reads the message, header included.
func (m *Close) Decode(r *Reader) error {
	h := r.U8()
	*m = Close{Session: h&0x20 != 0, Reason: Reason(r.U8())}
	return r.skipAll(h)
}

// AppendKeepAlive appends KEEP_ALIVE.
func AppendKeepAlive(b []byte) []byte { return append(b, IDKeepAlive) }

// DecodeKeepAlive reads KEEP_ALIVE, header included.
func DecodeKeepAlive(r *Reader) error { return r.skipAll(r.U8()) }

func (r *Reader) skipAll(h byte) error {
	for more := h&flagZ != 0; more && r.err == nil; {
		var e ext
		e, more = r.ext()
		r.skip(e)
	}
	return r.err
}

// Frame is the head of FRAME and of FRAGMENT.
type Frame struct {
	Fragment bool
	Reliable bool
	SN       uint64
	Priority uint8 // 5 when the wire does not say
	// Of fragments:
	More  bool
	First bool
	Drop  bool
}

// MaxFrameHead is the most that [Frame.Append] appends.
const MaxFrameHead = 1 + 9 + 2 + 1 + 1

// Append appends the head; network messages, or a piece of one, follow.
func (m *Frame) Append(b []byte) []byte {
	x := exts{last: len(b)}
	h := byte(IDFrame)
	if m.Fragment {
		h = IDFragment
		if m.More {
			h |= 0x40
		}
	}
	if m.Reliable {
		h |= 0x20
	}
	b = AppendZint(append(b, h), m.SN)
	if m.Priority != QoSDefault.Priority() {
		b = x.z64(b, 0x31, uint64(m.Priority))
	}
	if m.First {
		b = x.unit(b, 0x02)
	}
	if m.Drop {
		b = x.unit(b, 0x03)
	}
	return b
}

// Decode reads the head.
func (m *Frame) Decode(r *Reader) error {
	h := r.U8()
	*m = Frame{Fragment: ID(h) == IDFragment, Reliable: h&0x20 != 0, Priority: QoSDefault.Priority()}
	m.More = m.Fragment && h&0x40 != 0
	m.SN = r.Zint()
	for more := h&flagZ != 0; more && r.err == nil; {
		var e ext
		e, more = r.ext()
		switch {
		case e.id == 0x31:
			if e.val > 7 {
				r.fail(fmt.Errorf("%w: priority %d", ErrRange, e.val))
				break
			}
			m.Priority = uint8(e.val)
		case e.id == 0x02 && m.Fragment:
			m.First = true
		case e.id == 0x03 && m.Fragment:
			m.Drop = true
		default:
			r.skip(e)
		}
	}
	return r.err
}
