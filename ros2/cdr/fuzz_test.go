// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cdr

import (
	"math"
	"testing"
)

// FuzzReader reads values in any order from any bytes, and writes what it read:
// reading that gives the same again, and nothing read is larger than the input.
func FuzzReader(f *testing.F) {
	f.Add([]byte("abcdefghijkl"), unhex(f, everythingHex))
	f.Add([]byte("0a1c9gfha2eij3blkakl"), unhex(f, everythingHex))
	f.Add([]byte("0a1c9gfha2eij3blkakl"), unhex(f, everythingBigHex))
	f.Add([]byte("e"), unhex(f, "00010000 ffffffff 61"))
	f.Fuzz(func(t *testing.T, ops, data []byte) {
		r := NewReader(data)
		w := NewWriter(nil)
		left := len(data)
		for _, op := range ops {
			before := r.Left()
			size := step(op, &r, &w)
			if r.Err() != nil {
				if r.Left() != 0 || step(op, &r, &Writer{}) != 0 {
					t.Fatal("something is read after the error")
				}
				return
			}
			if after := r.Left(); after > before || size > before {
				t.Fatalf("%q: %d bytes left of %d, %d read", op, after, before, size)
			}
			if left -= size; left < 0 {
				t.Fatalf("more is read than the %d bytes there are", len(data))
			}
		}
		again, w2 := NewReader(w.Buf), NewWriter(nil)
		for _, op := range ops {
			step(op, &again, &w2)
		}
		if err := again.End(); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if string(w.Buf) != string(w2.Buf) {
			t.Fatalf("%x became %x", w.Buf, w2.Buf)
		}
	})
}

// step reads one value, writes it, and returns its size in memory.
func step(op byte, r *Reader, w *Writer) int {
	ok := func(n int) int {
		if r.Err() != nil {
			return 0
		}
		return n
	}
	switch op % 12 {
	case 0:
		w.Bool(r.Bool())
		return ok(1)
	case 1:
		w.Uint8(r.Uint8())
		return ok(1)
	case 2:
		w.Uint16(r.Uint16())
		return ok(2)
	case 3:
		w.Uint32(r.Uint32())
		return ok(4)
	case 4:
		w.Uint64(r.Uint64())
		return ok(8)
	case 5:
		s := r.String()
		w.String(s)
		return len(s)
	case 6:
		b := r.Bytes()
		w.Bytes(b)
		return len(b)
	case 7:
		v := r.Float64s(nil)
		w.Float64s(v)
		return ok(8 * len(v))
	case 8:
		// A float32 that is no number may come back as another of those.
		v := r.Float32()
		if math.IsNaN(float64(v)) {
			v = float32(math.NaN())
		}
		w.Float32(v)
		return ok(4)
	case 9:
		var a [2]float64
		r.Float64Array(a[:])
		w.Float64Array(a[:])
		return ok(16)
	case 10:
		w.Int32(r.Int32())
		return ok(4)
	}
	s := "same"
	r.StringInto(&s)
	w.String(s)
	return len(s)
}
