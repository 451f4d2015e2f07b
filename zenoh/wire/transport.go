// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Version is the protocol version of every Zenoh 1.x.
const Version = 0x09

// The ids of transport messages.
const (
	IDInit      = 0x01
	IDOpen      = 0x02
	IDClose     = 0x03
	IDKeepAlive = 0x04
	IDFrame     = 0x05
	IDFragment  = 0x06
	IDJoin      = 0x07
)

// The ids of network messages.
const (
	IDInterest      = 0x19
	IDResponseFinal = 0x1A
	IDResponse      = 0x1B
	IDRequest       = 0x1C
	IDPush          = 0x1D
	IDDeclare       = 0x1E
	IDOAM           = 0x1F
)

// ID is the message id in a header byte.
func ID(header byte) byte { return header & 0x1F }

// IsNetwork says whether the header byte starts a network message.
func IsNetwork(header byte) bool { return ID(header) >= IDInterest }

// DefaultResolution is 32 bits for sequence numbers and request ids.
const DefaultResolution = 0x0A

// SNMask is the largest sequence number of a resolution byte.
func SNMask(resolution byte) uint64 {
	return [...]uint64{0x7F, 0x3FFF, 0x0FFFFFFF, math.MaxUint64}[resolution&3]
}

// Init is INIT: the first message of each side.
type Init struct {
	Ack        bool
	Version    byte
	WhatAmI    WhatAmI
	ZID        ZID
	Resolution byte
	BatchSize  uint16
	Cookie     []byte // acknowledgements only
	QoS        bool
	Patch      uint64
	Auth       []byte // body of the authentication extension; nil: none
}

const (
	initS = 0x40
	flagA = 0x20
)

// Append appends the message. Sizes are always written.
func (m *Init) Append(b []byte) []byte {
	x := exts{last: len(b)}
	h := byte(IDInit | initS)
	if m.Ack {
		h |= flagA
	}
	b = append(b, h, m.Version)
	b = appendNibbleZID(b, byte(m.WhatAmI), m.ZID)
	b = append(b, m.Resolution)
	b = binary.LittleEndian.AppendUint16(b, m.BatchSize)
	if m.Ack {
		b = appendCounted(b, m.Cookie)
	}
	if m.QoS {
		b = x.unit(b, 0x01)
	}
	if m.Auth != nil {
		b = x.buf(b, 0x43, m.Auth)
	}
	if m.Patch > 0 {
		b = x.z64(b, 0x27, m.Patch)
	}
	return b
}

// Decode reads the message, header included.
func (m *Init) Decode(r *Reader) error {
	h := r.U8()
	if r.err == nil && ID(h) != IDInit {
		return fmt.Errorf("%w: %#x instead of INIT", ErrInvalid, h)
	}
	*m = Init{Ack: h&flagA != 0, Version: r.U8(), Resolution: DefaultResolution, BatchSize: 65535}
	role := r.U8()
	m.WhatAmI = WhatAmI(role & 3)
	m.ZID = r.nibbleZID(role)
	if h&initS != 0 {
		m.Resolution = r.U8()
		m.BatchSize = r.U16()
	}
	if m.Ack {
		m.Cookie = r.counted(16)
	}
	for more := h&flagZ != 0; more && r.err == nil; {
		var e ext
		e, more = r.ext()
		switch e.id {
		case 0x01:
			m.QoS = true
		case 0x43:
			m.Auth = nonNil(e.body)
		case 0x27:
			m.Patch = e.val
		default:
			r.skip(e)
		}
	}
	return r.err
}

// Open is OPEN: the second message of each side.
type Open struct {
	Ack         bool
	LeaseMillis uint64
	InitialSN   uint64
	Cookie      []byte // not in acknowledgements
	Auth        []byte // body of the authentication extension; nil: none
}

// Append appends the message.
func (m *Open) Append(b []byte) []byte {
	x := exts{last: len(b)}
	h, lease := byte(IDOpen), m.LeaseMillis
	if m.Ack {
		h |= flagA
	}
	if lease%1000 == 0 {
		h |= 0x40
		lease /= 1000
	}
	b = append(b, h)
	b = AppendZint(b, lease)
	b = AppendZint(b, m.InitialSN)
	if !m.Ack {
		b = appendCounted(b, m.Cookie)
	}
	if m.Auth != nil {
		b = x.buf(b, 0x43, m.Auth)
	}
	return b
}

// Decode reads the message, header included.
func (m *Open) Decode(r *Reader) error {
	h := r.U8()
	if r.err == nil && ID(h) != IDOpen {
		return fmt.Errorf("%w: %#x instead of OPEN", ErrInvalid, h)
	}
	*m = Open{Ack: h&flagA != 0, LeaseMillis: r.Zint(), InitialSN: r.Zint()}
	if h&0x40 != 0 {
		if m.LeaseMillis > 1<<53 {
			r.fail(fmt.Errorf("%w: lease of %d s", ErrRange, m.LeaseMillis))
		}
		m.LeaseMillis *= 1000
	}
	if !m.Ack {
		m.Cookie = r.counted(16)
	}
	for more := h&flagZ != 0; more && r.err == nil; {
		var e ext
		e, more = r.ext()
		switch e.id {
		case 0x43:
			m.Auth = nonNil(e.body)
		default:
			r.skip(e)
		}
	}
	return r.err
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
