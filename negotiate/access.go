// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
)

// DefaultGroup is the group whose members may use any camd of the host.
const DefaultGroup = "camd"

// Policy says which users a daemon serves. The zero value serves its own user
// and root.
type Policy struct {
	AllowUIDs []int  // further users
	Group     string // its members too; "" or a group that does not exist: nobody
}

// Allow returns nil if the peer may be served, else [ErrPermissionDenied] with
// who asked and who may. Only what the kernel says about the peer counts.
func (p Policy) Allow(peer Peer) error {
	if peer.UID == 0 || peer.UID == os.Geteuid() || slices.Contains(p.AllowUIDs, peer.UID) {
		return nil
	}
	// Looked up each time: a group made while the daemon runs counts at once,
	// and subscriptions begin rarely.
	if gid, ok := groupID(p.Group); ok && (peer.GID == gid || slices.Contains(peer.Groups, gid)) {
		return nil
	}
	who := fmt.Sprintf("user %d, root", os.Geteuid())
	if p.Group != "" {
		who += ", members of group " + p.Group
	}
	if len(p.AllowUIDs) > 0 {
		who += fmt.Sprintf(", users %v", p.AllowUIDs)
	}
	return fmt.Errorf("%w: user %d asked, served are %s", ErrPermissionDenied, peer.UID, who)
}

func groupID(name string) (int, bool) {
	if name == "" {
		return 0, false
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, false
	}
	gid, err := strconv.Atoi(g.Gid)
	return gid, err == nil
}
