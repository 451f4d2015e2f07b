// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/link"
)

// Scout says how other nodes are found.
type Scout struct {
	Multicast bool
	Address   string // of the group, with the port
	Interface string // names or addresses, with commas between; auto: all that can
	TTL       int
	Listen    bool          // peers answer who looks for them
	Timeout   time.Duration // of a client's search for a router
	Delay     time.Duration // how long opening a peer waits for others
	// WaitScouted and WaitDeclares: opening a peer waits for who is found, and
	// for what they have.
	WaitScouted, WaitDeclares bool
	Autoconnect               Autoconnect // with whom that multicast finds
	Gossip                    Gossip
}

// Gossip says what peers tell each other of their neighbours.
type Gossip struct {
	Enabled     bool
	Target      []string // the roles that are told
	Autoconnect Autoconnect
}

// Autoconnect says with which of the nodes that are found to connect.
type Autoconnect struct {
	Roles    []string // router, peer, client
	Strategy Strategy
}

// Strategy is always, or greater-zid: only when our id is the greater one, by
// role of the other node.
type Strategy struct {
	Router, Peer, Client string
}

// Allows says whether to connect with nodes of a role.
func (a Autoconnect) Allows(role string) bool { return slices.Contains(a.Roles, role) }

// Greater says whether only the node with the greater id connects.
func (a Autoconnect) Greater(role string) bool {
	s := map[string]string{"router": a.Strategy.Router, "peer": a.Strategy.Peer, "client": a.Strategy.Client}[role]
	return s == greaterZID
}

const (
	always     = "always"
	greaterZID = "greater-zid"
)

var roleNames = []string{"router", "peer", "client"}

// Peer returns the built-in settings of a peer, with endpoints to connect to.
func Peer(endpoints ...string) *Config {
	c := builtin("peer")
	c.Connect.Endpoints = endpoints
	return c
}

// Auto returns the built-in settings of a session that is a client of the router
// at the endpoints (none: tcp/localhost:7447) while one answers there, and a peer
// otherwise.
func Auto(endpoints ...string) *Config {
	c := builtin("auto")
	c.Connect.Endpoints = endpoints
	return c
}

// builtin are the built-in settings of a mode.
func builtin(mode string) *Config {
	c := newClient()
	c.Mode = mode
	if mode == "client" {
		return c
	}
	c.Listen = []string{"tcp/[::]:0"}
	c.Connect.ExitOnFailure, c.Connect.Timeout = false, -time.Millisecond
	c.Scout.Autoconnect.Roles = []string{"router", "peer"}
	return c
}

// as is the name by which Zenoh's settings go that depend on the mode.
func as(mode string) string {
	if mode == "auto" {
		return "peer"
	}
	return mode
}

func setMode(c *Config, v any) error {
	mode, ok := v.(string)
	if !ok || !slices.Contains([]string{"client", "peer", "auto"}, mode) {
		return fmt.Errorf("%v: want client, peer or auto", v)
	}
	if mode == c.Mode {
		return nil
	}
	before, now := builtin(c.Mode), builtin(mode)
	c.Mode = mode
	for _, s := range settings() {
		if s.key == "mode" {
			continue
		}
		m, modal := c.modal[s.key]
		if !modal && !bytes.Equal(shown(s, c), shown(s, before)) {
			continue // it was set, for any mode
		}
		value := m.values[as(mode)]
		if value == nil { // the built-in one
			if err := json.Unmarshal(shown(s, now), &value); err != nil {
				return err
			}
			if modal {
				delete(c.sources, s.key)
			}
		} else {
			c.sources[s.key] = m.source
		}
		if err := s.set(c, value); err != nil {
			return fmt.Errorf("%s: %w", s.key, err)
		}
	}
	return nil
}

// shown is a value as Explain shows it.
func shown(s setting, c *Config) []byte {
	b, err := json.Marshal(s.get(c))
	if err != nil {
		return nil
	}
	return b
}

// modal is a value for each mode.
type modal struct {
	values map[string]any
	source string
}

// modes takes a value apart that is given for each mode.
func modes(v any) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return nil, false
	}
	for k := range m {
		if !slices.Contains(roleNames, k) {
			return nil, false
		}
	}
	return m, true
}

// roleList reads a list of roles, also in one string with | between.
func roleList(v any, may ...string) ([]string, error) {
	out := []string{}
	if s, ok := v.(string); ok && s != "" {
		var list []any
		for part := range strings.SplitSeq(s, "|") {
			list = append(list, part)
		}
		v = list
	}
	if v != nil && v != "" {
		if err := flatten(v, &out); err != nil {
			return nil, err
		}
	}
	for _, r := range out {
		if !slices.Contains(may, r) {
			return nil, fmt.Errorf("%q: want a list of %s", r, strings.Join(may, ", "))
		}
	}
	return out, nil
}

func roleSetting(key, doc string, f func(c *Config) *[]string, may ...string) setting {
	return setting{key, "list", doc, func(c *Config) any { return append([]string{}, *f(c)...) }, func(c *Config, v any) (err error) {
		*f(c), err = roleList(v, may...)
		return err
	}}
}

// strategySetting also takes one for each role.
func strategySetting(key string, f func(c *Config) *Strategy) setting {
	get := func(c *Config) any {
		s := f(c)
		return map[string]string{"to_router": s.Router, "to_peer": s.Peer, "to_client": s.Client}
	}
	return setting{key, "string", "always, or greater-zid: only the node with the greater id connects; by role as to_router, to_peer, to_client", get, func(c *Config, v any) error {
		s := *f(c)
		each := map[string]any{"to_router": v, "to_peer": v, "to_client": v}
		if m, ok := v.(map[string]any); ok {
			each = m
		}
		for to, what := range each {
			text, ok := what.(string)
			if !ok || text != always && text != greaterZID {
				return fmt.Errorf("%v: want %s or %s", what, always, greaterZID)
			}
			switch to {
			case "to_router":
				s.Router = text
			case "to_peer":
				s.Peer = text
			case "to_client":
				s.Client = text
			default:
				return fmt.Errorf("%q: want to_router, to_peer or to_client", to)
			}
		}
		*f(c) = s
		return nil
	}}
}

// peerSettings are those of who listens, and looks for others.
func peerSettings() []setting {
	const ms = time.Millisecond
	sc := func(f func(s *Scout) *bool) func(c *Config) *bool {
		return func(c *Config) *bool { return f(&c.Scout) }
	}
	return []setting{
		list("listen/endpoints", "where peers let others in; port 0: one that is free", func(c *Config) *[]string { return &c.Listen }),
		boolean("listen/exit_on_failure", "opening fails when an endpoint cannot be had", func(c *Config) *bool { return &c.ListenExitOnFailure }),
		boolean("open/return_conditions/connect_scouted", "opening a peer waits for who is found", sc(func(s *Scout) *bool { return &s.WaitScouted })),
		boolean("open/return_conditions/declares", "opening a peer waits for what others have", sc(func(s *Scout) *bool { return &s.WaitDeclares })),
		duration("scouting/timeout", "how long a client looks for a router, ms", ms, 1, func(c *Config) *time.Duration { return &c.Scout.Timeout }),
		duration("scouting/delay", "how long opening a peer waits for others, ms", ms, 0, func(c *Config) *time.Duration { return &c.Scout.Delay }),
		boolean("scouting/multicast/enabled", "look for others by multicast", sc(func(s *Scout) *bool { return &s.Multicast })),
		text("scouting/multicast/address", "group and port", func(c *Config) *string { return &c.Scout.Address }),
		text("scouting/multicast/interface", "names or addresses, with commas between; auto: all that can", func(c *Config) *string { return &c.Scout.Interface }),
		integer("scouting/multicast/ttl", "how many hops questions go", 1, 255, func(c *Config) *int { return &c.Scout.TTL }),
		boolean("scouting/multicast/listen", "peers answer who looks for them", sc(func(s *Scout) *bool { return &s.Listen })),
		roleSetting("scouting/multicast/autoconnect", "the roles to connect with that multicast finds", func(c *Config) *[]string { return &c.Scout.Autoconnect.Roles }, roleNames...),
		strategySetting("scouting/multicast/autoconnect_strategy", func(c *Config) *Strategy { return &c.Scout.Autoconnect.Strategy }),
		boolean("scouting/gossip/enabled", "peers tell each other of their neighbours", sc(func(s *Scout) *bool { return &s.Gossip.Enabled })),
		roleSetting("scouting/gossip/target", "the roles that are told", func(c *Config) *[]string { return &c.Scout.Gossip.Target }, "router", "peer"),
		roleSetting("scouting/gossip/autoconnect", "the roles to connect with that gossip tells of", func(c *Config) *[]string { return &c.Scout.Gossip.Autoconnect.Roles }, roleNames...),
		strategySetting("scouting/gossip/autoconnect_strategy", func(c *Config) *Strategy { return &c.Scout.Gossip.Autoconnect.Strategy }),
		duration("transport/unicast/accept_timeout", "for the handshake of who connects to us, ms", ms, 1, func(c *Config) *time.Duration { return &c.Transport.AcceptTimeout }),
		integer("transport/unicast/accept_pending", "handshakes at a time; who comes in addition is hung up on", 1, 1<<16, func(c *Config) *int { return &c.Transport.AcceptPending }),
		integer("transport/unicast/max_sessions", "nodes that may be connected; more are not let in", 1, 1<<20, func(c *Config) *int { return &c.Transport.MaxSessions }),
		text("transport/link/tls/listen_certificate", "file of the certificate for who connects to us", func(c *Config) *string { return &c.TLS.ListenCertificate }),
		text("transport/link/tls/listen_certificate_base64", "the same as text", func(c *Config) *string { return &c.TLS.ListenCertificate64 }),
		text("transport/link/tls/listen_private_key", "file of its key", func(c *Config) *string { return &c.TLS.ListenKey }),
		text("transport/link/tls/listen_private_key_base64", "the same as text", func(c *Config) *string { return &c.TLS.ListenKey64 }),
		text("transport/auth/usrpwd/dictionary_file", "who may connect to us: a file with user:password in each line; empty: anybody", func(c *Config) *string { return &c.UsersFile }),
	}
}

// maxUsers bounds the file of users, in bytes.
const maxUsers = 1 << 20

// Users reads who may connect to us; nil: anybody.
func (c *Config) Users() (map[string]string, error) {
	if c.UsersFile == "" {
		return nil, nil
	}
	text, err := link.ReadFile(c.UsersFile, maxUsers)
	if err != nil {
		return nil, fmt.Errorf("transport/auth/usrpwd/dictionary_file: %w", err)
	}
	users := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		user, password, ok := strings.Cut(line, ":")
		if !ok || user == "" {
			return nil, fmt.Errorf("transport/auth/usrpwd/dictionary_file: %s:%d: want user:password", c.UsersFile, n)
		}
		users[user] = password
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("transport/auth/usrpwd/dictionary_file: %w", err)
	}
	return users, nil
}
