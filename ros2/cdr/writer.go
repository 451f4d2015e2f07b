// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cdr

import (
	"encoding/binary"
	"math"
)

// HeaderLen is the length of the encapsulation header, in bytes.
const HeaderLen = 4

var zeros [8]byte

// Writer appends little-endian CDR to a buffer. It allocates only where Buf
// has no room.
type Writer struct {
	// Buf holds what is written so far, behind what it held before.
	Buf []byte
	// start is the index in Buf from which alignment is counted.
	start int
}

// NewWriter begins a value behind what buf holds, with the header of
// little-endian CDR (00 01 00 00).
func NewWriter(buf []byte) Writer {
	buf = append(buf, 0, 1, 0, 0)
	return Writer{Buf: buf, start: len(buf)}
}

func (w *Writer) align(n int) {
	if pad := (w.start - len(w.Buf)) & (n - 1); pad != 0 {
		w.Buf = append(w.Buf, zeros[:pad]...)
	}
}

// Bool writes a truth value, one byte.
func (w *Writer) Bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	w.Buf = append(w.Buf, b)
}

// Uint8 writes one byte.
func (w *Writer) Uint8(v uint8) { w.Buf = append(w.Buf, v) }

// Uint16 writes two bytes.
func (w *Writer) Uint16(v uint16) {
	w.align(2)
	w.Buf = binary.LittleEndian.AppendUint16(w.Buf, v)
}

// Uint32 writes four bytes.
func (w *Writer) Uint32(v uint32) {
	w.align(4)
	w.Buf = binary.LittleEndian.AppendUint32(w.Buf, v)
}

// Uint64 writes eight bytes.
func (w *Writer) Uint64(v uint64) {
	w.align(8)
	w.Buf = binary.LittleEndian.AppendUint64(w.Buf, v)
}

// Int32 writes four bytes.
func (w *Writer) Int32(v int32) { w.Uint32(uint32(v)) }

// Int64 writes eight bytes.
func (w *Writer) Int64(v int64) { w.Uint64(uint64(v)) }

// Float32 writes four bytes.
func (w *Writer) Float32(v float32) { w.Uint32(math.Float32bits(v)) }

// Float64 writes eight bytes.
func (w *Writer) Float64(v float64) { w.Uint64(math.Float64bits(v)) }

// Len writes the count of a sequence whose elements follow. n is at most
// 2³²−1.
func (w *Writer) Len(n int) { w.Uint32(uint32(n)) }

// String writes a string with its length and its NUL.
func (w *Writer) String(s string) {
	w.Len(len(s) + 1)
	w.Buf = append(append(w.Buf, s...), 0)
}

// Bytes writes a sequence of bytes.
func (w *Writer) Bytes(b []byte) {
	w.Len(len(b))
	w.Buf = append(w.Buf, b...)
}

// Float64s writes a sequence of float64.
func (w *Writer) Float64s(v []float64) {
	w.Len(len(v))
	w.Float64Array(v)
}

// Float64Array writes a fixed array of float64, without a count.
func (w *Writer) Float64Array(v []float64) {
	for _, f := range v {
		w.Float64(f)
	}
}
