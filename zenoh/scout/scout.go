// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package scout finds Zenoh nodes in the network: it sends SCOUT to a multicast
// group, or to hosts by name, and answers those of others with HELLO. It looks
// at the interfaces of the host again and again, as they come and go.
package scout

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// ErrNetwork reports that scouting finds no way into the network.
var ErrNetwork = errors.New("scouting")

// Group is where Zenoh nodes scout.
const Group = "224.0.0.224:7446"

// Options say where to look.
type Options struct {
	// Group is the multicast group with its port; "": [Group].
	Group string
	// Interfaces are names or addresses, with commas between; "auto", "": all
	// that can do multicast.
	Interfaces string
	TTL        int // of multicast datagrams; 0: 1
	// Hosts are asked by name, "host:port" or "host", beside the group.
	Hosts []string
	// NoGroup asks only Hosts.
	NoGroup bool
}

// Task is what to do.
type Task struct {
	ZID wire.ZID // our own
	// What are the roles to look for; none: look for nobody.
	What wire.Roles
	// Found is called with each HELLO, one at a time.
	Found func(h wire.Hello, from netip.AddrPort)
	// Hello is the answer to who looks from an address; nil, or when it returns
	// false: none.
	Hello func(what wire.Roles, from netip.AddrPort) (wire.Hello, bool)
}

// The pauses between two questions double from the first to the last.
const (
	firstPause = time.Second
	lastPause  = 8 * time.Second
)

// maxAnswers bounds the answers in a second: a question may name somebody else
// as its sender.
const maxAnswers = 200

// scouter is what runs.
type scouter struct {
	o     Options
	t     Task
	group netip.AddrPort

	mu      sync.Mutex
	senders map[netip.Addr]*net.UDPConn // by address of the interface
	answers int                         // in this second
	second  time.Time                   // its start
	reading sync.WaitGroup

	finding sync.Mutex
}

// Run asks and answers until ctx ends, which is no error. It fails with
// [ErrNetwork] when it cannot begin.
func Run(ctx context.Context, o Options, t Task) error {
	if o.Group == "" {
		o.Group = Group
	}
	group, err := netip.ParseAddrPort(o.Group)
	if err != nil || !group.Addr().Is4() || !group.Addr().IsMulticast() {
		return fmt.Errorf("%w: group %q: want an IPv4 multicast address with a port", ErrNetwork, o.Group)
	}
	s := &scouter{o: o, t: t, group: group, senders: map[netip.Addr]*net.UDPConn{}}
	var asked *net.UDPConn // gets questions
	if t.Hello != nil {
		if asked, err = listen(ctx, group.Port()); err != nil {
			return fmt.Errorf("%w: port %d: %w", ErrNetwork, group.Port(), err)
		}
		defer asked.Close()
	}
	joined := map[netip.Addr]bool{}
	if err := s.refresh(asked, joined); err != nil {
		return err
	}
	if asked != nil {
		s.reading.Add(1)
		go s.read(asked)
	}
	s.ask(ctx)
	timer := time.NewTimer(firstPause)
	defer timer.Stop()
	for pause := firstPause; ; {
		select {
		case <-ctx.Done():
			if asked != nil {
				_ = asked.Close()
			}
			s.close()
			s.reading.Wait()
			return nil
		case <-timer.C:
		}
		pause = min(2*pause, lastPause)
		timer.Reset(pause)
		_ = s.refresh(asked, joined) // the interfaces that there were stay
		s.ask(ctx)
	}
}

// refresh takes in the interfaces that have come and drops those that have
// gone.
func (s *scouter) refresh(asked *net.UDPConn, joined map[netip.Addr]bool) error {
	addrs, err := interfaces(s.o.Interfaces)
	if err != nil {
		return err
	}
	there := map[netip.Addr]bool{}
	for _, a := range addrs {
		there[a] = true
		if asked != nil && !joined[a] && join(asked, s.group.Addr(), a) == nil {
			joined[a] = true
		}
		s.mu.Lock()
		_, open := s.senders[a]
		s.mu.Unlock()
		if open {
			continue
		}
		c, e := sender(a, max(s.o.TTL, 1))
		if e != nil {
			err = e
			continue
		}
		s.mu.Lock()
		s.senders[a] = c
		s.mu.Unlock()
		s.reading.Add(1)
		go s.read(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, c := range s.senders {
		if !there[a] {
			_ = c.Close()
			delete(s.senders, a)
			delete(joined, a)
		}
	}
	if len(s.senders) == 0 {
		return fmt.Errorf("%w: no interface of %q: %w", ErrNetwork, s.o.Interfaces, errors.Join(err, errors.New("none is usable")))
	}
	return nil
}

func (s *scouter) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.senders {
		_ = c.Close()
	}
}

// ask sends the question through each interface.
func (s *scouter) ask(ctx context.Context) {
	if s.t.What == 0 {
		return
	}
	to := s.hosts(ctx)
	if !s.o.NoGroup {
		to = append(to, s.group)
	}
	b := (&wire.Scout{Version: wire.Version, What: s.t.What, ZID: s.t.ZID}).Append(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.senders {
		for _, a := range to {
			_, _ = c.WriteToUDPAddrPort(b, a) // the next time may do
		}
	}
}

// hosts are the addresses of those who are asked by name.
func (s *scouter) hosts(ctx context.Context) (out []netip.AddrPort) {
	for _, h := range s.o.Hosts {
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = h, fmt.Sprint(s.group.Port())
		}
		n, err := net.DefaultResolver.LookupPort(ctx, "udp", port)
		if err != nil {
			continue
		}
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
		if err != nil {
			continue
		}
		for _, ip := range ips {
			out = append(out, netip.AddrPortFrom(ip.Unmap(), uint16(n)))
		}
	}
	return out
}

// read takes what comes to a socket until it is closed.
func (s *scouter) read(c *net.UDPConn) {
	defer s.reading.Done()
	b := make([]byte, 1<<16)
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // that of a datagram before, which nobody took
		}
		s.take(b[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
	}
}

// take looks at one datagram.
func (s *scouter) take(b []byte, from netip.AddrPort) {
	r := wire.NewReader(b)
	h, _ := r.Peek()
	switch wire.ID(h) {
	case wire.IDHello:
		var m wire.Hello
		if m.Decode(r) != nil || m.Version != wire.Version || m.ZID == s.t.ZID || s.t.Found == nil || !s.t.What.Has(m.WhatAmI) {
			return
		}
		s.finding.Lock()
		defer s.finding.Unlock()
		s.t.Found(m, from)
	case wire.IDScout:
		var m wire.Scout
		if m.Decode(r) != nil || m.Version != wire.Version || m.ZID == s.t.ZID && !m.ZID.IsZero() || s.t.Hello == nil {
			return
		}
		s.answer(&m, from)
	}
}

func (s *scouter) answer(m *wire.Scout, from netip.AddrPort) {
	s.mu.Lock()
	for _, c := range s.senders {
		if a, ok := c.LocalAddr().(*net.UDPAddr); ok && a.AddrPort() == from {
			s.mu.Unlock()
			return // our own question
		}
	}
	s.mu.Unlock()
	hello, ok := s.t.Hello(m.What, from)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.second) > time.Second {
		s.second, s.answers = now, 0
	}
	if s.answers++; s.answers > maxAnswers {
		return
	}
	var best *net.UDPConn
	most := -1
	for a, c := range s.senders {
		if n := common(a, from.Addr()); n > most {
			best, most = c, n
		}
	}
	if best != nil {
		_, _ = best.WriteToUDPAddrPort(hello.Append(nil), from)
	}
}
