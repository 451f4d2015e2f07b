// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cdr

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Reader reads CDR of either byte order. The first error stays: every later
// call returns a zero value, and [Reader.Err] tells it. Nothing is copied out
// of the input but strings.
type Reader struct {
	b   []byte // what follows the header
	pos int
	big bool
	err error
}

// NewReader begins to read a value with its header in front. The two option
// bytes of the header are not looked at.
func NewReader(b []byte) Reader {
	if len(b) < HeaderLen {
		return Reader{err: fmt.Errorf("%w: %d bytes, a header has %d", ErrEncapsulation, len(b), HeaderLen)}
	}
	if b[0] != 0 || b[1] > 1 {
		return Reader{err: fmt.Errorf("%w: representation %#02x%02x, known are 0x0000 (big-endian) and 0x0001 (little-endian)", ErrEncapsulation, b[0], b[1])}
	}
	return Reader{b: b[HeaderLen:], big: b[1] == 0}
}

// Err is the first error, nil if there was none.
func (r *Reader) Err() error { return r.err }

// Left is the number of bytes not read yet.
func (r *Reader) Left() int { return len(r.b) - r.pos }

// End is the error of the whole value: the first error, or [ErrTrailing] if
// more than three bytes are left. Up to three are taken for the padding that
// some senders add to reach a multiple of four; their values do not matter.
func (r *Reader) End() error {
	if r.err == nil && r.Left() > 3 {
		r.fail(ErrTrailing, "%d bytes after the last member", r.Left())
	}
	return r.err
}

// fail keeps the first error, with the place counted from the header's begin.
func (r *Reader) fail(err error, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: %s", err, HeaderLen+r.pos, fmt.Sprintf(format, args...))
		r.b, r.pos = nil, 0
	}
}

// take returns the next n bytes, which begin at a multiple of align.
func (r *Reader) take(n, align int) []byte {
	if r.err != nil {
		return nil
	}
	at := r.pos + -r.pos&(align-1)
	if at > len(r.b) || n > len(r.b)-at {
		r.short(n)
		return nil
	}
	r.pos = at + n
	return r.b[at:r.pos:r.pos]
}

func (r *Reader) short(n int) {
	r.fail(ErrTruncated, "wanted %d bytes, %d are left", n, r.Left())
}

// Bool reads a truth value.
func (r *Reader) Bool() bool {
	b := r.Uint8()
	if b > 1 {
		r.fail(ErrBool, "%d", b)
		return false
	}
	return b == 1
}

// Uint8 reads one byte.
func (r *Reader) Uint8() uint8 {
	if b := r.take(1, 1); b != nil {
		return b[0]
	}
	return 0
}

// Uint16 reads two bytes.
func (r *Reader) Uint16() uint16 {
	b := r.take(2, 2)
	switch {
	case b == nil:
		return 0
	case r.big:
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

// Uint32 reads four bytes.
func (r *Reader) Uint32() uint32 {
	b := r.take(4, 4)
	switch {
	case b == nil:
		return 0
	case r.big:
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// Uint64 reads eight bytes.
func (r *Reader) Uint64() uint64 {
	b := r.take(8, 8)
	switch {
	case b == nil:
		return 0
	case r.big:
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// Int32 reads four bytes.
func (r *Reader) Int32() int32 { return int32(r.Uint32()) }

// Int64 reads eight bytes.
func (r *Reader) Int64() int64 { return int64(r.Uint64()) }

// Float32 reads four bytes.
func (r *Reader) Float32() float32 { return math.Float32frombits(r.Uint32()) }

// Float64 reads eight bytes.
func (r *Reader) Float64() float64 { return math.Float64frombits(r.Uint64()) }

// Len reads the count of a sequence whose elements take at least elem bytes
// each, elem > 0. A count for which too few bytes are left is an error, so
// that memory for the elements can be had before they are read.
func (r *Reader) Len(elem int) int {
	n := r.Uint32()
	if r.err != nil {
		return 0
	}
	if uint64(n)*uint64(elem) > uint64(r.Left()) {
		r.fail(ErrCount, "%d elements of at least %d bytes, %d bytes are left", n, elem, r.Left())
		return 0
	}
	return int(n)
}

// Bytes reads a sequence of bytes. They are the input's own; their capacity
// ends with them.
func (r *Reader) Bytes() []byte { return r.take(r.Len(1), 1) }

// Float64s reads a sequence of float64 and appends it to dst.
func (r *Reader) Float64s(dst []float64) []float64 {
	n := r.Len(8)
	for range n {
		v := r.Float64()
		if r.err != nil {
			break
		}
		dst = append(dst, v)
	}
	return dst
}

// Float64Array fills dst from a fixed array.
func (r *Reader) Float64Array(dst []float64) {
	for i := range dst {
		dst[i] = r.Float64()
	}
}
