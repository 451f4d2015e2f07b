// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Ours, as client and as peer, and a real client exchange everything through a
// real router, and through a real peer that both are connected with.
func TestThroughNode(t *testing.T) {
	t.Parallel()
	for _, v := range versions {
		for _, hub := range []string{"router", "peer"} {
			for mode, settings := range map[string]func(...string) *config.Config{"client": config.Client, "peer": alone} {
				t.Run(v+"/"+hub+"/"+mode, func(t *testing.T) {
					t.Parallel()
					e := fmt.Sprintf("tcp/127.0.0.1:%d", proctest.Port(t))
					start(t, v, listening(hub, e))
					n := start(t, v, connecting("client", e))
					s := open(t, settings(e))
					linked(t, s, 1)
					if hub == "peer" {
						everything(t, n, s, 1, 30_000) // peers of 1.9 lose samples of 3 MB that they pass on
					} else {
						everything(t, n, s)
					}
				})
			}
		}
	}
}

// ros is the settings of rmw_zenoh's sessions, at a router's endpoint, with an id.
func ros(endpoint, id, listen string) string {
	return fmt.Sprintf(`{
		mode: 'peer', id: %q,
		connect: {endpoints: [%q], exit_on_failure: {router: false, peer: false, client: true}, retry: {period_init_ms: 100, period_max_ms: 400}},
		listen: {endpoints: [%q]},
		scouting: {
			multicast: {enabled: false},
			gossip: {
				enabled: true, multihop: false, target: {router: ['router', 'peer'], peer: ['router']},
				autoconnect: {router: [], peer: ['router', 'peer']},
				autoconnect_strategy: {peer: {to_router: 'always', to_peer: 'greater-zid'}},
			},
		},
		timestamping: {enabled: true, drop_future_timestamp: false},
		queries_default_timeout: 600000,
		transport: {
			unicast: {open_timeout: 60000, accept_timeout: 60000, accept_pending: 10000, max_sessions: 10000},
			link: {tx: {lease: 60000, keep_alive: 2, queue: {congestion_control: {drop: {wait_before_drop: 1000}, block: {wait_before_close: 60000000}}}}},
			shared_memory: {enabled: false},
		},
	}`, id, endpoint, listen)
}

// A system as ROS 2 has it: a router, a real peer and ours, each with the settings
// of rmw_zenoh, of which the router tells each the other's address. The router
// passes nothing on between peers: the one with the greater id connects. Ours as
// client gets all through the router.
func TestROSSystem(t *testing.T) {
	t.Parallel()
	const smaller, greater = "11111111111111111111111111111111", "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
	for _, v := range versions {
		for _, c := range []struct{ name, ours, theirs string }{{"ours greater", greater, smaller}, {"ours smaller", smaller, greater}} {
			t.Run(v+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				_, e := router(t, v, "routing: {router: {peers_failover_brokering: false}}", "transport: {link: {tx: {lease: 60000, keep_alive: 2}}}")
				// Nodes of 1.10 tell nobody of their loopback addresses.
				n := start(t, v, ros(e, c.theirs, "tcp/0.0.0.0:0"))
				conf := config.New()
				if err := conf.Load("rmw.json5", []byte(ros(e, c.ours, "tcp/0.0.0.0:0"))); err != nil {
					t.Fatal(err)
				}
				s := open(t, conf)
				for _, l := range linked(t, s, 2) {
					if l.Role == wire.Peer && (l.Remote.String() != n.zid || l.Accepted != (c.ours == smaller)) {
						t.Errorf("linked with %+v", l)
					}
				}
				everything(t, n, s)

				byRouter := client(t, e)
				received(t, n, byRouter)
			})
		}
	}
}

// received exchanges a sample each way.
func received(t *testing.T, n *node, s *zenoh.Session) {
	t.Helper()
	n.do(command{"op": "sub", "name": "r", "key": "short/there"}, "declared")
	pub, err := s.Publisher("short/there", nil)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the node's subscriber is known", pub.Matching)
	if err := pub.Put(ctx(t), []byte("there"), nil); err != nil {
		t.Fatal(err)
	}
	if e := n.want("sample"); e.Text != "there" {
		t.Errorf("the node received %+v", e)
	}
	sub, err := s.Subscribe("short/back", nil)
	if err != nil {
		t.Fatal(err)
	}
	n.publisher("b", "short/back")
	n.do(command{"op": "pubput", "name": "b", "text": "back"}, "put")
	if got, err := sub.Receive(ctx(t)); err != nil || string(got.Payload) != "back" {
		t.Errorf("received %q, %v", got.Payload, err)
	}
}

// Two real peers know only one of ours, which tells them of each other; they go
// on when it leaves with a goodbye.
func TestGossipOfOurs(t *testing.T) {
	t.Parallel()
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			c := alone()
			c.Listen = []string{"tcp/0.0.0.0:0"}
			s, err := zenoh.Open(ctx(t), c, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(ctx(t))
			known := fmt.Sprintf("{mode: 'peer', listen: {endpoints: ['tcp/0.0.0.0:0']}, connect: {endpoints: [%q]}, %s}", reach(t, s), quiet)
			one, two := start(t, v, known), start(t, v, known)
			linked(t, s, 2)
			until(t, "they are connected", func() bool { return len(one.do(command{"op": "links"}, "links").Peers) == 2 })
			if _, err := s.Token("live/ours"); err != nil {
				t.Fatal(err)
			}
			two.tell(command{"op": "livesub", "name": "l", "key": "live/*", "history": true})
			two.both(func(e event) bool { return e.Ev == "declared" }, func(e event) bool { return e.Ev == "live" && e.Kind == "PUT" })
			if err := s.Close(ctx(t)); err != nil {
				t.Error(err)
			}
			if e := two.want("live"); e.Kind != "DELETE" {
				t.Errorf("the node sees %+v of who has left", e)
			}
			two.do(command{"op": "sub", "name": "s", "key": "still/*"}, "declared")
			one.publisher("p", "still/here")
			one.do(command{"op": "pubput", "name": "p", "text": "hello"}, "put")
			if e := two.want("sample"); e.Text != "hello" {
				t.Errorf("received %+v", e)
			}
		})
	}
}
