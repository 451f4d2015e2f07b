// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package scout

import (
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

func setMulticastFrom(fd uintptr, a netip.Addr, ttl int) error {
	if err := unix.SetsockoptInet4Addr(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_IF, a.As4()); err != nil {
		return os.NewSyscallError("setsockopt IP_MULTICAST_IF", err)
	}
	return os.NewSyscallError("setsockopt IP_MULTICAST_TTL", unix.SetsockoptByte(int(fd), unix.IPPROTO_IP, unix.IP_MULTICAST_TTL, byte(min(ttl, 255))))
}

func share(fd uintptr) error {
	return os.NewSyscallError("setsockopt SO_REUSEADDR", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
}

func addMembership(fd uintptr, group, from netip.Addr) error {
	return os.NewSyscallError("setsockopt IP_ADD_MEMBERSHIP", unix.SetsockoptIPMreq(int(fd), unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP, &unix.IPMreq{Multiaddr: group.As4(), Interface: from.As4()}))
}
