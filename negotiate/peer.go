// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// Peer is who is at the other end of a connection, by the kernel's word: the
// credentials that it had when it connected (a client) or began to listen (a
// daemon).
type Peer struct {
	linux.Peer
	Groups []int // supplementary groups
}

// identify fills a Peer and, where the kernel has SO_PEERPIDFD, a process
// descriptor; else -1. No pidfd is no error: the end of the socket says the
// same, unless the process left the socket to a child.
func identify(fd int) (Peer, int, error) {
	p, err := linux.PeerOf(fd)
	if err != nil {
		return Peer{}, -1, err
	}
	groups, err := linux.PeerGroups(fd)
	if err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOPROTOOPT) {
		return Peer{}, -1, err
	}
	pidfd, err := linux.PeerPIDFD(fd)
	if err != nil {
		pidfd = -1
	}
	return Peer{Peer: p, Groups: groups}, pidfd, nil
}

// Peer returns the identity of the other end.
func (c *Conn) Peer() Peer { return c.peer }

// PeerExited reports whether the other end's process is known to have ended,
// even if a child of it keeps the socket open. It is false where the kernel
// has no SO_PEERPIDFD (before 6.5) and the process is not visible from here.
func (c *Conn) PeerExited() bool {
	c.pidfdMu.Lock()
	defer c.pidfdMu.Unlock()
	if c.pidfd >= 0 {
		return linux.Exited(c.pidfd)
	}
	return c.peer.PID > 0 && c.peer.PID != os.Getpid() && !linux.ProcessAlive(c.peer.PID)
}
