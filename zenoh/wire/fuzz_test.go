// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"reflect"
	"testing"
)

// fuzz feeds bytes to a decoder. What it takes must encode to bytes that mean
// the same.
func fuzz[T any, P interface {
	*T
	message
}](f *testing.F, seeds ...string,
) {
	for _, s := range seeds {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m, again T
		if P(&m).Decode(NewReader(b)) != nil {
			return
		}
		r := NewReader(P(&m).Append(nil))
		if err := P(&again).Decode(r); err != nil || r.Len() != 0 {
			t.Fatalf("%+v: encoded form: %v, %d bytes left", m, err, r.Len())
		}
		if !reflect.DeepEqual(m, again) && !bytes.Equal(P(&m).Append(nil), P(&again).Append(nil)) {
			t.Fatalf("%+v became %+v", m, again)
		}
	})
}

func FuzzInit(f *testing.F) {
	fuzz[Init](f, "C1 09 71 08 07 06 05 04 03 02 01 0A CA FF 81 27 01", "E1 09 00 A1 0A CA FF 04 DE AD BE EF 81 43 01 02")
}

func FuzzOpen(f *testing.F) {
	fuzz[Open](f, "42 0A E7 8A 8D 09 04 DE AD BE EF", "E2 3C 05 43 01 02")
}
func FuzzClose(f *testing.F) { fuzz[Close](f, "23 00", "83 04 21 00") }
func FuzzFrame(f *testing.F) { fuzz[Frame](f, "A5 E7 8A 8D 09 31 00", "E6 10 B1 02 02", "A6 11 03") }

func FuzzPush(f *testing.F) {
	fuzz[Push](f, "FD 00 06 64 65 6D 6F 2F 61 21 0D E1 80 80 80 80 88 80 80 D0 68 08 08 07 06 05 04 03 02 01 02 C1 0C 70 08 07 06 05 04 03 02 01 03 AC 02 43 03 61 74 74 05 68 65 6C 6C 6F", "1D 01 02")
}

func FuzzRequest(f *testing.F) {
	fuzz[Request](f, "FC 29 00 06 64 65 6D 6F 2F 71 A1 0D B4 02 26 90 4E E3 03 07 61 3D 31 3B 62 3D 32 C3 05 02 62 6F 64 79 45 02 61 74")
}

func FuzzResponse(f *testing.F) {
	fuzz[Response](f, "FB 29 00 06 64 65 6D 6F 2F 71 A1 0D 43 0A 70 08 07 06 05 04 03 02 01 04 04 41 02 06 61 6E 73 77 65 72", "FB 29 00 06 64 65 6D 6F 2F 71 21 0D 45 02 04 6F 6F 70 73")
}
func FuzzResponseFinal(f *testing.F) { fuzz[ResponseFinal](f, "9A 29 21 0D") }
func FuzzDeclare(f *testing.F) {
	fuzz[Declare](f, "9E 21 08 20 01 00 01 64", "9E 21 08 E4 04 00 06 64 65 6D 6F 2F 71 21 01", "9E 21 08 87 00 5F 07 03 00 6C 76 2F 67 6F", "BE 09 21 08 1A")
}

func FuzzInterest(f *testing.F) {
	fuzz[Interest](f, "F9 09 73 00 06 64 65 6D 6F 2F 61 21 08", "99 09 21 08", "79 02 D3 01")
}

// FuzzOAM and FuzzKeepAlive read what is never written here, or has no content:
// they must end within the bytes that there are.
func FuzzOAM(f *testing.F) {
	f.Add(unhex(f, "DF 01 21 08 2C 02 07 00 01 08 08 07 06 05 04 03 02 01 02 01 13 74 63 70 2F 31 32 37 2E 30 2E 30 2E 31 3A 34 30 30 30 31 01 01 03 01 00 01 A1 01 00"))
	f.Add(unhex(f, "3F 01 07"))
	f.Add(unhex(f, "1F 01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m OAM
		r := NewReader(b)
		if err := m.Decode(r); err == nil && len(m.Body)+r.Len() >= len(b) {
			t.Fatalf("%d bytes of body and %d left of %d", len(m.Body), r.Len(), len(b))
		}
	})
}

func FuzzKeepAlive(f *testing.F) {
	f.Add(unhex(f, "04"))
	f.Add(unhex(f, "84 81 22 05 43 01 02"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		if err := DecodeKeepAlive(r); err == nil && r.Len() >= len(b) {
			t.Fatalf("%d bytes left of %d", r.Len(), len(b))
		}
	})
}

// FuzzMessages reads whatever follows a frame's head.
func FuzzMessages(f *testing.F) {
	f.Add(unhex(f, "DF 01 21 08 02 07 00 7D 00 01 61 02 9A 29 21 0D"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		r := NewReader(b)
		for left := r.Len(); left > 0; {
			err := m.Decode(r)
			if err == nil && r.Len() >= left {
				t.Fatalf("a message of no bytes, %d left", left)
			}
			if err != nil && r.Len() != 0 {
				t.Fatalf("%d bytes left after %v", r.Len(), err)
			}
			left = r.Len()
		}
	})
}
