// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	o := NewOptions(Spec{Kind: "x", Options: map[string]string{
		"s": "text", "b": "yes", "off": "0", "i": "-3", "f": "2.5", "p": "12.5%", "p2": "3", "d": "1m2s", "c": "red", "in.a": "1", "in.b": "2",
	}})
	in := o.Prefix("in.")
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"string", o.String("s", "d"), "text"},
		{"string by default", o.String("s2", "d"), "d"},
		{"bool", o.Bool("b", false), true},
		{"bool off", o.Bool("off", true), false},
		{"bool by default", o.Bool("b2", true), true},
		{"int", o.Int("i", 1, -5, 5), int64(-3)},
		{"int by default", o.Int("i2", 1, -5, 5), int64(1)},
		{"float", o.Float("f", 1, 0, 5), 2.5},
		{"percent", o.Percent("p", 0), 0.125},
		{"percent without sign", o.Percent("p2", 0), 0.03},
		{"duration", o.Duration("d", 0), 62 * time.Second},
		{"choice", o.Choice("c", "blue", "blue", "red"), "red"},
		{"choice by default", o.Choice("c2", "blue", "blue", "red"), "blue"},
		{"prefix", in["a"] + in["b"], "12"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if err := o.Err(); err != nil {
		t.Error(err)
	}
}

func TestOptionsRefuse(t *testing.T) {
	for _, c := range []struct{ name, key, value, says string }{
		{"bool", "b", "maybe", "option b=maybe: want true or false"},
		{"int", "i", "1.5", "a whole number from 0 to 9"},
		{"int range", "i", "10", "a whole number from 0 to 9"},
		{"float", "f", "NaN", "a number from 0 to 9"},
		{"percent", "p", "101%", "a percentage"},
		{"negative duration", "d", "-5s", "20ms"},
		{"choice", "c", "bleu", "did you mean blue?"},
		{"unknown, near", "seeed", "1", `kind x has no option "seeed"; did you mean seed?`},
		{"unknown, far", "zzzzzz", "1", "it has b, c, d, f, i, in.KEY, p, seed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := NewOptions(Spec{Kind: "x", Options: map[string]string{c.key: c.value}})
			o.Bool("b", false)
			o.Int("i", 0, 0, 9)
			o.Float("f", 0, 0, 9)
			o.Percent("p", 0)
			o.Duration("d", 0)
			o.Choice("c", "blue", "blue", "red")
			o.String("seed", "")
			o.Prefix("in.")
			if err := o.Err(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %q", err, c.says)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	known := []string{"pattern", "replay", "v4l2"}
	for _, c := range []struct{ in, want string }{
		{"patern", "pattern"}, {"relpay", "replay"}, {"v4l", "v4l2"}, {"pattern", "pattern"}, {"realsense", ""}, {"", ""}, {"xy", ""},
	} {
		if got := Nearest(c.in, known); got != c.want {
			t.Errorf("Nearest(%q) is %q, want %q", c.in, got, c.want)
		}
	}
}

func TestStateText(t *testing.T) {
	for s := StateStarting; s <= StateStopped; s++ {
		text, err := s.MarshalText()
		if err != nil || string(text) != s.String() {
			t.Fatalf("%v: %q, %v", s, text, err)
		}
		var again State
		if err := again.UnmarshalText(text); err != nil || again != s {
			t.Errorf("%v came back as %v, %v", s, again, err)
		}
	}
	var s State
	if err := s.UnmarshalText([]byte("dozing")); err == nil {
		t.Error("an unknown state was read")
	}
	if got := State(99).String(); got != "state 99" {
		t.Errorf("String is %q", got)
	}
}

func TestOptionsAccount(t *testing.T) {
	o := NewOptions(Spec{Kind: "x", Options: map[string]string{"bad": "1"}})
	o.Bool("b", true)
	o.Duration("d", 90*time.Second)
	o.Percent("p", 0.05)
	o.Prefix("in.")
	o.RefuseKey("size", "size is odd")
	var all *OptionsError
	if err := o.Err(); !errors.As(err, &all) || !errors.Is(err, ErrConfig) {
		t.Fatal(err)
	}
	want := []Option{
		{"b", "true", "true or false"},
		{"d", "1m30s", "a duration, for example 20ms, 2s, or 2 for seconds"},
		{"p", "5%", "a percentage from 0 to 100"},
		{Key: "in."},
	}
	if !slices.Equal(all.Known, want) || !slices.Equal(o.Known(), want) {
		t.Errorf("known %v, want %v", all.Known, want)
	}
	var keys []string
	for _, err := range all.Errs {
		var one *OptionError
		if !errors.As(err, &one) || one.Unknown != (one.Key == "bad") {
			t.Fatalf("%v", err)
		}
		keys = append(keys, one.Key)
	}
	if !slices.Equal(keys, []string{"size", "bad"}) {
		t.Errorf("refused keys %v", keys)
	}
}

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"20ms", 20 * time.Millisecond, true},
		{"2s", 2 * time.Second, true},
		{"2", 2 * time.Second, true},
		{"0.25", 250 * time.Millisecond, true},
		{"0", 0, true},
		{"1e9", 1e18, true},
		{"-1", 0, false},
		{"-1s", 0, false},
		{"1e10", 0, false},
		{"NaN", 0, false},
		{"inf", 0, false},
		{"", 0, false},
		{"5 parsecs", 0, false},
	} {
		if d, err := ParseDuration(c.text); d != c.want || (err == nil) != c.ok {
			t.Errorf("%q: %v, %v; want %v, %v", c.text, d, err, c.want, c.ok)
		}
	}
	o := NewOptions(Spec{Kind: "x", Options: map[string]string{"d": "2", "e": "0.5"}})
	if d, e := o.Duration("d", 0), o.Duration("e", 0); d != 2*time.Second || e != time.Second/2 || o.Err() != nil {
		t.Errorf("%v, %v, %v", d, e, o.Err())
	}
}

func TestParseSizeAndRate(t *testing.T) {
	for _, c := range []struct {
		text string
		w, h int
	}{
		{"1280x720", 1280, 720}, {"1x1", 1, 1}, {"", 0, 0}, {"1280", 0, 0}, {"0x5", 0, 0}, {"5x-1", 0, 0}, {"1280X720", 0, 0}, {"1280x720@30", 0, 0}, {"99999999x1", 0, 0},
	} {
		if w, h, err := ParseSize(c.text); w != c.w || h != c.h || (err == nil) != (c.w > 0) {
			t.Errorf("size %q: %d, %d, %v; want %d, %d", c.text, w, h, err, c.w, c.h)
		}
	}
	for _, c := range []struct {
		text string
		rate float64
		ok   bool
	}{
		{"30", 30, true}, {"29.97", 29.97, true}, {"0", 0, true}, {"-1", 0, false}, {"NaN", 0, false}, {"30fps", 0, false}, {"1e9", 0, false}, {"", 0, false},
	} {
		if r, err := ParseRate(c.text); r != c.rate || (err == nil) != c.ok {
			t.Errorf("rate %q: %v, %v; want %v, %v", c.text, r, err, c.rate, c.ok)
		}
	}
	var s Spec
	s.SetRate(0)
	if s.Options[rateKey] != "0" {
		t.Errorf("rate 0 is %+v", s)
	}
	if s.SetRate(5); s.Rate != 5 || len(s.Options) != 0 {
		t.Errorf("rate 5 after 0 is %+v", s)
	}
}
