// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"slices"
	"testing"

	"github.com/seed-3c7e7623/camd/capture"
)

func TestCheckCamera(t *testing.T) {
	for _, c := range []struct {
		name  string
		spec  capture.Spec
		keys  []string // that must be known
		wrong []string // keys that are refused
	}{
		{"pattern", capture.Spec{Kind: "pattern"}, []string{"max_subscribers", "required", "encoding", "fault.drop"}, nil},
		{"replay", capture.Spec{Kind: "replay", Target: "x"}, []string{"credit", "loop", "input."}, nil},
		{"bad value of the daemon", capture.Spec{Kind: "pattern", Options: map[string]string{"slots": "many"}}, []string{"seed"}, []string{"slots"}},
		{"bad values of both", capture.Spec{Kind: "pattern", Options: map[string]string{"credit": "x", "seed": "y"}}, []string{"seed"}, []string{"credit", "seed"}},
		{"unknown key", capture.Spec{Kind: "pattern", Options: map[string]string{"sed": "1"}}, []string{"seed"}, []string{"sed"}},
		{"target refused", capture.Spec{Kind: "pattern", Target: "x"}, []string{"seed"}, []string{"target"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Name = "a"
			known, err := CheckCamera(c.spec)
			for _, k := range c.keys {
				if !slices.ContainsFunc(known, func(o capture.Option) bool { return o.Key == k }) {
					t.Errorf("%s is not among %v", k, known)
				}
			}
			if wrong := wrongKeys(err); !slices.Equal(wrong, c.wrong) || errors.Is(err, capture.ErrConfig) != (c.wrong != nil) {
				t.Errorf("refused %v, want %v: %v", wrong, c.wrong, err)
			}
		})
	}
	if known, err := CheckCamera(capture.Spec{Name: "a", Kind: "zebra"}); !errors.Is(err, capture.ErrConfig) || !slices.Equal(known, daemonOptions()) {
		t.Errorf("unknown kind: %v, %v", known, err)
	}
}

// daemonOptions are those of every camera.
func daemonOptions() []capture.Option {
	o := capture.NewOptions(capture.Spec{})
	readLimits(o)
	readOutputs(o, capture.Spec{Name: "a"})
	return o.Known()
}

// wrongKeys walks the whole tree of errors.
func wrongKeys(err error) []string {
	var keys []string
	var walk func(error)
	walk = func(err error) {
		if o, ok := err.(*capture.OptionError); ok {
			keys = append(keys, o.Key)
			return
		}
		switch e := err.(type) {
		case interface{ Unwrap() []error }:
			for _, sub := range e.Unwrap() {
				walk(sub)
			}
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		}
	}
	walk(err)
	return keys
}
