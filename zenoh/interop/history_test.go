// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"maps"
	"testing"

	"github.com/seed-3c7e7623/camd/zenoh"
)

// An advanced subscriber of the node that comes late gets the last samples, in
// order, and then the live ones.
func TestHistory(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			n, e := router(t, v)
			s := client(t, e)
			p, err := s.Publisher("late/a", &zenoh.PublisherOptions{Cache: 3, Encoding: zenoh.ParseEncoding("text/plain")})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 5 {
				if err := p.Put(ctx(t), fmt.Appendf(nil, "%d", i), &zenoh.PutOptions{Attachment: []byte("att")}); err != nil {
					t.Fatal(err)
				}
			}
			round(t, s)
			n.tell(command{"op": "advanced", "name": "a", "key": "late/*"})
			declared := false
			for _, want := range []string{"2", "3", "4"} {
				got := n.next()
				if got.Ev == "declared" {
					declared = true
					got = n.next()
				}
				if got.Text != want || got.Key != "late/a" || got.Encoding != "text/plain" || got.Attachment != "att" || got.Timestamp == "" {
					t.Errorf("history %+v, want %s", got, want)
				}
			}
			if !declared {
				n.want("declared")
			}
			if err := p.Put(ctx(t), []byte("5"), nil); err != nil {
				t.Fatal(err)
			}
			if got := n.want("sample"); got.Text != "5" {
				t.Errorf("live sample %+v", got)
			}
			// A publisher that comes after the subscriber is found by its token,
			// also one with best effort, whose samples have times and no numbers.
			q, err := s.Publisher("late/b", &zenoh.PublisherOptions{Cache: 3, QoS: zenoh.QoS{Reliability: zenoh.BestEffort}})
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Put(ctx(t), []byte("b"), nil); err != nil {
				t.Fatal(err)
			}
			if got := n.want("sample"); got.Text != "b" || got.Key != "late/b" {
				t.Errorf("sample of the late publisher %+v", got)
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What the router takes away is asked for, also the last samples, after which
// nothing else comes: the heartbeat says that there were some.
func TestHeartbeat(t *testing.T) {
	// Of a key that only the samples have it lets one in a thousand seconds pass.
	const lossy = `downsampling: [{flows: ["ingress"], messages: ["put"], rules: [{key_expr: "lost/a", freq: 0.001}]}]`
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			n, e := router(t, v, lossy)
			s := client(t, e)
			p, err := s.Publisher("lost/a", &zenoh.PublisherOptions{Cache: 3})
			if err != nil {
				t.Fatal(err)
			}
			n.do(command{"op": "sub", "name": "beats", "key": "lost/a/@adv/pub/**"}, "declared")
			n.do(command{"op": "advanced", "name": "a", "key": "lost/a", "recovery": true}, "declared")
			round(t, s)
			for i := range 3 {
				if err := p.Put(ctx(t), fmt.Appendf(nil, "value %d", i), nil); err != nil {
					t.Fatal(err)
				}
			}
			got := map[string]int{}
			for len(got) < 4 {
				x := n.want("sample")
				if x.Key != "lost/a" {
					x.Text = fmt.Sprintf("beat %q, %s", x.Text, x.Congestion)
				}
				got[x.Text]++
			}
			if want := map[string]int{"value 0": 1, "value 1": 1, "value 2": 1, `beat "\x02\x00\x00\x00", BLOCK`: 1}; !maps.Equal(got, want) {
				t.Errorf("got %v", got)
			}
		})
	}
}
