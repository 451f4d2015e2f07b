// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// WhatAmI is the role of a node.
type WhatAmI uint8

// The roles, as INIT counts them.
const (
	Router WhatAmI = iota
	Peer
	Client
)

func (w WhatAmI) String() string {
	switch w {
	case Router:
		return "router"
	case Peer:
		return "peer"
	case Client:
		return "client"
	}
	return fmt.Sprintf("role %d", uint8(w))
}

// ZID identifies a node: a number of up to 128 bits, not zero, little endian.
// The zero value is no id.
type ZID [16]byte

// IsZero says whether z is no id.
func (z ZID) IsZero() bool { return z == ZID{} }

// Len is the number of bytes on the wire, 1 to 16.
func (z ZID) Len() int {
	n := len(z)
	for n > 1 && z[n-1] == 0 {
		n--
	}
	return n
}

// String is the number in lower-case hexadecimal without leading zeros.
func (z ZID) String() string {
	var be [16]byte
	for i, c := range z {
		be[15-i] = c
	}
	s := strings.TrimLeft(hex.EncodeToString(be[:]), "0")
	if s == "" {
		return "0"
	}
	return s
}

// ParseZID reads the text form: 1 to 32 lower-case hexadecimal digits, no
// leading zero.
func ParseZID(s string) (ZID, error) {
	var z ZID
	if s == "" || len(s) > 32 || s[0] == '0' || strings.ToLower(s) != s {
		return z, fmt.Errorf("%w: id %.40q is not 1 to 32 lower-case hexadecimal digits without leading zero", ErrInvalid, s)
	}
	be, err := hex.DecodeString(strings.Repeat("0", len(s)%2) + s)
	if err != nil {
		return z, fmt.Errorf("%w: id %.40q: %w", ErrInvalid, s, err)
	}
	for i, c := range be {
		z[len(be)-1-i] = c
	}
	return z, nil
}

func (r *Reader) zid(n uint64) (z ZID) {
	if n < 1 || n > 16 {
		r.fail(fmt.Errorf("%w: id of %d bytes", ErrInvalid, n))
		return z
	}
	copy(z[:], r.Bytes(n))
	if r.err == nil && z.IsZero() {
		r.fail(fmt.Errorf("%w: id is zero", ErrInvalid))
	}
	return z
}

func (r *Reader) nibbleZID(h byte) ZID { return r.zid(uint64(h>>4) + 1) }

func appendNibbleZID(b []byte, low byte, z ZID) []byte {
	n := z.Len()
	b = append(b, byte(n-1)<<4|low)
	return append(b, z[:n]...)
}

// Timestamp is a time with the id of the clock that made it. The zero value is
// no timestamp.
type Timestamp struct {
	NTP64 uint64 // seconds since 1970 in the upper 32 bits, fraction below
	ID    ZID
}

// IsZero says whether t is no timestamp.
func (t Timestamp) IsZero() bool { return t.ID.IsZero() }

func (r *Reader) timestamp() (t Timestamp) {
	t.NTP64 = r.Zint()
	t.ID = r.zid(r.Zint())
	return t
}

func (t Timestamp) appendTo(b []byte) []byte {
	b = AppendZint(b, t.NTP64)
	n := t.ID.Len()
	b = AppendZint(b, uint64(n))
	return append(b, t.ID[:n]...)
}

// SourceInfo says which entity made a sample, and its number there. The zero
// value is no information.
type SourceInfo struct {
	ZID ZID
	EID uint32
	SN  uint32
}

// IsZero says whether s holds no information.
func (s SourceInfo) IsZero() bool { return s.ZID.IsZero() }

func parseSource(body []byte) (s SourceInfo, err error) {
	r := Reader{b: body}
	s.ZID = r.nibbleZID(r.U8())
	s.EID = uint32(r.z(32))
	s.SN = uint32(r.z(32))
	return s, r.err
}

func (s SourceInfo) appendExt(b []byte, x *exts, id byte) []byte {
	b = x.next(b, id)
	b = AppendZint(b, uint64(1+s.ZID.Len()+ZintLen(uint64(s.EID))+ZintLen(uint64(s.SN))))
	b = appendNibbleZID(b, 0, s.ZID)
	b = AppendZint(b, uint64(s.EID))
	return AppendZint(b, uint64(s.SN))
}

// QoS is the quality of service of a network message.
type QoS uint8

// The parts of [QoS] beside the priority, which is in the three low bits.
const (
	QoSBlock      QoS = 0x08 // do not drop
	QoSExpress    QoS = 0x10
	QoSBlockFirst QoS = 0x20

	QoSDefault QoS = 5 // priority data, drop
	QoSControl QoS = QoSBlock
)

// Priority is 0 (most urgent) to 7.
func (q QoS) Priority() uint8 { return uint8(q & 7) }

// Encoding says how to read a payload: a registered id and a schema. The zero
// value is zenoh/bytes.
type Encoding struct {
	ID     uint16
	Schema string // up to 255 bytes
}

func (r *Reader) encoding() (e Encoding) {
	v := r.z(17)
	e.ID = uint16(v >> 1)
	if v&1 != 0 {
		e.Schema = string(r.counted(8))
	}
	return e
}

func (e Encoding) appendTo(b []byte) []byte {
	if e.Schema == "" {
		return AppendZint(b, uint64(e.ID)<<1)
	}
	b = AppendZint(b, uint64(e.ID)<<1|1)
	s := e.Schema
	if len(s) > 255 {
		s = s[:255]
	}
	return appendCounted(b, s)
}

// WireExpr names a key: the id of a declared prefix and a suffix, joined as
// they are. Scope 0 is no prefix.
type WireExpr struct {
	Scope  uint16
	Suffix []byte
	// Sender: Scope was declared by the sender of the message, else by the
	// receiver.
	Sender bool
}

const (
	flagN = 0x20 // a suffix follows the scope
	flagM = 0x40 // the scope is the sender's
)

func (r *Reader) wireExpr(h byte) (w WireExpr) {
	w.Scope = uint16(r.z(16))
	if h&flagN != 0 {
		w.Suffix = r.counted(16)
	}
	w.Sender = h&flagM != 0
	return w
}

// flags are the header flags that w needs.
func (w WireExpr) flags() (f byte) {
	if len(w.Suffix) > 0 {
		f |= flagN
	}
	if w.Sender {
		f |= flagM
	}
	return f
}

func (w WireExpr) appendTo(b []byte) []byte {
	b = AppendZint(b, uint64(w.Scope))
	if len(w.Suffix) > 0 {
		b = appendCounted(b, w.Suffix)
	}
	return b
}
