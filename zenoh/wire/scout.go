// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// The ids of scouting messages, which stand alone in a datagram.
const (
	IDScout = 0x01
	IDHello = 0x02
)

// Roles is a set of roles.
type Roles uint8

// RolesOf is the set of some roles.
func RolesOf(roles ...WhatAmI) (s Roles) {
	for _, w := range roles {
		s |= 1 << w
	}
	return s
}

// Has says whether w is in the set.
func (s Roles) Has(w WhatAmI) bool { return w <= Client && s&(1<<w) != 0 }

// Scout is SCOUT: who looks for nodes.
type Scout struct {
	Version byte
	What    Roles // who shall answer
	ZID     ZID   // who asks; zero: not said
}

// Append appends the message.
func (m *Scout) Append(b []byte) []byte {
	b = append(b, IDScout, m.Version)
	if m.ZID.IsZero() {
		return append(b, byte(m.What&7))
	}
	return appendNibbleZID(b, 0x08|byte(m.What&7), m.ZID)
}

// Decode reads the message, header included.
func (m *Scout) Decode(r *Reader) error {
	h := r.U8()
	if r.err == nil && ID(h) != IDScout {
		return fmt.Errorf("%w: %#x instead of SCOUT", ErrInvalid, h)
	}
	*m = Scout{Version: r.U8()}
	f := r.U8()
	m.What = Roles(f & 7)
	if f&0x08 != 0 {
		m.ZID = r.nibbleZID(f)
	}
	return r.skipAll(h)
}

// Hello is HELLO: an answer to SCOUT.
type Hello struct {
	Version  byte
	WhatAmI  WhatAmI
	ZID      ZID
	Locators []string // each up to 255 bytes
}

const helloL = 0x20

// Append appends the message.
func (m *Hello) Append(b []byte) []byte {
	h := byte(IDHello)
	if len(m.Locators) > 0 {
		h |= helloL
	}
	b = appendNibbleZID(append(b, h, m.Version), byte(m.WhatAmI), m.ZID)
	if len(m.Locators) > 0 {
		b = appendStrings(b, m.Locators)
	}
	return b
}

// Decode reads the message, header included.
func (m *Hello) Decode(r *Reader) error {
	h := r.U8()
	if r.err == nil && ID(h) != IDHello {
		return fmt.Errorf("%w: %#x instead of HELLO", ErrInvalid, h)
	}
	*m = Hello{Version: r.U8()}
	f := r.U8()
	m.WhatAmI = WhatAmI(f & 3)
	m.ZID = r.nibbleZID(f)
	if m.WhatAmI > Client {
		r.fail(fmt.Errorf("%w: %v", ErrInvalid, m.WhatAmI))
	}
	if h&helloL != 0 {
		m.Locators = r.strings()
	}
	return r.skipAll(h)
}

// strings takes a count and so many strings of up to 255 bytes.
func (r *Reader) strings() []string {
	n := r.Zint()
	if n > uint64(len(r.b)) { // each needs a byte at least
		r.fail(fmt.Errorf("%w: %d strings", ErrShort, n))
		return nil
	}
	var out []string
	for range n {
		out = append(out, string(r.counted(8)))
		if r.err != nil {
			return nil
		}
	}
	return out
}

func appendStrings(b []byte, list []string) []byte {
	b = AppendZint(b, uint64(len(list)))
	for _, s := range list {
		b = appendCounted(b, s)
	}
	return b
}
