// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package config holds the settings of a Zenoh session: their values, Zenoh's
// own JSON5 files and environment variables, and where each value came from.
package config

import (
	"fmt"
	"slices"
	"time"
)

// Config is the settings of a session. [New] fills in the built-in values;
// change fields, or use [Config.Set] and [Config.LoadFile] with Zenoh's keys.
type Config struct {
	Mode   string   // client, peer, auto
	ID     string   // hexadecimal; "": made at random
	Listen []string // where others may come in
	// ListenExitOnFailure: opening fails when it cannot listen.
	ListenExitOnFailure bool

	Connect Connect
	Scout   Scout

	Timestamping bool          // stamp samples that have no time
	QueryTimeout time.Duration // of queries that do not say
	Overwrites   []Overwrite   // of how samples go out, in order

	Transport Transport
	TLS       TLS
	User      string
	Password  string
	UsersFile string // who may connect to us; "": anybody

	sources map[string]string // by key
	modal   map[string]modal  // by key
	notes   []Note
	skipped []error
}

// Connect says whom to connect to and how long to try.
type Connect struct {
	Endpoints []string // tried in order, the first that answers is kept
	// Timeout bounds the first connection; 0: each endpoint is tried once,
	// below 0: without end.
	Timeout       time.Duration
	ExitOnFailure bool // Open fails when the first connection does
	RetryInit     time.Duration
	RetryMax      time.Duration
	RetryFactor   float64
}

// Transport is what keeps a connection.
type Transport struct {
	OpenTimeout time.Duration
	// AcceptTimeout bounds the handshake of who connects to us, AcceptPending
	// how many there are at a time, MaxSessions who may be connected.
	AcceptTimeout              time.Duration
	AcceptPending, MaxSessions int
	QoS                        bool
	Resolution                 string // 8bit, 16bit, 32bit, 64bit
	Lease                      time.Duration
	KeepAlive                  int
	BatchSize                  int
	Protocols                  []string // allowed; none: all
	// Queue is how many batches may wait in each priority, from control (0) to
	// background (7).
	Queue           [8]int
	QueueBytes      int
	WaitBeforeDrop  time.Duration
	WaitBeforeClose time.Duration
	Batching        bool
	FlushPeriod     time.Duration
	NotSentBytes    int
	ReadBytes       int
	MaxMessage      int
}

// TLS is certificates and keys: files, or their content in base64.
type TLS struct {
	RootCA, RootCABase64                     string
	ConnectCertificate, ConnectCertificate64 string
	ConnectKey, ConnectKey64                 string
	ListenCertificate, ListenCertificate64   string
	ListenKey, ListenKey64                   string
	MutualTLS                                bool
	VerifyName                               bool
}

// New returns the built-in settings: those of Zenoh for a client.
func New() *Config { return newClient() }

func newClient() *Config {
	c := &Config{
		Mode: "client",
		Connect: Connect{
			ExitOnFailure: true, RetryInit: time.Second, RetryMax: 4 * time.Second, RetryFactor: 2,
		},
		ListenExitOnFailure: true,
		Scout: Scout{
			Multicast: true, Address: "224.0.0.224:7446", Interface: "auto", TTL: 1, Listen: true,
			Timeout: 3 * time.Second, Delay: 500 * time.Millisecond, WaitScouted: true, WaitDeclares: true,
			Autoconnect: Autoconnect{Roles: []string{"router"}, Strategy: Strategy{always, always, always}},
			Gossip: Gossip{
				Enabled: true, Target: []string{"router", "peer"},
				Autoconnect: Autoconnect{Roles: []string{"router", "peer"}, Strategy: Strategy{always, always, always}},
			},
		},
		QueryTimeout: 10 * time.Second,
		Transport: Transport{
			OpenTimeout: 10 * time.Second, AcceptTimeout: 10 * time.Second, AcceptPending: 100, MaxSessions: 1000, QoS: true, Resolution: "32bit", Lease: 10 * time.Second, KeepAlive: 4, BatchSize: 65535,
			Queue: [8]int{2, 2, 2, 2, 2, 2, 2, 2}, QueueBytes: 256 << 20, WaitBeforeDrop: time.Millisecond, WaitBeforeClose: 5 * time.Second,
			Batching: true, NotSentBytes: 16 << 10, ReadBytes: 1 << 20, MaxMessage: 1 << 30,
		},
		TLS:     TLS{VerifyName: true},
		sources: map[string]string{}, modal: map[string]modal{},
	}
	return c
}

// Client returns the built-in settings with endpoints to connect to.
func Client(endpoints ...string) *Config {
	c := New()
	c.Connect.Endpoints = endpoints
	return c
}

// Note says something about a setting that its user should know, once.
type Note struct {
	Key    string
	Source string // file with line and column, variable, …
	Text   string
}

func (n Note) String() string {
	return fmt.Sprintf("%s: %s (%s)", n.Key, n.Text, n.Source)
}

// Notes lists settings that have no effect, or another one than written.
func (c *Config) Notes() []Note { return c.notes }

// Allows says whether endpoints of the protocol may be used.
func (c *Config) Allows(proto string) bool {
	return len(c.Transport.Protocols) == 0 || slices.Contains(c.Transport.Protocols, proto)
}

// ResolutionByte is the resolution of sequence numbers as INIT writes it.
func (c *Config) ResolutionByte() (byte, error) {
	i := slices.Index(resolutions, c.Transport.Resolution)
	if i < 0 {
		return 0, fmt.Errorf("sequence_number_resolution %q: want 8bit, 16bit, 32bit or 64bit", c.Transport.Resolution)
	}
	return byte(i) | 2<<2, nil
}
