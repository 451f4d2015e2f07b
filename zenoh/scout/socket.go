// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package scout

import (
	"context"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

// interfaces lists the IPv4 addresses to scout from, one an interface.
func interfaces(spec string) (out []netip.Addr, err error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNetwork, err)
	}
	auto := spec == "" || spec == "auto"
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(spec, ",") {
		wanted[strings.TrimSpace(name)] = true
	}
	var loop []netip.Addr
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if !ok {
				continue
			}
			ip, ok := netip.AddrFromSlice(n.IP)
			if ip = ip.Unmap(); !ok || !ip.Is4() {
				continue
			}
			switch {
			case auto && ip.IsLoopback():
				loop = append(loop, ip)
			case auto && i.Flags&net.FlagMulticast == 0:
				continue
			case auto || wanted[i.Name] || wanted[ip.String()]:
				out = append(out, ip)
			}
			break
		}
	}
	if len(out) == 0 {
		return loop, nil // a host without network still finds its own nodes
	}
	return out, nil
}

// sender opens a socket for questions and answers at the address of an
// interface.
func sender(a netip.Addr, ttl int) (*net.UDPConn, error) {
	c := net.ListenConfig{Control: control(func(fd uintptr) error {
		if err := setMulticastFrom(fd, a, ttl); err != nil {
			return fmt.Errorf("multicast from %v: %w", a, err)
		}
		return nil
	})}
	return packets(context.Background(), &c, netip.AddrPortFrom(a, 0))
}

// listen opens the socket that gets the questions. Others on this host may have
// it too.
func listen(ctx context.Context, port uint16) (*net.UDPConn, error) {
	c := net.ListenConfig{Control: control(share)}
	return packets(ctx, &c, netip.AddrPortFrom(netip.IPv4Unspecified(), port))
}

func packets(ctx context.Context, c *net.ListenConfig, a netip.AddrPort) (*net.UDPConn, error) {
	p, err := c.ListenPacket(ctx, "udp4", net.JoinHostPort(a.Addr().String(), strconv.Itoa(int(a.Port()))))
	if err != nil {
		return nil, err
	}
	return p.(*net.UDPConn), nil
}

// join makes a socket get what is sent to the group through an interface.
func join(c *net.UDPConn, group, from netip.Addr) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return control(func(fd uintptr) error { return addMembership(fd, group, from) })("", "", raw)
}

// control calls set with the descriptor.
func control(set func(fd uintptr) error) func(string, string, syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) error {
		var err error
		if e := raw.Control(func(fd uintptr) { err = set(fd) }); e != nil {
			return e
		}
		return err
	}
}

// common is how many leading bits two addresses share.
func common(a, b netip.Addr) int {
	if !a.Is4() || !b.Is4() {
		return 0
	}
	n := 0
	x, y := a.As4(), b.As4()
	for i := range x {
		z := bits.LeadingZeros8(x[i] ^ y[i])
		n += z
		if z < 8 {
			break
		}
	}
	return n
}
