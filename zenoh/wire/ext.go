// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

const (
	flagZ  = 0x80 // in headers of messages and extensions: an extension follows
	extM   = 0x10 // whoever does not know the extension must refuse the message
	encZ64 = 0x20
	encBuf = 0x40
	encAll = 0x60
)

// ext is one extension. id is its header byte without the Z flag, so that it
// tells number, kind of body and the mandatory flag apart.
type ext struct {
	id   byte
	val  uint64
	body []byte
}

// ext takes one extension and says whether another follows.
func (r *Reader) ext() (e ext, more bool) {
	h := r.U8()
	e.id = h &^ flagZ
	switch h & encAll {
	case 0:
	case encZ64:
		e.val = r.Zint()
	case encBuf:
		e.body = r.counted(32)
	default:
		r.fail(fmt.Errorf("%w: extension %#x with an unknown kind of body", ErrInvalid, e.id))
	}
	return e, h&flagZ != 0 && r.err == nil
}

// skip refuses the extension where it is mandatory.
func (r *Reader) skip(e ext) {
	if e.id&extM != 0 {
		r.fail(fmt.Errorf("%w: unknown mandatory extension %#x", ErrInvalid, e.id))
	}
}

// exts writes a chain of extensions. last is the place of the header before
// the next one: that of the message first, then that of the extension before.
// Its Z flag is set once it is known that another extension follows.
type exts struct {
	last int
}

func (x *exts) next(b []byte, id byte) []byte {
	b[x.last] |= flagZ
	x.last = len(b)
	return append(b, id)
}

func (x *exts) unit(b []byte, id byte) []byte { return x.next(b, id) }

func (x *exts) z64(b []byte, id byte, v uint64) []byte { return AppendZint(x.next(b, id), v) }

func (x *exts) buf(b []byte, id byte, v []byte) []byte { return appendCounted(x.next(b, id), v) }
