// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"
)

// Listener waits for links at one endpoint.
type Listener struct {
	l    net.Listener
	e    Endpoint
	o    *Options
	conf *tls.Config // of tls endpoints
}

// Listen listens at an endpoint. Port 0 is any that is free: see
// [Listener.Endpoint]. The file of a unix socket that nobody listens at is
// replaced.
func Listen(ctx context.Context, e Endpoint, o *Options) (*Listener, error) {
	if o == nil {
		o = &Options{}
	}
	l := &Listener{e: e, o: o}
	var err error
	if e.Proto == "tls" {
		if l.conf, err = o.TLS.serve(); err != nil {
			return nil, err
		}
	}
	c := net.ListenConfig{KeepAliveConfig: keepAlive}
	if e.Proto == "unixsock-stream" {
		l.l, err = c.Listen(ctx, "unix", e.Address)
		if errors.Is(err, syscall.EADDRINUSE) && abandoned(e.Address) {
			if err = os.Remove(e.Address); err == nil {
				l.l, err = c.Listen(ctx, "unix", e.Address)
			}
		}
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	l.l, err = c.Listen(ctx, "tcp", e.Address)
	if host, port, _ := net.SplitHostPort(e.Address); err != nil && host == "::" {
		l.l, err = c.Listen(ctx, "tcp4", net.JoinHostPort("0.0.0.0", port)) // a host without IPv6
	}
	if err != nil {
		return nil, err
	}
	if host, port, _ := net.SplitHostPort(l.l.Addr().String()); port != "" {
		// A certificate holds a name: what was asked for is what others connect to.
		if asked, _, _ := net.SplitHostPort(e.Address); e.Proto == "tls" && net.ParseIP(asked) == nil && asked != "" {
			host = asked
		}
		l.e.Address = net.JoinHostPort(host, port)
	}
	return l, nil
}

// abandoned says whether nobody listens at a unix socket.
func abandoned(path string) bool {
	s, err := os.Lstat(path)
	if err != nil || s.Mode()&os.ModeSocket == 0 {
		return false
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// Endpoint is where others can connect to, with the port that was chosen.
func (l *Listener) Endpoint() Endpoint { return l.e }

// Accept waits for the next connection. [Listener.Shake] makes a link of it.
func (l *Listener) Accept() (net.Conn, error) { return l.l.Accept() }

// Close ends the listener. Links stay.
func (l *Listener) Close() error { return l.l.Close() }

// Shake makes a link of an accepted connection, which it then owns; with TLS
// that takes the other side's answers. ctx bounds it.
func (l *Listener) Shake(ctx context.Context, nc net.Conn) (*Conn, error) {
	c, err := wrap(nc, l.o)
	if err == nil && l.conf != nil {
		err = c.secure(ctx, tls.Server(&c.sock, l.conf))
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return c, nil
}

// Locators are the endpoints that others reach a listener at: one that listens
// at all addresses has one for each. Those of loopback reach only nodes on this
// host and are left out where loopback is false.
func Locators(e Endpoint, loopback bool) []string {
	if e.Proto == "unixsock-stream" {
		if loopback {
			return []string{e.String()}
		}
		return nil
	}
	host, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		return nil
	}
	ip := net.ParseIP(host)
	switch {
	case ip == nil:
		if host == "localhost" && !loopback {
			return nil
		}
		return []string{e.String()}
	case !ip.IsUnspecified():
		if ip.IsLoopback() && !loopback {
			return nil
		}
		return []string{e.String()}
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		// A link-local address means something only with an interface of the reader's.
		if !ok || n.IP.IsLoopback() && !loopback || n.IP.IsLinkLocalUnicast() || n.IP.To4() == nil && ip.To4() != nil {
			continue
		}
		out = append(out, fmt.Sprintf("%s/%s", e.Proto, net.JoinHostPort(n.IP.String(), port)))
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

// rank puts what reaches farther first.
func rank(locator string) int {
	if IsLoopback(locator) {
		return 1
	}
	return 0
}

// IsLoopback says whether a locator is reached on its own host only.
func IsLoopback(locator string) bool {
	e, err := ParseEndpoint(locator)
	if err != nil {
		return false
	}
	if e.Proto == "unixsock-stream" {
		return true
	}
	host, _, err := net.SplitHostPort(e.Address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Addresses are those of this host.
func Addresses() (out []netip.Addr) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, ip.Unmap())
			}
		}
	}
	return out
}
