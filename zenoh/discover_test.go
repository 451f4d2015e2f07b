// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// scouting lets a configuration scout on loopback, in a group of the test's own.
func scouting(c *config.Config, port int) *config.Config {
	c.Scout.Multicast, c.Scout.Interface = true, "127.0.0.1"
	c.Scout.Address = fmt.Sprintf("239.255.74.47:%d", port)
	return c
}

func freePort(t testing.TB) int {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port
}

// Peers without any address find each other, and a client finds one of them.
// Opening waits for who is there: the first query finds what they have.
func TestScouted(t *testing.T) {
	port := freePort(t)
	a := opened(t, scouting(apart(), port))
	if _, err := a.Token("live/a"); err != nil {
		t.Fatal(err)
	}
	b := opened(t, scouting(apart(), port))
	if keys, err := b.Liveliness(bounded(t), "live/*"); err != nil || len(keys) != 1 {
		t.Errorf("right after opening %q are seen, %v", keys, err)
	}
	linked(t, 1, a, b)
	if !b.waiting() {
		t.Error("who has found one does not wait for others")
	}
	c := scouting(config.New(), port)
	c.Scout.Autoconnect.Roles = []string{"peer"}
	client := opened(t, c)
	if i := client.Info(); i.Remote != a.zid && i.Remote != b.zid {
		t.Errorf("the client is connected with %+v", i)
	}
	c = scouting(config.New(), port) // wants a router
	c.Scout.Timeout = 50 * time.Millisecond
	if _, err := Open(bounded(t), c, silent()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("without a router: %v", err)
	}
	c.Scout.Multicast = false
	if _, err := Open(bounded(t), c, silent()); !errors.Is(err, ErrConfig) {
		t.Errorf("a client that may not look: %v", err)
	}
	c = apart()
	c.Listen = []string{at(a)}
	if _, err := Open(bounded(t), c, silent()); !errors.Is(err, ErrListen) {
		t.Errorf("at an address that is taken: %v", err)
	}
}
