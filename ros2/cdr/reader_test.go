// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cdr

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const everythingBigHex = `00000000
	01 aa 0102 03 aaaaaa 04050607 08 aaaaaa 090a0b0c0d0e0f10
	00 aaaaaa fffffffe 00000003 686900 aa fffffffffffffffd
	09 aaaaaa 3f800000 00000003 010203 aa 4000000000000000
	00000001 aaaaaaaa 3ff0000000000000 00000000 07 aaaaaa 4010000000000000`

func TestReaderTakesBothByteOrdersAndLooksAtNoGap(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"little-endian":    everythingHex,
		"big-endian":       everythingBigHex,
		"other option":     strings.Replace(everythingHex, "00010000", "0001beef", 1),
		"padding at end":   everythingHex + "ffffff",
		"one byte of that": everythingHex + "ff",
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(unhex(t, text))
			var array [1]float64
			check := func(what string, ok bool) {
				t.Helper()
				if !ok {
					t.Errorf("%s differs, error %v", what, r.Err())
				}
			}
			check("bool", r.Bool())
			check("uint16", r.Uint16() == 0x0102)
			check("uint8", r.Uint8() == 3)
			check("uint32", r.Uint32() == 0x04050607)
			check("uint8", r.Uint8() == 8)
			check("uint64", r.Uint64() == 0x090a0b0c0d0e0f10)
			check("false", !r.Bool())
			check("int32", r.Int32() == -2)
			check("string", r.String() == "hi")
			check("int64", r.Int64() == -3)
			check("uint8", r.Uint8() == 9)
			check("float32", r.Float32() == 1)
			b := r.Bytes()
			check("bytes", slices.Equal(b, []byte{1, 2, 3}) && cap(b) == 3)
			check("float64", r.Float64() == 2)
			check("sequence", slices.Equal(r.Float64s(nil), []float64{1}))
			check("empty sequence", len(r.Float64s(nil)) == 0)
			check("uint8", r.Uint8() == 7)
			r.Float64Array(array[:])
			check("array", array == [1]float64{4})
			if err := r.End(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	str := func(r *Reader) { _ = r.String() }
	for name, c := range map[string]struct {
		hex  string
		read func(*Reader)
		want error
		text string
	}{
		"nothing":                    {"", nil, ErrEncapsulation, "0 bytes, a header has 4"},
		"half a header":              {"0001", nil, ErrEncapsulation, "2 bytes"},
		"parameter list":             {"00030000 00000000", nil, ErrEncapsulation, "0x0003"},
		"version 2":                  {"00070000 00000000", nil, ErrEncapsulation, "0x0007"},
		"vendor":                     {"01010000", nil, ErrEncapsulation, "0x0101"},
		"no byte left":               {"00010000", func(r *Reader) { r.Uint8() }, ErrTruncated, "at byte 4: wanted 1 bytes, 0 are left"},
		"half a word":                {"00010000 0102", func(r *Reader) { r.Uint32() }, ErrTruncated, "at byte 4: wanted 4 bytes, 2 are left"},
		"ends in a gap":              {"00010000 0102", func(r *Reader) { r.Uint8(); r.Uint64() }, ErrTruncated, "at byte 5"},
		"array ends":                 {"00010000 0000000000000000", func(r *Reader) { r.Float64Array(make([]float64, 2)) }, ErrTruncated, "at byte 12"},
		"string without NUL":         {"00010000 02000000 6161", str, ErrString, "2 bytes, the last is 0x61"},
		"string of length 0":         {"00010000 00000000", str, ErrString, "length 0"},
		"string longer than left":    {"00010000 03000000 6100", str, ErrCount, "3 elements of at least 1 bytes, 2 bytes are left"},
		"bytes longer than left":     {"00010000 ffffffff 00", func(r *Reader) { r.Bytes() }, ErrCount, "4294967295 elements"},
		"float64s longer than left":  {"00010000 00000020 0000000000000000", func(r *Reader) { r.Float64s(nil) }, ErrCount, "536870912 elements of at least 8"},
		"float64s but for the gap":   {"00010000 01000000 0000000000000000", func(r *Reader) { r.Float64s(nil) }, ErrTruncated, "8 bytes, 8 are left"},
		"count times size over 2^32": {"00010000 00000080 0000", func(r *Reader) { r.Len(1 << 30) }, ErrCount, ""},
		"truth value 2":              {"00010000 02", func(r *Reader) { r.Bool() }, ErrBool, "at byte 5: 2"},
		"four bytes too many":        {"00010000 00 00000000", func(r *Reader) { r.Uint8() }, ErrTrailing, "at byte 5: 4 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(unhex(t, c.hex))
			if c.read != nil {
				c.read(&r)
			}
			err := r.End()
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error %v, want %v with %q", err, c.want, c.text)
			}
			if r.Uint8() != 0 || r.Uint64() != 0 || r.String() != "" || r.Bytes() != nil || r.Len(1) != 0 || r.Bool() {
				t.Error("a value is read after the error")
			}
			if !errors.Is(r.Err(), err) {
				t.Errorf("the first error is gone: %v", r.Err())
			}
		})
	}
}

func TestStringIntoKeepsWhatIsTheSame(t *testing.T) {
	w := NewWriter(nil)
	w.String("some_frame")
	w.String("rgb8")
	var frame, encoding string
	n := testing.AllocsPerRun(100, func() {
		r := NewReader(w.Buf)
		r.StringInto(&frame)
		encoding = ""
		r.StringInto(&encoding)
	})
	if n != 0 || frame != "some_frame" || encoding != "rgb8" {
		t.Errorf("%v allocations, %q, %q", n, frame, encoding)
	}
}
