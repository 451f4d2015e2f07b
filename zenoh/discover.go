// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/scout"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Hello is a node that was found.
type Hello struct {
	ZID      ZID
	Role     Role
	Locators []string // where it can be reached, as it says
	From     string   // the address that it answered from
}

// String is the form in which Zenoh's own examples show it.
func (h Hello) String() string {
	return fmt.Sprintf("Hello { zid: %v, whatami: %v, locators: [%s] }", h.ZID, h.Role, strings.Join(h.Locators, ", "))
}

// Scout looks for nodes of some roles by multicast, as c says (nil: the built-in
// settings), and at hosts ("host" or "host:port") by name, until ctx ends, which
// is no error. found is called with each answer, one at a time; a node that
// answers again is reported again.
func Scout(ctx context.Context, c *config.Config, roles []Role, hosts []string, found func(Hello)) error {
	if c == nil {
		c = config.New()
	}
	o := scoutOptions(c)
	o.Hosts = hosts
	o.NoGroup = !c.Scout.Multicast
	return scout.Run(ctx, o, scout.Task{What: wire.RolesOf(roles...), Found: func(h wire.Hello, from netip.AddrPort) {
		found(Hello{h.ZID, h.WhatAmI, h.Locators, from.String()})
	}})
}

func scoutOptions(c *config.Config) scout.Options {
	return scout.Options{Group: c.Scout.Address, Interfaces: c.Scout.Interface, TTL: c.Scout.TTL}
}

// rolesOf is a set of roles by their names.
func rolesOf(a config.Autoconnect) (out wire.Roles) {
	for _, w := range []Role{wire.Router, wire.Peer, wire.Client} {
		if a.Allows(w.String()) {
			out |= wire.RolesOf(w)
		}
	}
	return out
}

// discover looks for others, and lets them find us, until ctx ends.
func (s *Session) discover(ctx context.Context) {
	c := &s.cfg.Scout
	if !c.Multicast {
		return
	}
	t := scout.Task{ZID: s.zid, What: rolesOf(c.Autoconnect)}
	t.Found = func(h wire.Hello, from netip.AddrPort) {
		if ctx.Err() == nil {
			s.heardOf(h.ZID, h.WhatAmI, h.Locators, c.Autoconnect)
		}
	}
	if c.Listen {
		t.Hello = s.hello
	}
	s.spawn(func() {
		said := ""
		for p := s.pauses(); ; {
			err := scout.Run(ctx, scoutOptions(s.cfg), t)
			if err == nil {
				return
			}
			if err.Error() != said {
				// A host may be without network for as long as it likes.
				level := slog.LevelInfo
				if c.Interface != "" && c.Interface != "auto" {
					level = slog.LevelWarn
				}
				said = err.Error()
				s.log.Log(ctx, level, "zenoh does not scout for now", "err", err)
			}
			if !p.wait(ctx, err) {
				return
			}
		}
	})
}

// hello answers who looks for nodes.
func (s *Session) hello(what wire.Roles, from netip.AddrPort) (h wire.Hello, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	role := s.Role()
	h = wire.Hello{Version: wire.Version, WhatAmI: role, ZID: s.zid, Locators: s.locatorsLocked(own(from.Addr()))}
	// More than a datagram holds is not worth a loss.
	h.Locators = h.Locators[:min(len(h.Locators), 32)]
	h.Locators = slices.DeleteFunc(h.Locators, func(l string) bool { return len(l) > 255 })
	return h, what.Has(role) && len(h.Locators) > 0
}

// own says whether an address is one of this host.
func own(a netip.Addr) bool {
	return a.IsLoopback() || slices.ContainsFunc(link.Addresses(), func(o netip.Addr) bool { return o == a })
}

// connectFound connects to the first router, or other node that the settings
// name, that answers.
func (s *Session) connectFound(ctx context.Context) (*face, error) {
	c := &s.cfg.Scout
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, ErrTimeout)
	defer cancel()
	found := make(chan wire.Hello, 16)
	ran := make(chan error, 1)
	go func() {
		ran <- scout.Run(ctx, scoutOptions(s.cfg), scout.Task{ZID: s.zid, What: rolesOf(c.Autoconnect), Found: func(h wire.Hello, _ netip.AddrPort) {
			select {
			case found <- h:
			default:
			}
		}})
	}()
	defer func() {
		cancel()
		<-ran
	}()
	err := fmt.Errorf("%w: nobody answered at %s in %v", ErrUnreachable, c.Address, c.Timeout)
	for {
		select {
		case e := <-ran:
			ran <- e
			if e != nil {
				err = fmt.Errorf("%w: %w", ErrUnreachable, e)
			}
			return nil, err
		case h := <-found:
			for _, l := range h.Locators {
				e, why := link.ParseEndpoint(l)
				if why != nil || !s.cfg.Allows(e.Proto) {
					continue
				}
				f, why := s.connectTo(ctx, e, target{as: wire.Client, zid: h.ZID, timeout: dialTimeout})
				if why == nil {
					return f, nil
				}
				err = fmt.Errorf("%w: %s: %w", ErrUnreachable, l, why)
			}
		}
	}
}
