// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ros2

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// A peer of the reference that answers never, with far too much, or shows
// thousands of streams hides none of those that are there, from who finds all
// streams and from who asks for one.
func TestHostilePeerHidesNobody(t *testing.T) {
	for how, tc := range map[string]struct {
		count int
		told  bool // that the list is incomplete
	}{
		"never":  {0, true},
		"huge":   {50_000_000, false},
		"tokens": {5000, false},
	} {
		t.Run(how, func(t *testing.T) {
			d := camdIn(t, daemon.Network{Zenoh: automatic(proctest.Port(t), 0)}, "", "front=pattern,64x48@50,encoding=rgb8")
			at := away(t, d)
			p := startPeerAt(t, proctest.Port(t), at)
			p.do(command{
				"op": "hostile", "name": "x", "how": how, "count": tc.count,
				"key": negotiate.AnnouncedKey{BootID: "aa", Stream: "front/color"}.String(),
			}, "declared")
			c := config.New()
			for _, key := range []string{"scouting/multicast/enabled", "scouting/gossip/enabled"} {
				if err := c.Set(key, "false", "test"); err != nil {
					t.Fatal(err)
				}
			}
			c.Mode, c.Listen, c.Connect.Endpoints = "peer", nil, []string{at, p.endpoint}
			incomplete := make(chan string, 16)
			opts := []client.Option{client.WithZenoh(c), client.WithDomain(0), client.WithRuntimeDir(t.TempDir()), client.WithLogger(slog.New(slog.DiscardHandler))}
			all, err := client.Announced(ctx(t), append(opts, client.WithEvents(func(e client.Event) { incomplete <- e.Text }))...)
			if err != nil || len(all) < 2 || all[0].Session != d.Status().Session || all[0].Stream.Name != "front/color" {
				t.Fatalf("%d streams, the first %+v, %v", len(all), all[:min(len(all), 1)], err)
			}
			if want := max(tc.count, 1); how == "tokens" && len(all) != want+1 {
				t.Errorf("%d streams, want %d", len(all), want+1)
			}
			select {
			case text := <-incomplete:
				if !tc.told || !strings.Contains(text, "no answer in time from the peer at "+p.endpoint) {
					t.Errorf("told %q", text)
				}
			default:
				if tc.told {
					t.Error("not told of who does not answer")
				}
			}
			s, err := client.Subscribe(ctx(t), d.Status().Host+":front/color", append(opts, client.WithRequire(negotiate.BackendCPU))...)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			f := held(t, s)
			f.Release()
		})
	}
}
