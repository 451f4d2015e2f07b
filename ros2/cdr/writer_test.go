// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cdr

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// everything writes one of each, so that every alignment has a gap in front.
func everything(buf []byte) []byte {
	w := NewWriter(buf)
	w.Bool(true)
	w.Uint16(0x0102)
	w.Uint8(3)
	w.Uint32(0x04050607)
	w.Uint8(8)
	w.Uint64(0x090a0b0c0d0e0f10)
	w.Bool(false)
	w.Int32(-2)
	w.String("hi")
	w.Int64(-3)
	w.Uint8(9)
	w.Float32(1)
	w.Bytes([]byte{1, 2, 3})
	w.Float64(2)
	w.Float64s([]float64{1})
	w.Float64s(nil)
	w.Uint8(7)
	w.Float64Array([]float64{4})
	return w.Buf
}

const everythingHex = `00010000
	01 00 0201 03 000000 07060504 08 000000 100f0e0d0c0b0a09
	00 000000 feffffff 03000000 686900 00 fdffffffffffffff
	09 000000 0000803f 03000000 010203 00 0000000000000040
	01000000 00000000 000000000000f03f 00000000 07 000000 0000000000001040`

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWriterAlignsFromTheHeaderAndFillsWithZeros(t *testing.T) {
	t.Parallel()
	want := unhex(t, everythingHex)
	for before := range 9 {
		dirty := bytes.Repeat([]byte{0xff}, 400)
		got := everything(dirty[:before])
		if !bytes.Equal(got[before:], want) {
			t.Errorf("behind %d bytes:\n got %x\nwant %x", before, got[before:], want)
		}
		if !bytes.Equal(got[:before], bytes.Repeat([]byte{0xff}, before)) {
			t.Errorf("the %d bytes in front changed", before)
		}
	}
}

func TestWriterAllocatesNothingWithRoom(t *testing.T) {
	buf := make([]byte, 0, 400)
	if n := testing.AllocsPerRun(100, func() { everything(buf) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
