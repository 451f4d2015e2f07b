// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// soPeerPIDFD is SO_PEERPIDFD of asm-generic/socket.h (kernel 6.5).
const soPeerPIDFD = 77

// Peer is who is at the other end of a Unix socket, by the kernel's word.
type Peer struct {
	PID int // 0 when it is not visible from this PID namespace
	UID int
	GID int
}

// PeerOf reads SO_PEERCRED.
func PeerOf(fd int) (Peer, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, fmt.Errorf("SO_PEERCRED: %w", err)
	}
	return Peer{PID: int(c.Pid), UID: int(c.Uid), GID: int(c.Gid)}, nil
}

// PeerGroups reads the supplementary groups of the other end (SO_PEERGROUPS).
func PeerGroups(fd int) ([]int, error) {
	// The kernel says ERANGE and the needed length when the buffer is short;
	// NGROUPS_MAX (65536) bounds it.
	buf := make([]byte, 4*64)
	n, err := getsockopt(fd, unix.SO_PEERGROUPS, buf)
	if err == unix.ERANGE && n > len(buf) {
		buf = make([]byte, n)
		n, err = getsockopt(fd, unix.SO_PEERGROUPS, buf)
	}
	if err != nil {
		return nil, fmt.Errorf("SO_PEERGROUPS: %w", err)
	}
	groups := make([]int, 0, n/4)
	for i := 0; i+4 <= n; i += 4 {
		groups = append(groups, int(binary.NativeEndian.Uint32(buf[i:])))
	}
	return groups, nil
}

// PeerPIDFD returns a process descriptor of the other end, or an error where
// the kernel has no SO_PEERPIDFD. The caller closes it.
func PeerPIDFD(fd int) (int, error) {
	pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, soPeerPIDFD)
	if err != nil {
		return -1, fmt.Errorf("SO_PEERPIDFD: %w", err)
	}
	return pidfd, nil
}

// Exited reports whether the process of a process descriptor has ended.
func Exited(pidfd int) bool {
	p := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&unix.POLLIN != 0
}

// ProcessAlive reports whether a process of this number exists.
func ProcessAlive(pid int) bool {
	return pid > 0 && unix.Kill(pid, 0) != unix.ESRCH
}

// Command is the name of a process as ps shows it, "" if it cannot be read.
func Command(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// BootID is the random identity of this boot, "" if it cannot be read.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
