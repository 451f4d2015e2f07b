// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh"
	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Samples reach those that they are for: others, the own session, or both; and
// come from those that they are wanted from.
func TestLocality(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := client(t, endpoint)
		n.do(command{"op": "sub", "name": "s", "key": "loc/**", "origin": "REMOTE"}, "declared")
		all := []zenoh.Locality{zenoh.LocalitySession, zenoh.LocalityRemote, zenoh.LocalityAny}
		var subs []*zenoh.Subscriber
		for _, l := range all {
			sub, err := s.Subscribe("loc/**", &zenoh.SubscriberOptions{Origin: l})
			if err != nil {
				t.Fatal(err)
			}
			subs = append(subs, sub)
		}
		round(t, s)
		put := func(key string, l zenoh.Locality) {
			t.Helper()
			if err := s.Put(ctx(t), key, []byte("x"), &zenoh.PutOptions{Destination: l}); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range all {
			put(fmt.Sprint("loc/", i), l)
		}
		for _, want := range []string{"loc/1", "loc/2"} {
			if e := n.want("sample"); e.Key != want {
				t.Errorf("the node received %s, want %s", e.Key, want)
			}
		}
		for i, d := range []string{"SESSION_LOCAL", "REMOTE", "ANY", "ANY"} {
			n.do(command{"op": "pub", "name": d, "key": fmt.Sprint("loc/node/", i), "destination": d}, "declared")
			n.do(command{"op": "pubput", "name": d, "text": "x"}, "put")
		}
		wants := [][]string{
			{"loc/0", "loc/2", "loc/end"},
			{"loc/node/1", "loc/node/2", "loc/node/3"},
			{"loc/0", "loc/2", "loc/node/1", "loc/node/2", "loc/node/3"},
		}
		for _, i := range []int{1, 2, 0} {
			want := wants[i]
			if i == 0 { // all of the node have come
				put("loc/end", zenoh.LocalitySession)
			}
			var got []string
			for len(got) < len(want) {
				v, err := subs[i].Receive(ctx(t))
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, v.Key)
			}
			if !slices.Equal(got, want) {
				t.Errorf("origin %d: %q, want %q", all[i], got, want)
			}
		}
	})
}

// Reliability is seen at the other end, with everything else that a publisher
// is declared with.
func TestReliability(t *testing.T) {
	each(t, func(t *testing.T, n *node, endpoint string) {
		s := client(t, endpoint)
		sub, err := s.Subscribe("rel/*", nil)
		if err != nil {
			t.Fatal(err)
		}
		round(t, s)
		for key, want := range map[string]zenoh.QoS{
			"BEST_EFFORT": {Priority: zenoh.PriorityBackground, Congestion: zenoh.CongestionDrop, Reliability: zenoh.BestEffort},
			"RELIABLE":    {Priority: zenoh.PriorityDataHigh, Congestion: zenoh.CongestionBlock, Express: true},
		} {
			priority, congestion := "BACKGROUND", "DROP"
			if want.Express {
				priority, congestion = "DATA_HIGH", "BLOCK"
			}
			n.do(command{
				"op": "pub", "name": key, "key": "rel/" + key, "reliability": key, "priority": priority, "congestion": congestion,
				"express": want.Express,
			}, "declared")
			n.do(command{"op": "pubput", "name": key, "text": "x"}, "put")
			if got, err := sub.Receive(ctx(t)); err != nil || got.QoS != want {
				t.Errorf("%s: received %+v, %v, want %+v", key, got.QoS, err, want)
			}
		}
	})
}

// A router hands reliability and priority on from one of our sessions to another.
func TestQoSThroughRouter(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			_, e := router(t, v)
			a, b := client(t, e), client(t, e)
			sub, err := b.Subscribe("qos", nil)
			if err != nil {
				t.Fatal(err)
			}
			round(t, b)
			for _, want := range []zenoh.QoS{
				{Priority: zenoh.PriorityRealTime, Congestion: zenoh.CongestionBlock, Express: true},
				{Priority: zenoh.PriorityDataLow, Congestion: zenoh.CongestionDrop, Reliability: zenoh.BestEffort},
				{Priority: zenoh.PriorityBackground, Congestion: zenoh.CongestionDrop, Express: true, Reliability: zenoh.BestEffort},
			} {
				p, err := a.Publisher("qos", &zenoh.PublisherOptions{QoS: want})
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Put(ctx(t), []byte("x"), nil); err != nil {
					t.Fatal(err)
				}
				if got, err := sub.Receive(ctx(t)); err != nil || got.QoS != want {
					t.Errorf("received %+v, %v, want %+v", got.QoS, err, want)
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
			// The settings have the last word.
			conf := config.Client(e)
			if err := conf.Set("qos/publication", `[{key_exprs: ["q*s", "qos"], config: {priority: "interactive_low", express: true, congestion_control: "block"}}]`, "test"); err == nil {
				t.Error("q*s was taken for a key expression")
			}
			if err := conf.Set("qos/publication", `[{key_exprs: ["no"], config: {}}, {key_exprs: ["no", "qo$*"], config: {priority: "interactive_low", express: true, congestion_control: "block"}}]`, "test"); err != nil {
				t.Fatal(err)
			}
			if err := open(t, conf).Put(ctx(t), "qos", []byte("x"), nil); err != nil {
				t.Fatal(err)
			}
			want := zenoh.QoS{Priority: zenoh.PriorityInteractiveLow, Congestion: zenoh.CongestionBlock, Express: true}
			if got, err := sub.Receive(ctx(t)); err != nil || got.QoS != want {
				t.Errorf("received %+v, %v, want %+v", got.QoS, err, want)
			}
		})
	}
}

// Many small samples share a batch, but not where batching is off, and express
// ones do not; the node gets all of them in order.
func TestBatching(t *testing.T) {
	const samples = 200
	for _, c := range []struct {
		name        string
		batching    bool
		express     bool
		least, most uint64 // batches
	}{{"on", true, false, 1, 10}, {"off", false, false, samples, samples}, {"express", true, true, samples, samples}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, e := router(t, versions[len(versions)-1]) // it wants one frame a batch
			p := newProxy(t, strings.TrimPrefix(e, "tcp/"))
			var batches atomic.Uint64
			f := func(_ *rand.Rand, b []byte, toUs bool, _ int) []byte {
				if h := b[2]; !toUs && wire.ID(h) == wire.IDFrame {
					batches.Add(1)
				}
				return b
			}
			conf := config.Client(p.endpoint())
			conf.Transport.Batching, conf.Transport.FlushPeriod = c.batching, 500*time.Millisecond
			s := open(t, conf)
			n.do(command{"op": "sub", "name": "s", "key": "batch/*"}, "declared")
			pub, err := s.Publisher("batch/a", &zenoh.PublisherOptions{QoS: zenoh.QoS{Congestion: zenoh.CongestionBlock, Express: c.express}})
			if err != nil {
				t.Fatal(err)
			}
			round(t, s)
			p.change.Store(&f)
			for i := range samples {
				if err := pub.Put(ctx(t), fmt.Append(nil, i), nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Flush(ctx(t)); err != nil {
				t.Fatal(err)
			}
			for i := range samples {
				if got := n.want("sample"); got.Text != fmt.Sprint(i) {
					t.Fatalf("sample %d is %q", i, got.Text)
				}
			}
			if b := batches.Load(); b < c.least || b > c.most {
				t.Errorf("%d samples went in %d batches, want %d to %d", samples, b, c.least, c.most)
			}
		})
	}
}
