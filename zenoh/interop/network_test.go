// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/transport"
)

// ip runs a command line of iproute2.
func ip(line string) error {
	f := strings.Fields(line)
	if out, err := exec.Command(f[0], f[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, out)
	}
	return nil
}

// subnet reserves a network 10.213.N for this test alone: runs of these tests on
// one machine share its addresses.
func subnet(t *testing.T) int {
	t.Helper()
	for n := range 256 {
		f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("camd-subnet-%d.lock", n)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			t.Cleanup(func() { _ = f.Close() })
			return n
		}
		_ = f.Close()
	}
	t.Fatal("all of the networks 10.213.N are in use")
	return 0
}

// link is a network of its own for a node, and the way there.
type link struct {
	by            []string // runs a command there
	host          string   // its address
	near, far     string   // interfaces, here and there
	ours, another string   // our addresses, the one in use and one more
}

// namespace makes a network of its own for a node, behind a link of the rate
// on the hop that we write.
func namespace(t *testing.T, rate string) link {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v (package iproute2)", err)
		}
	}
	n := subnet(t)
	ns := fmt.Sprintf("camdz%d", n)
	at := func(i int) string { return fmt.Sprintf("10.213.%d.%d", n, i) }
	l := link{
		by: []string{"ip", "netns", "exec", ns}, host: at(2), ours: at(1), another: at(9),
		near: fmt.Sprintf("camdz%da", n), far: fmt.Sprintf("camdz%db", n),
	}
	remove := func() {
		_ = ip("ip link del " + l.near)
		_ = ip("ip netns del " + ns)
	}
	remove() // what a run left that was killed
	t.Cleanup(remove)
	for _, line := range []string{
		"ip netns add " + ns,
		fmt.Sprintf("ip link add %s type veth peer name %s", l.near, l.far),
		fmt.Sprintf("ip link set %s netns %s", l.far, ns),
		fmt.Sprintf("ip addr add %s/24 dev %s", l.ours, l.near),
		fmt.Sprintf("ip link set %s up", l.near),
		fmt.Sprintf("ip -n %s addr add %s/24 dev %s", ns, l.host, l.far),
		fmt.Sprintf("ip -n %s link set %s up", ns, l.far),
		fmt.Sprintf("ip -n %s link set lo up", ns),
		fmt.Sprintf("tc qdisc add dev %s root tbf rate %s burst 32kb latency 150ms", l.near, rate),
	} {
		if err := ip(line); err != nil {
			t.Skip(err)
		}
	}
	return l
}

// The host gets another address: nobody says that the connection is dead. It is
// given up after the lease, and comes back from the new address.
func TestChangedAddress(t *testing.T) {
	lost(t, func(l link) error {
		return errors.Join(ip(fmt.Sprintf("ip addr del %s/24 dev %s", l.ours, l.near)), ip(fmt.Sprintf("ip addr add %s/24 dev %s", l.another, l.near)))
	}, func(link) error { return nil })
}

// The link is gone and comes back: both sides have a connection that the other
// knows nothing of.
func TestHalfOpen(t *testing.T) {
	set := func(how string) func(link) error {
		return func(l link) error {
			return ip(strings.Join(l.by, " ") + " ip link set " + l.far + " " + how)
		}
	}
	lost(t, set("down"), set("up"))
}

// lost breaks the connection to nodes of each version without a word; once the
// session has noticed, the network is mended.
func lost(t *testing.T, breaks, mend func(link) error) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			l := namespace(t, "1gbit")
			e := "tcp/" + l.host + ":7447"
			n := startIn(t, l.by, v, listening("router", e, "transport: {link: {tx: {lease: 1000, keep_alive: 4}}}"))
			c := quick(e)
			c.Transport.Lease = time.Second // the node refuses us until it has given up the old connection
			s := open(t, c)
			sub, err := s.Subscribe("demo/*", nil)
			if err != nil {
				t.Fatal(err)
			}
			round(t, s)
			if err := breaks(l); err != nil {
				t.Fatal(err)
			}
			until(t, "given up", func() bool { return !s.Info().Connected })
			if err := s.Info().LastErr; !errors.Is(err, transport.ErrExpired) {
				t.Errorf("the connection ended with %v, want ErrExpired", err)
			}
			if err := mend(l); err != nil {
				t.Fatal(err)
			}
			comesBack(t, n, s, sub)
		})
	}
}
