// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var (
	// ErrShort reports that the input ends inside a field.
	ErrShort = errors.New("input ends too early")
	// ErrRange reports a number that is larger than its field may be.
	ErrRange = errors.New("number out of range")
	// ErrInvalid reports bytes that are no message of the protocol.
	ErrInvalid = errors.New("invalid message")
)

// Reader takes fields from the front of a byte slice. The first error sticks:
// later calls return zero values, so that a decoder checks once at its end.
type Reader struct {
	b   []byte
	err error
}

// NewReader reads from b, which it does not copy.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Reset makes r read from b.
func (r *Reader) Reset(b []byte) { r.b, r.err = b, nil }

// Err is the first error that occurred.
func (r *Reader) Err() error { return r.err }

// Len is the number of bytes left.
func (r *Reader) Len() int { return len(r.b) }

// Rest returns all bytes left and takes them.
func (r *Reader) Rest() []byte {
	b := r.b
	r.b = nil
	return b
}

// Peek returns the next byte without taking it; false at the end.
func (r *Reader) Peek() (byte, bool) {
	if r.err != nil || len(r.b) == 0 {
		return 0, false
	}
	return r.b[0], true
}

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
		r.b = nil
	}
}

// U8 takes one byte.
func (r *Reader) U8() byte {
	if len(r.b) < 1 {
		r.fail(ErrShort)
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// U16 takes two bytes, little endian.
func (r *Reader) U16() uint16 {
	if len(r.b) < 2 {
		r.fail(ErrShort)
		return 0
	}
	v := binary.LittleEndian.Uint16(r.b)
	r.b = r.b[2:]
	return v
}

// Zint takes a variable-length integer: seven bits a byte, the ninth byte is
// all data.
func (r *Reader) Zint() uint64 {
	var v uint64
	for i := range r.b {
		c := r.b[i]
		if i == 8 {
			r.b = r.b[9:]
			return v | uint64(c)<<56
		}
		v |= uint64(c&0x7F) << (7 * i)
		if c < 0x80 {
			r.b = r.b[i+1:]
			return v
		}
	}
	r.fail(ErrShort)
	return 0
}

// z takes a variable-length integer that must fit in the number of bits.
func (r *Reader) z(bits int) uint64 {
	v := r.Zint()
	if bits < 64 && v>>bits != 0 {
		r.fail(fmt.Errorf("%w: %d does not fit in %d bits", ErrRange, v, bits))
		return 0
	}
	return v
}

// Bytes takes n bytes.
func (r *Reader) Bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(ErrShort)
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// counted takes a length of so many bits, then that many bytes.
func (r *Reader) counted(bits int) []byte { return r.Bytes(r.z(bits)) }

// AppendZint appends v as a variable-length integer of one to nine bytes.
func AppendZint(b []byte, v uint64) []byte {
	for range 8 {
		if v < 0x80 {
			return append(b, byte(v))
		}
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// ZintLen is the number of bytes that [AppendZint] appends.
func ZintLen(v uint64) int {
	n := 1
	for v >= 0x80 && n < 9 {
		v >>= 7
		n++
	}
	return n
}

func appendCounted[T ~string | ~[]byte](b []byte, v T) []byte {
	b = AppendZint(b, uint64(len(v)))
	return append(b, v...)
}
