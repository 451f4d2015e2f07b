// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import "testing"

func TestValuesBothWays(t *testing.T) {
	for _, c := range []struct {
		name string
		v    value
		in   string
		out  string // "" = refused, and the value stays as it is
	}{
		{"level", new(LogLevel), "warn", "warn"},
		{"level in capitals", new(LogLevel), "WARN", ""},
		{"format", new(LogFormat), "json", "json"},
		{"no format", new(LogFormat), "xml", ""},
		{"users", new(UIDs), "1000, 0 ,7", "1000,0,7"},
		{"negative user", new(UIDs), "-1", ""},
		{"no user", new(UIDs), "4294967295", ""},
		{"empty user", new(UIDs), "1,,2", ""},
		{"directory", new(Directory), "/run/camd", "/run/camd"},
		{"size", new(Size), "1280x720", "1280x720"},
		{"size of one side", new(Size), "1280", ""},
		{"size and rate", new(Size), "1280x720@30", ""},
		{"rate", new(Rate), "29.97", "29.97"},
		{"rate in full", new(Rate), "30.0", "30"},
		{"rate 0", new(Rate), "0", "0"},
		{"rate with unit", new(Rate), "30 Hz", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.v.String()
			err := c.v.Set(c.in)
			if c.out == "" {
				if err == nil || c.v.String() != before {
					t.Fatalf("%q became %q, %v", c.in, c.v, err)
				}
				return
			}
			if err != nil || c.v.String() != c.out {
				t.Fatalf("%q became %q, %v; want %q", c.in, c.v, err, c.out)
			}
			if err := c.v.Set(c.v.String()); err != nil || c.v.String() != c.out {
				t.Errorf("%q came back as %q, %v", c.out, c.v, err)
			}
		})
	}
	var none UIDs
	if err := none.Set(" "); err != nil || none == nil || len(none) != 0 {
		t.Errorf("no users: %v, %v", none, err)
	}
}

func TestLevels(t *testing.T) {
	last := LogLevel("debug").Level()
	for _, name := range logLevels[1:] {
		if l := LogLevel(name).Level(); l <= last {
			t.Errorf("%s is not above %v", name, last)
		} else {
			last = l
		}
	}
}

func TestLayerText(t *testing.T) {
	for l := BuiltIn; l <= Flag; l++ {
		text, err := l.MarshalText()
		var again Layer
		if err != nil || again.UnmarshalText(text) != nil || again != l {
			t.Errorf("%v: %q, %v, %v", int(l), text, err, again)
		}
	}
	var l Layer
	if l.UnmarshalText([]byte("x")) == nil || Layer(9).String() != "layer 9" {
		t.Error("an unknown layer was taken")
	}
}
