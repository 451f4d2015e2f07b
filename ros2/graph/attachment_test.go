// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

const (
	goldenAttachment = "0100000000000000" + "15cd853dfe9c9717" + "10" + "1aa452df55307fa359ef8ce469b4a1ee"
	namedAttachment  = "0f73657175656e63655f6e756d626572" + "0100000000000000" + // sequence_number
		"10736f757263655f74696d657374616d70" + "15cd853dfe9c9717" + // source_timestamp
		"0a736f757263655f676964" + "10" + "1aa452df55307fa359ef8ce469b4a1ee" // source_gid
)

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAttachment(t *testing.T) {
	a := Attachment{Sequence: 1, SourceNanos: 1700000000123456789, GID: golden[2].entity.GID()}
	buf := make([]byte, 0, AttachmentSize)
	if got := hex.EncodeToString(a.Append(buf)); got != goldenAttachment {
		t.Errorf("attachment %s, want %s", got, goldenAttachment)
	}
	if n := testing.AllocsPerRun(100, func() { buf = a.Append(buf[:0]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for name, s := range map[string]string{"current": goldenAttachment, "older": namedAttachment} {
		if got, err := ParseAttachment(unhex(t, s)); err != nil || got != a {
			t.Errorf("%s form: %+v, %v, want %+v", name, got, err, a)
		}
	}
	if n := len(namedAttachment) / 2; namedSize != 77 || n != namedSize {
		t.Errorf("the older form has %d bytes", n)
	}
	for name, s := range map[string]string{
		"empty":                 "",
		"one byte less":         goldenAttachment[2:],
		"one byte more":         goldenAttachment + "00",
		"another length":        strings.Replace(goldenAttachment, "1710", "170f", 1),
		"other names":           strings.Replace(namedAttachment, "0f73", "0f74", 1),
		"another length, named": strings.Replace(namedAttachment, "67696410", "67696411", 1),
		"one byte less, named":  namedAttachment[2:],
	} {
		if a, err := ParseAttachment(unhex(t, s)); !errors.Is(err, ErrAttachment) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func FuzzParseAttachment(f *testing.F) {
	f.Add(unhex(f, goldenAttachment))
	f.Add(unhex(f, namedAttachment))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAttachment(b)
		if err != nil {
			return
		}
		again := a.Append(nil)
		if len(b) == len(again) && string(b) != string(again) {
			t.Errorf("%x is written as %x", b, again)
		}
		if back, err := ParseAttachment(again); err != nil || back != a {
			t.Errorf("%+v comes back as %+v, %v", a, back, err)
		}
	})
}
