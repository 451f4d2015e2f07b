// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// The status says what a program that is no router did, not only that there is
// none.
func TestStatusSaysWhyThereIsNoRouter(t *testing.T) {
	for _, c := range []struct{ name, says, want string }{
		{"another protocol", "HTTP/1.1 400 Bad Request\r\n\r\n", "protocol violated"},
		{"hangs up", "", "refused by the other side"},
		{"nobody", "-", "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if c.says == "-" {
				l.Close()
			}
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.CopyN(io.Discard, conn, 2)
					_, _ = io.WriteString(conn, c.says)
					_ = conn.Close()
				}
			}()
			z := config.Client("tcp/" + l.Addr().String())
			z.Connect.ExitOnFailure = false
			z.Connect.Timeout = 0
			n := newNetwork(Network{Zenoh: z}, slog.New(slog.DiscardHandler))
			n.run(t.Context())
			defer n.close()
			s := n.status()
			if s.State != zenohConnecting || !strings.HasPrefix(s.Problem, "tcp/127.0.0.1:") || !strings.Contains(s.Problem, c.want) {
				t.Errorf("state %s, problem %q; want %q", s.State, s.Problem, c.want)
			}
		})
	}
}

// A peer whose router does not answer says so where a router was named; the one
// that is looked for everywhere is not missed. Who answers there and is no router
// is told as well.
func TestStatusOfPeers(t *testing.T) {
	automatic := func(endpoints ...string) *config.Config {
		z := config.Auto(endpoints...)
		z.Listen, z.Scout.Multicast, z.Scout.Delay = []string{"tcp/127.0.0.1:0"}, false, 0
		return z
	}
	start := func(z *config.Config) *network {
		n := newNetwork(Network{Zenoh: z}, slog.New(slog.DiscardHandler))
		n.run(t.Context())
		t.Cleanup(n.close)
		return n
	}
	first := start(automatic("tcp/127.0.0.1:1")).status()
	if first.State != zenohAlone || first.As != "peer" || first.Mode != "auto" || len(first.Listening) != 1 || !strings.Contains(first.Problem, "tcp/127.0.0.1:1: ") {
		t.Errorf("%+v", first)
	}
	second := start(automatic(first.Listening[0])).status()
	if second.State != zenohAlone || !strings.Contains(second.Problem, "peer") {
		t.Errorf("at a peer: %+v", second)
	}
	z := config.Peer(first.Listening[0])
	z.Listen, z.Scout.Multicast = nil, false
	third := start(z).status()
	if third.State != zenohConnected || third.Role != "peer" || third.Problem != "" || third.Connections != 1 || third.Links[0].Incoming {
		t.Errorf("as its peer: %+v", third)
	}
}
