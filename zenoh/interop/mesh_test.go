// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Gossip makes a mesh of real peers and ours that know only one of them; the one
// that introduced them leaves, and they stay. Nodes of 1.10 do not pass on
// addresses of loopback, so that all listen at all addresses.
func TestGossipMesh(t *testing.T) {
	t.Parallel()
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			listen := "{mode: 'peer', listen: {endpoints: ['tcp/0.0.0.0:%d']}, connect: {endpoints: [%s]}, " + quiet + "}"
			p := proctest.Port(t)
			introducing := start(t, v, fmt.Sprintf(listen, p, ""))
			known := fmt.Sprintf("tcp/127.0.0.1:%d", p)
			real := start(t, v, fmt.Sprintf(listen, 0, fmt.Sprintf("%q", known)))
			c := alone(known)
			c.Listen = []string{"tcp/0.0.0.0:0"}
			first := open(t, c)
			linked(t, first, 2)
			c = alone(reach(t, first)) // the third of ours knows only ours
			c.Listen = []string{"tcp/0.0.0.0:0"}
			second := open(t, c)
			for i, s := range []*zenoh.Session{first, second} {
				var zids []string
				for _, l := range linked(t, s, 3) {
					zids = append(zids, l.Remote.String())
				}
				if !slices.Contains(zids, introducing.zid) || !slices.Contains(zids, real.zid) {
					t.Errorf("%d is linked with %v", i, zids)
				}
			}
			all := func(n int) {
				t.Helper()
				real.do(command{"op": "sub", "name": "s", "key": "mesh/**"}, "declared")
				sub, err := second.Subscribe("mesh/**", nil)
				if err != nil {
					t.Fatal(err)
				}
				pub, err := first.Publisher("mesh/ours", nil)
				if err != nil {
					t.Fatal(err)
				}
				// What each declares after its subscriber is known later than that.
				real.do(command{"op": "sub", "name": "mark", "key": "mark/real"}, "declared")
				mark, err := second.Subscribe("mark/ours", nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, key := range []string{"mark/real", "mark/ours"} {
					p, err := first.Publisher(key, nil)
					if err != nil {
						t.Fatal(err)
					}
					until(t, key+" is known", func() bool { return p.Matching() && len(first.Info().Links) == n })
					_ = p.Close()
				}
				if err := pub.Put(ctx(t), []byte("once"), nil); err != nil {
					t.Fatal(err)
				}
				if e := real.want("sample"); e.Text != "once" {
					t.Errorf("the node received %+v", e)
				}
				if got, err := sub.Receive(ctx(t)); err != nil || string(got.Payload) != "once" {
					t.Errorf("received %q, %v", got.Payload, err)
				}
				back, err := second.Subscribe("back/*", nil)
				if err != nil {
					t.Fatal(err)
				}
				real.publisher("p", "back/real")
				for _, text := range []string{"one", "two"} {
					real.do(command{"op": "pubput", "name": "p", "text": text}, "put")
					if got, err := back.Receive(ctx(t)); err != nil || string(got.Payload) != text {
						t.Errorf("received %q, %v, want %q", got.Payload, err, text)
					}
				}
				if err := back.Close(); err != nil {
					t.Error(err)
				}
				real.matching("p", false)
				real.do(command{"op": "undeclare", "name": "p"}, "undeclared")
				_, _, _ = sub.Close(), pub.Close(), mark.Close()
				real.do(command{"op": "undeclare", "name": "s"}, "undeclared")
				real.do(command{"op": "undeclare", "name": "mark"}, "undeclared")
			}
			all(3)
			introducing.kill()
			linked(t, first, 2)
			linked(t, second, 2)
			all(2)
		})
	}
}

// A peer of ours that is connected with a router and with a peer behind the same
// router gets what that puts once.
func TestPeerBesideRouter(t *testing.T) {
	t.Parallel()
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			r, e := router(t, v)
			n := start(t, v, connecting("peer", e))
			c := alone(e)
			s := open(t, c)
			until(t, "the router", func() bool {
				return slices.ContainsFunc(s.Info().Links, func(l zenoh.Link) bool { return l.Role == wire.Router && l.Remote.String() == r.zid })
			})
			// Nodes that hide their loopback addresses connect to ours, which it tells.
			linked(t, s, 2)
			sub, err := s.Subscribe("demo/*", nil)
			if err != nil {
				t.Fatal(err)
			}
			n.publisher("p", "demo/p")
			for _, text := range []string{"one", "two", "three"} {
				n.do(command{"op": "pubput", "name": "p", "text": text}, "put")
				if got, err := sub.Receive(ctx(t)); err != nil || string(got.Payload) != text {
					t.Errorf("received %q, %v, want %q", got.Payload, err, text)
				}
			}
			// A client of the router and we reach each other through it.
			far := start(t, v, connecting("client", e))
			far.do(command{"op": "sub", "name": "s", "key": "far/*"}, "declared")
			pub, err := s.Publisher("far/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the client is known", pub.Matching)
			if err := pub.Put(ctx(t), []byte("hello"), nil); err != nil {
				t.Fatal(err)
			}
			if e := far.want("sample"); e.Text != "hello" {
				t.Errorf("the client received %+v", e)
			}
			far.do(command{"op": "put", "key": "demo/far", "text": "back"}, "put")
			if got, err := sub.Receive(ctx(t)); err != nil || string(got.Payload) != "back" {
				t.Errorf("received %q, %v", got.Payload, err)
			}
		})
	}
}

var hubs atomic.Int64

// hub makes networks of their own that one bridge joins, and returns the
// commands that run something in each.
func hub(t *testing.T, n int) (by [][]string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("%v (package iproute2)", err)
	}
	id := fmt.Sprintf("%d-%d", os.Getpid(), hubs.Add(1))
	middle := "camdhub" + id
	t.Cleanup(func() { _ = ip("ip netns del " + middle) })
	lines := []string{"ip netns add " + middle, fmt.Sprintf("ip -n %s link add br0 type bridge", middle), fmt.Sprintf("ip -n %s link set br0 up", middle)}
	for i := range n {
		ns := fmt.Sprintf("camdhub%s-%d", id, i)
		t.Cleanup(func() { _ = ip("ip netns del " + ns) })
		lines = append(lines,
			"ip netns add "+ns,
			fmt.Sprintf("ip -n %s link add port%d type veth peer name eth0 netns %s", middle, i, ns),
			fmt.Sprintf("ip -n %s link set port%d master br0 up", middle, i),
			fmt.Sprintf("ip -n %s addr add 10.214.0.%d/24 dev eth0", ns, i+1),
			fmt.Sprintf("ip -n %s link set eth0 up", ns),
			fmt.Sprintf("ip -n %s link set lo up", ns),
		)
		by = append(by, []string{"ip", "netns", "exec", ns})
	}
	for _, line := range lines {
		if err := ip(line); err != nil {
			t.Skip(err)
		}
	}
	return by
}

// Three hosts without any configuration find each other by multicast: two of
// ours, and one of the reference, which comes last. Each side's scouts see them,
// by multicast and when they ask at an address.
func TestScouting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir, "../examples/z_sub", "../examples/z_pub", "../examples/z_scout").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			scouting(t, v, dir)
		})
	}
}

func scouting(t *testing.T, version, dir string) {
	by := hub(t, 4)
	in := func(i int, name string, args ...string) *program {
		line := append(append(slices.Clone(by[i][1:]), filepath.Join(dir, name)), args...)
		return launch(t, by[i][0], line...)
	}
	sub := in(0, "z_sub", "-m", "peer", "-k", "demo/**")
	sub.until("Press CTRL-C to quit\\.\\.\\.")
	pub := in(1, "z_pub", "-m", "peer", "-k", "demo/ours", "-p", "hello")
	sub.until(`>> \[Subscriber\] Received PUT \('demo/ours': '\[ *[0-9]+\] hello'\).*`)
	n := startIn(t, by[2], version, "{mode: 'peer'}")
	n.do(command{"op": "sub", "name": "s", "key": "demo/ours"}, "declared")
	if e := n.want("sample"); e.Key != "demo/ours" {
		t.Errorf("the node received %+v", e)
	}
	n.tell(command{"op": "undeclare", "name": "s"})
	n.both(func(e event) bool { return e.Ev == "undeclared" })
	// Ours go one after the other; the rest stays together.
	pub.interrupt()
	n.do(command{"op": "put", "key": "demo/real", "text": "from the node"}, "put")
	sub.until(`>> \[Subscriber\] Received PUT \('demo/real': 'from the node'\)`)
	in(3, "z_scout", "--time", "10s").all(
		`Hello \{ zid: [0-9a-f]+, whatami: peer, locators: \[.*10\.214\.0\.1:.*\] \}`,
		fmt.Sprintf(`Hello \{ zid: %s, whatami: peer, locators: \[.*10\.214\.0\.3:.*\] \}`, n.zid))
	n.do(command{"op": "scout", "at": "10.214.0.1:"}, "hello")
	// Nodes of the reference hear only what comes by multicast.
	in(3, "z_scout", "--no-multicast-scouting", "--host", "10.214.0.1", "--time", "10s").all(`Hello \{ zid: [0-9a-f]+, whatami: peer, locators: \[.*10\.214\.0\.1:.*\] \}`)
	sub.interrupt()
}
