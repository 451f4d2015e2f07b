// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// setting is one key: how to read and write its field.
type setting struct {
	key  string
	kind string
	doc  string
	get  func(c *Config) any
	set  func(c *Config, v any) error
}

func text(key, doc string, f func(c *Config) *string, may ...string) setting {
	return setting{key, "string", doc, func(c *Config) any { return *f(c) }, func(c *Config, v any) error {
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is not a string", v)
		}
		if len(may) > 0 && !slices.Contains(may, s) {
			return fmt.Errorf("%q: want one of %s", s, strings.Join(may, ", "))
		}
		*f(c) = s
		return nil
	}}
}

func boolean(key, doc string, f func(c *Config) *bool) setting {
	return setting{key, "bool", doc, func(c *Config) any { return *f(c) }, func(c *Config, v any) error {
		switch v {
		case true, "true":
			*f(c) = true
		case false, "false":
			*f(c) = false
		default:
			return fmt.Errorf("%v is neither true nor false", v)
		}
		return nil
	}}
}

func number(v any, low, high float64) (float64, error) {
	n, ok := v.(float64)
	if !ok || math.IsNaN(n) {
		return 0, fmt.Errorf("%v is not a number", v)
	}
	if n < low || n > high {
		return 0, fmt.Errorf("%v is not in %v to %v", v, low, high)
	}
	return n, nil
}

func integer(key, doc string, low, high int, f func(c *Config) *int) setting {
	return setting{key, "int", doc, func(c *Config) any { return *f(c) }, func(c *Config, v any) error {
		n, err := number(v, float64(low), float64(high))
		if err != nil {
			return err
		}
		*f(c) = int(n)
		return nil
	}}
}

// duration is a number of units; -1 stands for without end where low allows.
func duration(key, doc string, unit time.Duration, low float64, f func(c *Config) *time.Duration) setting {
	return setting{key, "int", doc, func(c *Config) any { return float64(*f(c)) / float64(unit) }, func(c *Config, v any) error {
		n, err := number(v, low, float64(math.MaxInt64/unit/2))
		if err != nil {
			return err
		}
		*f(c) = time.Duration(n * float64(unit))
		return nil
	}}
}

func list(key, doc string, f func(c *Config) *[]string) setting {
	return setting{key, "list", doc, func(c *Config) any { return append([]string{}, *f(c)...) }, func(c *Config, v any) error {
		var out []string
		if err := flatten(v, &out); err != nil {
			return err
		}
		*f(c) = out
		return nil
	}}
}

// flatten also takes Zenoh 1.10's groups of endpoints.
func flatten(v any, out *[]string) error {
	switch v := v.(type) {
	case nil:
	case string:
		*out = append(*out, v)
	case []any:
		for _, e := range v {
			if err := flatten(e, out); err != nil {
				return err
			}
		}
	case map[string]any:
		return flatten(v["locators"], out)
	default:
		return fmt.Errorf("%v is not a list of strings", v)
	}
	return nil
}

var lanes = []string{"control", "real_time", "interactive_high", "interactive_low", "data_high", "data", "data_low", "background"}

// settings lists the keys that have an effect.
func settings() []setting {
	const ms, µs = time.Millisecond, time.Microsecond
	all := []setting{
		{"mode", "string", "client, peer, or auto: client of a router that answers at connect/endpoints (tcp/localhost:7447), else peer; auto is not a mode of Zenoh's", func(c *Config) any { return c.Mode }, setMode},
		text("id", "hexadecimal id of the session; empty: made at random", func(c *Config) *string { return &c.ID }),
		list("connect/endpoints", "clients keep the first that answers, peers connect to all", func(c *Config) *[]string { return &c.Connect.Endpoints }),
		duration("connect/timeout_ms", "how long opening tries; 0: each endpoint once, -1: without end", ms, -1, func(c *Config) *time.Duration { return &c.Connect.Timeout }),
		boolean("connect/exit_on_failure", "opening fails when no endpoint answers", func(c *Config) *bool { return &c.Connect.ExitOnFailure }),
		duration("connect/retry/period_init_ms", "first pause before connecting again", ms, 1, func(c *Config) *time.Duration { return &c.Connect.RetryInit }),
		duration("connect/retry/period_max_ms", "longest pause", ms, 1, func(c *Config) *time.Duration { return &c.Connect.RetryMax }),
		{"connect/retry/period_increase_factor", "float", "growth of the pause", func(c *Config) any { return c.Connect.RetryFactor }, func(c *Config, v any) (err error) {
			c.Connect.RetryFactor, err = number(v, 1, 100)
			return err
		}},
		boolean("timestamping/enabled", "stamp samples that have no time", func(c *Config) *bool { return &c.Timestamping }),
		duration("queries_default_timeout", "of queries that do not say, ms", ms, 1, func(c *Config) *time.Duration { return &c.QueryTimeout }),
		{"qos/publication", "list", "how samples go out whose key the key expressions include: congestion_control, priority, express, reliability, allowed_destination", func(c *Config) any { return append([]Overwrite{}, c.Overwrites...) }, setOverwrites},
		duration("transport/unicast/open_timeout", "for connecting to one endpoint, ms", ms, 1, func(c *Config) *time.Duration { return &c.Transport.OpenTimeout }),
		boolean("transport/unicast/qos/enabled", "priorities of their own", func(c *Config) *bool { return &c.Transport.QoS }),
		list("transport/link/protocols", "allowed; empty: all", func(c *Config) *[]string { return &c.Transport.Protocols }),
		{"transport/link/tx/sequence_number_resolution", "string", "8bit, 16bit, 32bit or 64bit", func(c *Config) any { return c.Transport.Resolution }, setResolution},
		duration("transport/link/tx/lease", "we promise to send that often, ms", ms, 100, func(c *Config) *time.Duration { return &c.Transport.Lease }),
		integer("transport/link/tx/keep_alive", "messages in a lease when idle", 1, 1000, func(c *Config) *int { return &c.Transport.KeepAlive }),
		integer("transport/link/tx/batch_size", "most bytes of a batch, and so of a fragment", 64, 65535, func(c *Config) *int { return &c.Transport.BatchSize }),
		duration("transport/link/tx/queue/congestion_control/drop/wait_before_drop", "how long the kernel may refuse bytes before only the newest sample of each key waits, µs", µs, 0, func(c *Config) *time.Duration { return &c.Transport.WaitBeforeDrop }),
		duration("transport/link/tx/queue/congestion_control/block/wait_before_close", "longest wait for room, µs", µs, 1, func(c *Config) *time.Duration { return &c.Transport.WaitBeforeClose }),
		boolean("transport/link/tx/queue/batching/enabled", "several messages in a batch", func(c *Config) *bool { return &c.Transport.Batching }),
		duration("transport/link/tx/queue/batching/flush_period", "hold a batch that is not full for so long, but for express messages, ms; not a key of Zenoh's", ms, 0, func(c *Config) *time.Duration { return &c.Transport.FlushPeriod }),
		integer("transport/link/tx/queue/bytes", "most bytes waiting in all priorities; not a key of Zenoh's", 1<<16, math.MaxInt, func(c *Config) *int { return &c.Transport.QueueBytes }),
		integer("transport/link/tx/not_sent_bytes", "most bytes waiting unsent in the kernel (TCP_NOTSENT_LOWAT), 0: no bound; not a key of Zenoh's", 0, math.MaxInt32, func(c *Config) *int { return &c.Transport.NotSentBytes }),
		integer("transport/link/rx/buffer_size", "most bytes read ahead", 1, 1<<30, func(c *Config) *int { return &c.Transport.ReadBytes }),
		integer("transport/link/rx/max_message_size", "most bytes of a message in fragments", 1, math.MaxInt, func(c *Config) *int { return &c.Transport.MaxMessage }),
		text("transport/link/tls/root_ca_certificate", "file of those who may sign the other side", func(c *Config) *string { return &c.TLS.RootCA }),
		text("transport/link/tls/root_ca_certificate_base64", "the same as text", func(c *Config) *string { return &c.TLS.RootCABase64 }),
		text("transport/link/tls/connect_certificate", "file of our certificate", func(c *Config) *string { return &c.TLS.ConnectCertificate }),
		text("transport/link/tls/connect_certificate_base64", "the same as text", func(c *Config) *string { return &c.TLS.ConnectCertificate64 }),
		text("transport/link/tls/connect_private_key", "file of our key", func(c *Config) *string { return &c.TLS.ConnectKey }),
		text("transport/link/tls/connect_private_key_base64", "the same as text", func(c *Config) *string { return &c.TLS.ConnectKey64 }),
		boolean("transport/link/tls/enable_mtls", "show a certificate of our own, and let only those in whose root_ca_certificate signed", func(c *Config) *bool { return &c.TLS.MutualTLS }),
		boolean("transport/link/tls/verify_name_on_connect", "the certificate must have the host's name", func(c *Config) *bool { return &c.TLS.VerifyName }),
		text("transport/auth/usrpwd/user", "name for authentication; empty: none", func(c *Config) *string { return &c.User }),
		text("transport/auth/usrpwd/password", "password", func(c *Config) *string { return &c.Password }),
	}
	all = append(all, peerSettings()...)
	for i, lane := range lanes {
		all = append(all, integer("transport/link/tx/queue/size/"+lane, "batches that may wait in this priority", 1, 1<<16, func(c *Config) *int { return &c.Transport.Queue[i] }))
	}
	return all
}

var resolutions = []string{"8bit", "16bit", "32bit", "64bit"}

// setResolution also takes the largest number in place of a name, as before 1.0.
func setResolution(c *Config, v any) error {
	switch v := v.(type) {
	case string:
		if slices.Contains(resolutions, v) {
			c.Transport.Resolution = v
			return nil
		}
	case float64:
		for i, most := range []float64{1 << 7, 1 << 14, 1 << 28, math.Inf(1)} {
			if v >= 1 && v <= most {
				c.Transport.Resolution = resolutions[i]
				return nil
			}
		}
	}
	return fmt.Errorf("%v: want one of %s", v, strings.Join(resolutions, ", "))
}

func find(key string) *setting {
	for _, s := range settings() {
		if s.key == key {
			return &s
		}
	}
	return nil
}

// isGroup says whether keys are known below key.
func isGroup(key string) bool {
	for _, s := range settings() {
		if strings.HasPrefix(s.key, key+"/") {
			return true
		}
	}
	for k := range unsupported {
		if strings.HasPrefix(k, key+"/") {
			return true
		}
	}
	for k := range older {
		if strings.HasPrefix(k, key+"/") {
			return true
		}
	}
	return false
}

// Setting is a key with its value and what set it.
type Setting struct {
	Key    string
	Value  string // JSON; secrets are hidden
	Source string // "built-in", a file with line and column, a variable, …
	Doc    string
}

// secrets are not shown.
var secrets = []string{"transport/auth/usrpwd/password", "transport/link/tls/connect_private_key_base64"}

// Explain lists every key that has an effect, in order.
func (c *Config) Explain() []Setting {
	var out []Setting
	for _, s := range settings() {
		v, err := json.Marshal(s.get(c))
		if err != nil {
			v = []byte("?")
		}
		if slices.Contains(secrets, s.key) && string(v) != `""` {
			v = []byte(`"(hidden)"`)
		}
		source := c.sources[s.key]
		if source == "" {
			source = "built-in"
		}
		out = append(out, Setting{s.key, string(v), source, s.doc})
	}
	slices.SortFunc(out, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return out
}
