// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/ros2/graph"
	session "github.com/seed-3c7e7623/camd/zenoh"
	zenoh "github.com/seed-3c7e7623/camd/zenoh/config"
	"github.com/seed-3c7e7623/camd/zenoh/link"
)

// DefaultRouter is the router that is looked for where nothing names another:
// that of ROS 2 on this host (rmw_zenohd).
const DefaultRouter = session.DefaultRouter

// Zenoh is how frames and the list of streams leave the host.
type Zenoh struct {
	Enabled  Enabled
	Mode     Mode      // "" = that of Config or Override, else auto
	Connect  Endpoints // "" = those of Config, else DefaultRouter
	Listen   Endpoints // "" = those of Config, else a free port of every address
	Config   Path      // of a file of Zenoh's own settings, JSON5
	Override Override
	Access   Access
}

func usualZenoh() Zenoh { return Zenoh{Enabled: EnabledAuto, Access: usualAccess()} }

// Session is the settings of the Zenoh session: Zenoh's own file, what Override
// changes, and Mode, Connect and Listen, the later ones winning. Who does not
// answer, and a port that cannot be had, end nothing unless the file says so. The
// error names the line and column of the file.
func (z Zenoh) Session() (*zenoh.Config, error) {
	c := zenoh.Auto()
	if z.Config != "" {
		if err := c.LoadFile(z.Config.name()); err != nil {
			return nil, err
		}
	}
	if err := z.Override.apply(c); err != nil {
		return nil, err
	}
	if z.Mode != "" {
		if err := set(c, "mode", z.Mode, keyZenohMode); err != nil {
			return nil, err
		}
	}
	endpoints := z.Connect
	if len(endpoints) == 0 && len(c.Connect.Endpoints) == 0 && c.Mode != string(ModePeer) {
		endpoints = Endpoints{DefaultRouter}
	}
	if len(endpoints) > 0 {
		if err := set(c, "connect/endpoints", endpoints, keyZenohConnect); err != nil {
			return nil, err
		}
	}
	if len(z.Listen) > 0 {
		if err := set(c, "listen/endpoints", z.Listen, keyZenohListen); err != nil {
			return nil, err
		}
	}
	for key, list := range map[string][]string{"connect/endpoints": c.Connect.Endpoints, "listen/endpoints": c.Listen} {
		for _, e := range list {
			if _, err := link.ParseEndpoint(e); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	for key, must := range map[string]*bool{
		"connect/exit_on_failure": &c.Connect.ExitOnFailure, "listen/exit_on_failure": &c.ListenExitOnFailure,
	} {
		if source(c, key) == builtIn {
			*must = false
		}
	}
	return c, nil
}

// usual is the value of a key that nothing sets, where it depends on others; ""
// = what it is by itself.
func (z Zenoh) usual(key string) string {
	if z.Config != "" || z.Override != "" {
		return "" // they may say something
	}
	switch {
	case key == keyZenohMode:
		return string(ModeAuto)
	case key == keyZenohConnect && z.Mode != ModePeer:
		return DefaultRouter
	case key == keyZenohListen && z.Mode != ModeClient:
		return strings.Join(zenoh.Auto().Listen, ",")
	}
	return ""
}

// set gives a key of Zenoh's a value.
func set(c *zenoh.Config, key string, value any, from string) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.Set(key, string(text), from)
}

// Session is that of Zenoh, read once: its file may be a pipe.
func (c *Config) Session() (*zenoh.Config, error) {
	if c.session == nil {
		s, err := c.Zenoh.Session()
		if err != nil {
			return nil, err
		}
		c.session = s
	}
	return c.session, nil
}

// Network is how streams are published over Zenoh; nil if they are not. It fails
// with the errors of Session.
func (c *Config) Network() (*daemon.Network, error) {
	if c.Zenoh.Enabled == EnabledNo || !c.ROS2.Enabled {
		return nil, nil
	}
	session, err := c.Session()
	if err != nil {
		return nil, err
	}
	return &daemon.Network{
		Zenoh: session, Expected: c.Zenoh.Enabled == EnabledYes,
		Domain: int(c.ROS2.Domain), Namespace: string(c.ROS2.Namespace), Enclave: string(c.ROS2.Enclave),
		Diagnostics: bool(c.ROS2.Diagnostics), AnyHash: bool(c.ROS2.AnyHash), Access: c.Zenoh.Access.Daemon(),
	}, nil
}

// ROS2 is how camd appears to ROS 2.
type ROS2 struct {
	Enabled     Bool
	Domain      Domain
	Namespace   Namespace // of the nodes, one a camera
	Diagnostics Bool      // publish /diagnostics
	AnyHash     Bool      // publish for subscribers with any hash of a type, or none as on Humble
	Enclave     Namespace // of security; / is none
}

func usualROS2() ROS2 {
	return ROS2{Enabled: true, Namespace: "/", Diagnostics: true, Enclave: "/"}
}

// Enabled is whether something is used: auto where it can be.
type Enabled string

// The values of [Enabled].
const (
	EnabledAuto Enabled = "auto" // without a word where it cannot be
	EnabledYes  Enabled = "true" // warn where it cannot be
	EnabledNo   Enabled = "false"
)

func (e *Enabled) String() string { return string(*e) }

// Set reads auto, true or false.
func (e *Enabled) Set(text string) error {
	var b Bool
	if b.Set(text) == nil {
		text = b.String()
	}
	return choose((*string)(e), text, []string{string(EnabledAuto), string(EnabledYes), string(EnabledNo)})
}

// Mode is what the Zenoh session is to others.
type Mode string

// The values of [Mode].
const (
	ModeAuto   Mode = "auto" // client of a router where one answers, else peer
	ModeClient Mode = "client"
	ModePeer   Mode = "peer"
)

func (m *Mode) String() string { return string(*m) }

// Set reads auto, client or peer.
func (m *Mode) Set(text string) error {
	return choose((*string)(m), text, []string{string(ModeAuto), string(ModeClient), string(ModePeer)})
}

// Bool is true or false.
type Bool bool

func (b *Bool) String() string { return strconv.FormatBool(bool(*b)) }

// Set reads true/false, yes/no, on/off, 1/0.
func (b *Bool) Set(text string) error {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		*b = true
	case "false", "no", "off", "0":
		*b = false
	default:
		return fmt.Errorf("%q: want true or false", text)
	}
	return nil
}

// Path is that of a file; "" is none.
type Path string

func (p *Path) String() string { return string(*p) }

// Set takes any path, also as file://.
func (p *Path) Set(text string) error {
	*p = Path(text)
	return nil
}

// name is the path as the file system takes it.
func (p Path) name() string { return strings.TrimPrefix(string(p), "file://") }

// Endpoints are addresses to connect to, tried in order, or to listen at.
type Endpoints []string

// String joins them with commas.
func (e *Endpoints) String() string { return strings.Join(*e, ",") }

// Set reads PROTOCOL/ADDRESS with commas between them; "" is none.
func (e *Endpoints) Set(text string) error {
	var out Endpoints
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		if _, err := link.ParseEndpoint(word); err != nil {
			return err
		}
		out = append(out, word)
	}
	*e = out
	return nil
}

// Override is settings of Zenoh: key=value;key=value, values in JSON5, as
// ZENOH_CONFIG_OVERRIDE has them.
type Override string

func (o *Override) String() string { return string(*o) }

// Set reads pairs whose keys and values Zenoh knows.
func (o *Override) Set(text string) error {
	if err := Override(text).apply(zenoh.New()); err != nil {
		return err
	}
	*o = Override(text)
	return nil
}

func (o Override) apply(c *zenoh.Config) error {
	for pair := range strings.SplitSeq(string(o), ";") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%q: want key=value with ; between them, for example transport/link/tx/lease=5000", pair)
		}
		if err := c.Set(strings.TrimSpace(key), value, keyZenohOverride); err != nil {
			return err
		}
	}
	return nil
}

// Domain separates the nodes of ROS 2 on one network from each other.
type Domain int

// maxDomain is what every tool can read; Zenoh has no bound of its own.
const maxDomain = 1<<31 - 1

func (d *Domain) String() string { return strconv.Itoa(int(*d)) }

// Set reads a whole number.
func (d *Domain) Set(text string) error {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 || n > maxDomain {
		return fmt.Errorf("%q: want a whole number from 0 to %d, as ROS_DOMAIN_ID has it", text, maxDomain)
	}
	*d = Domain(n)
	return nil
}

// Namespace is / or /a/b.
type Namespace string

func (n *Namespace) String() string { return string(*n) }

// Set reads a namespace with or without / in front.
func (n *Namespace) Set(text string) error {
	if strings.Contains(text, "//") || len(text) > 1 && strings.HasSuffix(text, "/") {
		return fmt.Errorf("%q: a / too many, want for example /robot1", text)
	}
	s, err := graph.Namespace(text)
	if errors.Is(err, graph.ErrName) {
		err = fmt.Errorf("%w, for example /robot1", err)
	}
	if err == nil {
		*n = Namespace(s)
	}
	return err
}
