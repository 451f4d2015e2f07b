// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
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

// namespace makes a network of its own for a node, behind a link of the rate
// on the hop that we write.
func namespace(t *testing.T, index int, rate string) (by []string, host, near string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v (package iproute2)", err)
		}
	}
	ns := fmt.Sprintf("camdz%d-%d", index, os.Getpid())
	var far string
	near, far = fmt.Sprintf("cz%da%d", index, os.Getpid()%10000), fmt.Sprintf("cz%db%d", index, os.Getpid()%10000)
	t.Cleanup(func() {
		_ = ip("ip link del " + near)
		_ = ip("ip netns del " + ns)
	})
	for _, line := range []string{
		"ip netns add " + ns,
		fmt.Sprintf("ip link add %s type veth peer name %s", near, far),
		fmt.Sprintf("ip link set %s netns %s", far, ns),
		fmt.Sprintf("ip addr add 10.213.%d.1/24 dev %s", index, near),
		fmt.Sprintf("ip link set %s up", near),
		fmt.Sprintf("ip netns exec %s ip addr add 10.213.%d.2/24 dev %s", ns, index, far),
		fmt.Sprintf("ip netns exec %s ip link set %s up", ns, far),
		fmt.Sprintf("ip netns exec %s ip link set lo up", ns),
		fmt.Sprintf("tc qdisc add dev %s root tbf rate %s burst 32kb latency 150ms", near, rate),
	} {
		if err := ip(line); err != nil {
			t.Skip(err)
		}
	}
	return []string{"ip", "netns", "exec", ns}, fmt.Sprintf("10.213.%d.2", index), near
}

// The host gets another address: nobody says that the connection is dead. It is
// given up after the lease, and comes back from the new address.
func TestChangedAddress(t *testing.T) {
	lost(t, 7, func(t *testing.T, _ string, i int, near string) {
		if err := errors.Join(ip(fmt.Sprintf("ip addr del 10.213.%d.1/24 dev %s", i, near)), ip(fmt.Sprintf("ip addr add 10.213.%d.9/24 dev %s", i, near))); err != nil {
			t.Fatal(err)
		}
	}, func(*testing.T, string, string) {})
}

// The link is gone and comes back: both sides have a connection that the other
// knows nothing of.
func TestHalfOpen(t *testing.T) {
	far := func(near string) string { return strings.Replace(near, "a", "b", 1) }
	lost(t, 17, func(t *testing.T, in string, _ int, near string) {
		if err := ip(in + " ip link set " + far(near) + " down"); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, in, near string) {
		if err := ip(in + " ip link set " + far(near) + " up"); err != nil {
			t.Fatal(err)
		}
	})
}

// lost breaks the connection to nodes of each version without a word; once the
// session has noticed, the network is mended. in runs commands where the node is.
func lost(t *testing.T, first int, breaks func(t *testing.T, in string, i int, near string), mend func(t *testing.T, in, near string)) {
	for k, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			i := first + k
			by, host, near := namespace(t, i, "1gbit")
			e := "tcp/" + host + ":7447"
			n := startIn(t, by, v, listening("router", e, "transport: {link: {tx: {lease: 1000, keep_alive: 4}}}"))
			c := quick(e)
			c.Transport.Lease = time.Second // the node refuses us until it has given up the old connection
			s := open(t, c)
			sub, err := s.Subscribe("demo/*", nil)
			if err != nil {
				t.Fatal(err)
			}
			round(t, s)
			breaks(t, strings.Join(by, " "), i, near)
			until(t, "given up", func() bool { return !s.Info().Connected })
			if err := s.Info().LastErr; !errors.Is(err, transport.ErrExpired) {
				t.Errorf("the connection ended with %v, want ErrExpired", err)
			}
			mend(t, strings.Join(by, " "), near)
			if err := s.WaitConnected(ctx(t)); err != nil {
				t.Fatal(err)
			}
			round(t, s)
			n.do(command{"op": "put", "key": "demo/x", "text": "back"}, "put")
			if got, err := sub.Receive(ctx(t)); err != nil || string(got.Payload) != "back" {
				t.Errorf("received %q, %v", got.Payload, err)
			}
		})
	}
}
