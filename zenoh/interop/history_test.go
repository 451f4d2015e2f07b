// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
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
			// A publisher that comes after the subscriber is found by its token.
			q, err := s.Publisher("late/b", &zenoh.PublisherOptions{Cache: 3})
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
