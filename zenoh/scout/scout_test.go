// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package scout

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// freePort returns a UDP port that nobody uses.
func freePort(t testing.TB) int {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port
}

// run runs a task until the test ends.
func run(t testing.TB, o Options, task Task) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- Run(ctx, o, task) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// Who answers is found through the group, and by its address without it; who
// has another role does not answer, nor does anybody answer itself.
func TestFind(t *testing.T) {
	port := freePort(t)
	o := Options{Group: fmt.Sprintf("239.255.74.46:%d", port), Interfaces: "127.0.0.1"}
	answer := func(id byte, role wire.WhatAmI) {
		z := wire.ZID{id}
		run(t, o, Task{ZID: z, What: wire.RolesOf(wire.Peer), Found: func(h wire.Hello, _ netip.AddrPort) {
			if h.ZID == z {
				t.Errorf("%v has found itself", z)
			}
		}, Hello: func(what wire.Roles, from netip.AddrPort) (wire.Hello, bool) {
			if !from.Addr().IsLoopback() {
				t.Errorf("asked from %v", from)
			}
			return wire.Hello{Version: wire.Version, WhatAmI: role, ZID: z, Locators: []string{"tcp/127.0.0.1:1"}}, what.Has(role)
		}})
	}
	answer(1, wire.Peer)
	answer(2, wire.Router)
	by := map[string]Options{"group": o, "address": {Group: o.Group, Interfaces: o.Interfaces, NoGroup: true, Hosts: []string{fmt.Sprintf("localhost:%d", port)}}}
	for name, o := range by {
		found := make(chan wire.Hello, 64)
		run(t, o, Task{What: wire.RolesOf(wire.Peer, wire.Router), Found: func(h wire.Hello, _ netip.AddrPort) { found <- h }})
		var ids []byte
		for name == "group" && len(ids) < 2 || len(ids) < 1 { // one of several at an address gets the question
			select {
			case h := <-found:
				if !slices.Equal(h.Locators, []string{"tcp/127.0.0.1:1"}) {
					t.Errorf("%s: found %+v", name, h)
				}
				if !slices.Contains(ids, h.ZID[0]) {
					ids = append(ids, h.ZID[0])
				}
			case <-bounded(t).Done():
				t.Fatalf("%s: only %v answered", name, ids)
			}
		}
	}
	only := make(chan wire.Hello, 64)
	run(t, o, Task{What: wire.RolesOf(wire.Router), Found: func(h wire.Hello, _ netip.AddrPort) { only <- h }})
	if h := <-only; h.WhatAmI != wire.Router {
		t.Errorf("a %v answered instead of a router", h.WhatAmI)
	}
}

func TestCannotScout(t *testing.T) {
	for _, o := range []Options{{Group: "nonsense"}, {Group: "192.0.2.1:7446"}, {Group: "[ff02::1]:7446"}, {Interfaces: "none0"}} {
		if err := Run(bounded(t), o, Task{}); !errors.Is(err, ErrNetwork) {
			t.Errorf("%+v: %v, want ErrNetwork", o, err)
		}
	}
}

// FuzzTake gives whatever bytes to who asks and answers.
func FuzzTake(f *testing.F) {
	f.Add((&wire.Scout{Version: wire.Version, What: 7, ZID: wire.ZID{1}}).Append(nil))
	f.Add((&wire.Hello{Version: wire.Version, WhatAmI: wire.Peer, ZID: wire.ZID{1}, Locators: []string{"tcp/192.0.2.1:1", ""}}).Append(nil))
	f.Add([]byte{0x22, 9, 0x71, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &scouter{t: Task{
			ZID: wire.ZID{9}, What: wire.RolesOf(wire.Peer), Found: func(h wire.Hello, _ netip.AddrPort) {
				if h.WhatAmI != wire.Peer || h.ZID.IsZero() || h.ZID == (wire.ZID{9}) {
					t.Errorf("found %+v", h)
				}
			},
			Hello: func(wire.Roles, netip.AddrPort) (wire.Hello, bool) { return wire.Hello{ZID: wire.ZID{9}}, true },
		}}
		s.take(b, netip.AddrPort{})
	})
}
