// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/zenoh/keyexpr"
)

// Overwrite changes how samples go out whose key its key expressions include,
// whatever the program says. The first that fits counts.
type Overwrite struct {
	KeyExprs []string   `json:"key_exprs"`
	Config   PublishQoS `json:"config"`
}

// PublishQoS is what an [Overwrite] sets; what is empty stays.
type PublishQoS struct {
	Congestion  string `json:"congestion_control,omitempty"`  // drop, block, block_first
	Priority    string `json:"priority,omitempty"`            // real_time to background
	Express     *bool  `json:"express,omitempty"`             //
	Reliability string `json:"reliability,omitempty"`         // reliable, best_effort
	Destination string `json:"allowed_destination,omitempty"` // any, remote, session_local
}

// Priorities are the names of a sample's priorities, from 1 on.
var Priorities = lanes[1:]

func setOverwrites(c *Config, v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%v is not a list", v)
	}
	var out []Overwrite
	for i, e := range list {
		o, err := overwriteOf(e)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		out = append(out, o)
	}
	c.Overwrites = out
	return nil
}

func overwriteOf(v any) (o Overwrite, err error) {
	text, err := json.Marshal(v) // JSON5's numbers beyond JSON fail here, as they should
	if err != nil {
		return o, err
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, err
	}
	if len(o.KeyExprs) == 0 {
		return o, fmt.Errorf("no key_exprs")
	}
	for _, k := range o.KeyExprs {
		if err := keyexpr.Validate(k); err != nil {
			return o, err
		}
	}
	for _, c := range []struct {
		key, value string
		may        []string
	}{
		{"congestion_control", o.Config.Congestion, []string{"drop", "block", "block_first"}},
		{"priority", o.Config.Priority, Priorities},
		{"reliability", o.Config.Reliability, []string{"reliable", "best_effort"}},
		{"allowed_destination", o.Config.Destination, []string{"any", "remote", "session_local"}},
	} {
		if c.value != "" && !slices.Contains(c.may, c.value) {
			return o, fmt.Errorf("%s %q: want one of %s", c.key, c.value, strings.Join(c.may, ", "))
		}
	}
	return o, nil
}
