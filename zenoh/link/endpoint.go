// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package link connects to Zenoh endpoints (tcp, tls, unixsock-stream) and
// writes to them: several byte slices in one system call, with a stop between
// two batches when something urgent waits. It knows nothing of messages.
package link

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

var (
	// ErrEndpoint reports an endpoint that cannot be understood.
	ErrEndpoint = errors.New("invalid endpoint")
	// ErrUnsupported reports an endpoint of a protocol that is not built in.
	ErrUnsupported = errors.New("unsupported protocol")
)

// Protocols are those that [Dial] knows.
var protocols = []string{"tcp", "tls", "unixsock-stream"}

// Protocols lists the protocols that [Dial] knows.
func Protocols() []string { return slices.Clone(protocols) }

// Endpoint is a locator with settings: proto/address?metadata#config.
type Endpoint struct {
	Proto    string
	Address  string // host:port, or a path
	Metadata map[string]string
	Config   map[string]string
}

// ParseEndpoint reads the text form. It fails with [ErrEndpoint] or
// [ErrUnsupported].
func ParseEndpoint(s string) (Endpoint, error) {
	var e Endpoint
	rest, config, _ := strings.Cut(s, "#")
	rest, meta, _ := strings.Cut(rest, "?")
	var ok bool
	e.Proto, e.Address, ok = strings.Cut(rest, "/")
	if !ok || e.Proto == "" || e.Address == "" {
		return e, fmt.Errorf("%w: %.200q: want PROTOCOL/ADDRESS, for example tcp/192.0.2.1:7447", ErrEndpoint, s)
	}
	var err error
	if e.Metadata, err = parsePairs(meta); err == nil {
		e.Config, err = parsePairs(config)
	}
	if err != nil {
		return e, fmt.Errorf("%w: %.200q: %w", ErrEndpoint, s, err)
	}
	if !slices.Contains(protocols, e.Proto) {
		return e, fmt.Errorf("%w: %.200q: built in are %s", ErrUnsupported, s, strings.Join(protocols, ", "))
	}
	if e.Proto == "tcp" || e.Proto == "tls" {
		_, port, err := net.SplitHostPort(e.Address)
		if err != nil || port == "" {
			return e, fmt.Errorf("%w: %.200q: want HOST:PORT after %q", ErrEndpoint, s, e.Proto+"/")
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil && strings.Trim(port, "+-0123456789") == "" {
			return e, fmt.Errorf("%w: %.200q: port %s, want one from 0 to 65535", ErrEndpoint, s, port)
		}
	}
	return e, nil
}

func parsePairs(s string) (map[string]string, error) {
	if s == "" {
		return nil, nil
	}
	m := map[string]string{}
	for pair := range strings.SplitSeq(s, ";") {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("want key=value;key=value instead of %.100q", s)
		}
		m[k] = v
	}
	return m, nil
}

// String is the locator, without settings.
func (e Endpoint) String() string { return e.Proto + "/" + e.Address }
