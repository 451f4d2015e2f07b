// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

func TestPolicy(t *testing.T) {
	var group string
	var gid int
	for _, g := range []string{"nogroup", "nobody", "users"} {
		if n, ok := groupID(g); ok {
			group, gid = g, n
			break
		}
	}
	if group == "" {
		t.Skip("this host has none of the usual groups")
	}
	me := os.Geteuid()
	peer := func(uid, gid int, groups ...int) Peer {
		return Peer{Peer: linux.Peer{PID: 1, UID: uid, GID: gid}, Groups: groups}
	}
	const stranger = 54321
	for _, c := range []struct {
		name   string
		policy Policy
		peer   Peer
		allow  bool
	}{
		{"same user", Policy{}, peer(me, stranger), true},
		{"root", Policy{}, peer(0, 0), true},
		{"stranger", Policy{}, peer(stranger, stranger), false},
		{"stranger in root's group", Policy{}, peer(stranger, 0, 0), false},
		{"configured user", Policy{AllowUIDs: []int{7, stranger}}, peer(stranger, stranger), true},
		{"another user is configured", Policy{AllowUIDs: []int{7}}, peer(stranger, stranger), false},
		{"configured number as a group", Policy{AllowUIDs: []int{7}}, peer(stranger, 7, 7), false},
		{"first group", Policy{Group: group}, peer(stranger, gid), true},
		{"further group", Policy{Group: group}, peer(stranger, stranger, 5, gid), true},
		{"not in the group", Policy{Group: group}, peer(stranger, stranger, gid+1), false},
		{"group that does not exist", Policy{Group: "camd-no-such-group"}, peer(stranger, stranger), false},
		{"group that nobody asked for", Policy{}, peer(stranger, gid), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.policy.Allow(c.peer)
			if c.allow != (err == nil) {
				t.Fatalf("got %v, want allowed %v", err, c.allow)
			}
			if err != nil && (!errors.Is(err, ErrPermissionDenied) || !strings.Contains(err.Error(), "user 54321 asked")) {
				t.Errorf("got %v, want ErrPermissionDenied with who asked", err)
			}
		})
	}
}
