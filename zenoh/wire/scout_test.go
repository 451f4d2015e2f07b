// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

const (
	helloHex  = "22 09 71 08 07 06 05 04 03 02 01 01 15 74 63 70 2F 31 39 32 2E 31 36 38 2E 31 2E 35 3A 34 30 30 30 31"
	gossipHex = "DF 01 21 08 2C 02 07 00 01 08 08 07 06 05 04 03 02 01 02 01 13 74 63 70 2F 31 32 37 2E 30 2E 30 2E 31 3A 34 30 30 30 31 01 01 03 01 00 01 A1 01 00"
)

func TestScoutingVectors(t *testing.T) {
	for _, c := range []struct {
		hex string
		m   message
		got message
	}{
		{"01 09 03", &Scout{Version: Version, What: RolesOf(Router, Peer)}, &Scout{}},
		{"01 09 7B 08 07 06 05 04 03 02 01", &Scout{Version: Version, What: RolesOf(Router, Peer), ZID: zidZ}, &Scout{}},
		{helloHex, &Hello{Version: Version, WhatAmI: Peer, ZID: zidZ, Locators: []string{"tcp/192.168.1.5:40001"}}, &Hello{}},
	} {
		want := unhex(t, c.hex)
		if b := c.m.Append(nil); !bytes.Equal(b, want) {
			t.Errorf("%+v became %x, want %x", c.m, b, want)
		}
		if err := c.got.Decode(NewReader(want)); err != nil || !reflect.DeepEqual(c.got, c.m) {
			t.Errorf("%x is %+v, %v, want %+v", want, c.got, err, c.m)
		}
	}
	if s := RolesOf(Peer); s.Has(Router) || !s.Has(Peer) || s.Has(Client) || s.Has(3) {
		t.Errorf("the set of peers is %#x", s)
	}
}

func TestGossipVector(t *testing.T) {
	want := []LinkState{
		{PSID: 0, SN: 1, ZID: zidZ, WhatAmI: Peer, Locators: []string{"tcp/127.0.0.1:40001"}, Located: true, Links: []uint64{1}},
		{PSID: 1, ZID: ZID{0xA1}},
	}
	b := unhex(t, gossipHex)
	var m OAM
	if err := m.Decode(NewReader(b)); err != nil || m.ID != OAMLinkState {
		t.Fatalf("%+v, %v", m, err)
	}
	got, err := DecodeLinkStates(m.Body)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v, want %+v", got, err, want)
	}
	m.Body = AppendLinkStates(nil, got)
	if again := m.Append(nil); !bytes.Equal(again, b) {
		t.Errorf("it became %x, want %x", again, b)
	}
	// Counts beyond the bytes that are there take no memory.
	for _, h := range []string{"FF FF FF FF 0F", "01 04 00 00 FF FF FF FF 0F", "01 00 00 00 FF FF FF FF 0F 00"} {
		if got, err := DecodeLinkStates(unhex(t, h)); !errors.Is(err, ErrShort) {
			t.Errorf("%s: %+v, %v, want ErrShort", h, got, err)
		}
	}
}

func FuzzScout(f *testing.F) { fuzz[Scout](f, "01 09 7B 08 07 06 05 04 03 02 01", "81 09 03 21 05") }
func FuzzHello(f *testing.F) { fuzz[Hello](f, helloHex, "82 09 00 A1 43 01 02") }

func FuzzLinkStates(f *testing.F) {
	f.Add(unhex(f, gossipHex)[5:])
	f.Add(unhex(f, "01 1F 02 03 01 A1 04 00 02 05 06 80 01 07"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := DecodeLinkStates(b)
		if err != nil {
			return
		}
		c := AppendLinkStates(nil, list)
		again, err := DecodeLinkStates(c)
		if err != nil || !bytes.Equal(AppendLinkStates(nil, again), c) {
			t.Fatalf("%+v became %+v, %v", list, again, err)
		}
	})
}
