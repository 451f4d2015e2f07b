// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import "unsafe"

// CanRebase says whether [Conn.Rebase] works.
func (c *Conn) CanRebase() bool { return canTry || !c.vectored }

// Rebase has a write of v that is under way, or about to be, read to instead of
// from, which has the same bytes: once it returns nobody reads from any more.
// It may be called beside the write, but not while v is filled.
func (c *Conn) Rebase(v *Vec, from, to []byte) {
	c.sock.moving.Lock()
	defer c.sock.moving.Unlock()
	for i, b := range v.bufs {
		if off, ok := within(unsafe.SliceData(b), from); ok {
			v.bufs[i] = to[off : off+len(b) : off+len(b)]
		}
	}
	if c.vectored {
		c.sock.rebase(from, to)
	}
}

// within says where in b the byte at p is, if it is there.
func within(p *byte, b []byte) (off int, ok bool) {
	at, begin := uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if at < begin || at-begin >= uintptr(len(b)) {
		return 0, false
	}
	return int(at - begin), true
}
