// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	zidZ = ZID{8, 7, 6, 5, 4, 3, 2, 1}
	zidR = ZID{0xA1}
)

func key(s string) WireExpr { return WireExpr{Suffix: []byte(s), Sender: true} }

type message interface {
	Append(b []byte) []byte
	Decode(r *Reader) error
}

// The bytes were derived by hand from the protocol and fed to zenoh-pico 1.9.0.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		want        message
	}{
		{"init syn", "C1 09 71 08 07 06 05 04 03 02 01 0A CA FF 81 27 01", &Init{Version: 9, WhatAmI: Peer, ZID: zidZ, Resolution: 0x0A, BatchSize: 65482, QoS: true, Patch: 1}},
		{"init ack", "E1 09 00 A1 0A CA FF 04 DE AD BE EF 81 27 01", &Init{Ack: true, Version: 9, ZID: zidR, Resolution: 0x0A, BatchSize: 65482, Cookie: []byte{0xDE, 0xAD, 0xBE, 0xEF}, QoS: true, Patch: 1}},
		{"open syn", "42 0A E7 8A 8D 09 04 DE AD BE EF", &Open{LeaseMillis: 10000, InitialSN: 0x01234567, Cookie: []byte{0xDE, 0xAD, 0xBE, 0xEF}}},
		{"open ack", "62 0A 05", &Open{Ack: true, LeaseMillis: 10000, InitialSN: 5}},
		{"open ack of ros", "62 3C 05", &Open{Ack: true, LeaseMillis: 60000, InitialSN: 5}},
		{"close session", "23 00", &Close{Session: true}},
		{"close link", "03 04", &Close{Reason: MaxLinks}},
		{"frame of lane 0", "A5 E7 8A 8D 09 31 00", &Frame{Reliable: true, SN: 0x01234567}},
		{"frame", "25 05", &Frame{Reliable: true, SN: 5, Priority: 5}},
		{"first fragment", "E6 10 02", &Frame{Fragment: true, Reliable: true, More: true, First: true, SN: 16, Priority: 5}},
		{"first fragment of lane 2", "E6 10 B1 02 02", &Frame{Fragment: true, Reliable: true, More: true, First: true, SN: 16, Priority: 2}},
		{"next fragment", "66 11", &Frame{Fragment: true, Reliable: true, More: true, SN: 17, Priority: 5}},
		{"last fragment", "26 12", &Frame{Fragment: true, Reliable: true, SN: 18, Priority: 5}},
		{"dropped fragment", "A6 11 03", &Frame{Fragment: true, Reliable: true, SN: 17, Priority: 5, Drop: true}},
		{"declare key", "9E 21 08 20 01 00 0C 64 65 6D 6F 2F 65 78 61 6D 70 6C 65", &Declare{QoS: QoSControl, Body: DeclKeyExpr, ID: 1, Key: key("demo/example")}},
		{"declare subscriber on a scope", "9E 21 08 62 03 01 03 2F 2A 2A", &Declare{QoS: QoSControl, Body: DeclSubscriber, ID: 3, HasKey: true, Key: WireExpr{Scope: 1, Suffix: []byte("/**"), Sender: true}}},
		{"declare subscriber", "1E 62 03 00 07 64 65 6D 6F 2F 2A 2A", &Declare{QoS: QoSDefault, Body: DeclSubscriber, ID: 3, HasKey: true, Key: key("demo/**")}},
		{"queryable", "9E 21 08 E4 04 00 06 64 65 6D 6F 2F 71 21 01", &Declare{QoS: QoSControl, Body: DeclQueryable, ID: 4, HasKey: true, Key: key("demo/q"), Complete: true}},
		{"token", "9E 21 08 66 06 00 05 6C 76 2F 67 6F", &Declare{QoS: QoSControl, Body: DeclToken, ID: 6, HasKey: true, Key: key("lv/go")}},
		{"undeclare token by key", "9E 21 08 87 00 5F 07 03 00 6C 76 2F 67 6F", &Declare{QoS: QoSControl, Body: UndeclToken, HasKey: true, Key: key("lv/go")}},
		{"undeclare subscriber", "9E 21 08 03 03", &Declare{QoS: QoSControl, Body: UndeclSubscriber, ID: 3}},
		{"answer in the receiver's scope", "BE 09 21 08 02 0C 01", &Declare{HasInterest: true, Interest: 9, QoS: QoSControl, Body: DeclSubscriber, ID: 12, HasKey: true, Key: WireExpr{Scope: 1}}},
		{"final", "BE 09 21 08 1A", &Declare{HasInterest: true, Interest: 9, QoS: QoSControl, Body: DeclFinal}},
		{"undeclare key", "1E 01 01", &Declare{QoS: QoSDefault, Body: UndeclKeyExpr, ID: 1}},
		{"interest of a publisher", "F9 09 73 00 06 64 65 6D 6F 2F 61 21 08", &Interest{ID: 9, Mode: ModeCurrentFuture, Options: WantKeys | WantSubscribers, Restricted: true, Key: key("demo/a"), QoS: QoSControl}},
		{"liveliness get", "B9 0C 79 00 05 6C 76 2F 2A 2A 21 08", &Interest{ID: 12, Mode: ModeCurrent, Options: WantKeys | WantTokens, Restricted: true, Key: key("lv/**"), QoS: QoSControl}},
		{"interest cancelled", "99 09 21 08", &Interest{ID: 9, QoS: QoSControl}},
		{"aggregating interest of pico", "79 02 D3 01", &Interest{ID: 2, Mode: ModeCurrentFuture, Options: WantKeys | WantSubscribers | Aggregate, Restricted: true, Key: WireExpr{Scope: 1, Sender: true}, QoS: QoSDefault}},
		{"push", "7D 00 06 64 65 6D 6F 2F 61 01 02 68 69", &Push{Key: key("demo/a"), QoS: QoSDefault, Data: Data{Payload: []byte("hi")}}},
		{"push on the sender's id", "5D 01 01 02 68 69", &Push{Key: WireExpr{Scope: 1, Sender: true}, QoS: QoSDefault, Data: Data{Payload: []byte("hi")}}},
		{"push on the receiver's id", "1D 01 01 02 68 69", &Push{Key: WireExpr{Scope: 1}, QoS: QoSDefault, Data: Data{Payload: []byte("hi")}}},
		{
			"push with everything",
			"FD 00 06 64 65 6D 6F 2F 61 21 0D E1 80 80 80 80 88 80 80 D0 68 08 08 07 06 05 04 03 02 01 02 C1 0C 70 08 07 06 05 04 03 02 01 03 AC 02 43 03 61 74 74 05 68 65 6C 6C 6F",
			&Push{Key: key("demo/a"), QoS: 0x0D, Data: Data{
				Timestamp: Timestamp{NTP64: 0x68A0000080000000, ID: zidZ}, Encoding: Encoding{ID: 1},
				Source: SourceInfo{ZID: zidZ, EID: 3, SN: 300}, Attachment: []byte("att"), Payload: []byte("hello"),
			}},
		},
		{"delete", "7D 00 06 64 65 6D 6F 2F 61 02", &Push{Key: key("demo/a"), QoS: QoSDefault, Data: Data{Del: true}}},
		{
			"request",
			"FC 29 00 06 64 65 6D 6F 2F 71 A1 0D B4 02 26 90 4E E3 03 07 61 3D 31 3B 62 3D 32 C3 05 02 62 6F 64 79 45 02 61 74",
			&Request{ID: 41, Key: key("demo/q"), QoS: 0x0D, Target: 2, TimeoutMillis: 10000, Query: Query{
				Consolidation: 3, Parameters: []byte("a=1;b=2"), HasBody: true, Encoding: Encoding{ID: 1}, Payload: []byte("body"), Attachment: []byte("at"),
			}},
		},
		{"endless request", "FC 01 00 06 64 65 6D 6F 2F 71 A1 0D 26 FF FF FF FF FF FF FF FF FF 23 01", &Request{ID: 1, Key: key("demo/q"), QoS: 0x0D, TimeoutMillis: math.MaxUint64, Query: Query{Consolidation: 1}}},
		{
			"reply", "FB 29 00 06 64 65 6D 6F 2F 71 A1 0D 43 0A 70 08 07 06 05 04 03 02 01 04 04 41 02 06 61 6E 73 77 65 72",
			&Response{ID: 41, Key: key("demo/q"), QoS: 0x0D, Responder: SourceInfo{ZID: zidZ, EID: 4}, Data: Data{Encoding: Encoding{ID: 1}, Payload: []byte("answer")}},
		},
		{"error", "FB 29 00 06 64 65 6D 6F 2F 71 21 0D 45 02 04 6F 6F 70 73", &Response{ID: 41, Key: key("demo/q"), QoS: 0x0D, Err: true, Data: Data{Encoding: Encoding{ID: 1}, Payload: []byte("oops")}}},
		{"response final", "9A 29 21 0D", &ResponseFinal{ID: 41, QoS: 0x0D}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := unhex(t, c.bytes)
			got := reflect.New(reflect.TypeOf(c.want).Elem()).Interface().(message)
			r := NewReader(b)
			if err := got.Decode(r); err != nil || r.Len() != 0 {
				t.Fatalf("decoding: %v, %d bytes left", err, r.Len())
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("decoded\n %+v, want\n %+v", got, c.want)
			}
			if again := c.want.Append([]byte{0xEE}); !bytes.Equal(again[1:], b) {
				t.Errorf("encoded\n % X, want\n % X", again[1:], b)
			}
			for n := range b {
				if err := got.Decode(NewReader(b[:n])); err == nil {
					t.Errorf("the first %d of %d bytes were taken for a message", n, len(b))
				}
			}
		})
	}
}

func TestZint(t *testing.T) {
	for _, c := range []struct {
		v     uint64
		bytes string
	}{
		{0, "00"},
		{127, "7F"},
		{128, "80 01"},
		{300, "AC 02"},
		{10000, "90 4E"},
		{0x0FFFFFFF, "FF FF FF 7F"},
		{1<<32 - 1, "FF FF FF FF 0F"},
		{1<<56 - 1, "FF FF FF FF FF FF FF 7F"},
		{1 << 56, "80 80 80 80 80 80 80 80 01"},
		{1 << 63, "80 80 80 80 80 80 80 80 80"},
		{math.MaxUint64, "FF FF FF FF FF FF FF FF FF"},
	} {
		b := unhex(t, c.bytes)
		if got := AppendZint(nil, c.v); !bytes.Equal(got, b) || ZintLen(c.v) != len(b) {
			t.Errorf("%d: % X of length %d, want % X", c.v, got, ZintLen(c.v), b)
		}
		r := NewReader(append(b, 0xFF))
		if got := r.Zint(); got != c.v || r.Err() != nil || r.Len() != 1 {
			t.Errorf("% X: %d, %v, %d left, want %d", b, got, r.Err(), r.Len(), c.v)
		}
	}
}

// What real nodes send beside the fields that we write.
func TestDecodeForeign(t *testing.T) {
	var i Init
	if err := i.Decode(NewReader(unhex(t, "81 09 72 08 07 06 05 04 03 02 01 27 01"))); err != nil || i.BatchSize != 65535 || i.Resolution != DefaultResolution {
		t.Errorf("INIT without sizes: %+v, %v", i, err)
	}
	if err := i.Decode(NewReader(unhex(t, "E1 09 00 A1 0A CA FF 00 81 C2 02 11 22 85 27 01"))); err != nil || !i.QoS || i.Patch != 1 {
		t.Errorf("INIT with a shared memory offer: %+v, %v", i, err)
	}
	var d Declare
	if err := d.Decode(NewReader(unhex(t, "9E 21 08 87 06 5F 02 00 00"))); err != nil || d.HasKey || d.ID != 6 {
		t.Errorf("withdrawal with an empty key: %+v, %v", d, err)
	}
	var p Push
	if err := p.Decode(NewReader(unhex(t, "9D 01 C2 0A 01 08 08 07 06 05 04 03 02 01 33 05 02"))); err != nil || !p.Data.Del {
		t.Errorf("PUSH with routing extensions: %+v, %v", p, err)
	}
	if err := p.Decode(NewReader(unhex(t, "1D 01 81 12 00"))); err == nil {
		t.Error("a payload in shared memory was taken")
	}
	var m Message
	r := NewReader(unhex(t, "DF 01 21 08 02 07 00 7D 00 01 61 02"))
	if err := m.Decode(r); err != nil || m.ID != IDOAM || len(m.OAM.Body) != 2 {
		t.Errorf("OAM: %+v, %v", m.OAM, err)
	}
	if err := m.Decode(r); err != nil || m.ID != IDPush {
		t.Errorf("message after an OAM: %#x, %v", m.ID, err)
	}
}

func TestZIDText(t *testing.T) {
	for _, c := range []struct {
		z    ZID
		text string
	}{
		{zidZ, "102030405060708"},
		{zidR, "a1"},
		{ZID{0x0F}, "f"},
		{ZID{0, 1}, "100"},
	} {
		if got := c.z.String(); got != c.text {
			t.Errorf("%v reads %q, want %q", c.z[:], got, c.text)
		}
		if got, err := ParseZID(c.text); err != nil || got != c.z {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
	}
	for _, bad := range []string{"", "0", "01", "A1", "xy", strings.Repeat("1", 33)} {
		if z, err := ParseZID(bad); err == nil {
			t.Errorf("%q was taken for %v", bad, z)
		}
	}
}
