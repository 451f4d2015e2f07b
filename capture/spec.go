// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/frame"
)

// Spec is a camera as the user asked for it, from the command line or a file:
//
//	NAME=KIND[:TARGET][,WxH@R][,key=value...]
//
// WxH and @R may stand alone. In TARGET and in values a comma or a backslash is
// written with a backslash before it.
type Spec struct {
	Name    string            // [a-z0-9_-]+, also the first part of stream names
	Kind    string            // "pattern", "replay", "v4l2" ...
	Target  string            // device, file or URL; may be empty
	Width   int               // pixels; 0 = the source's choice
	Height  int               // pixels; 0 = the source's choice
	Rate    float64           // frames per second; 0 = the source's choice
	Options map[string]string // the rest, by key; "rate" = "0" asks for as fast as possible
}

// Bounds of what a Spec may say.
const (
	maxSpecBytes = 8 << 10
	maxNameBytes = 64
	minRate      = 0.001
	maxRate      = 1e6
)

// rateKey is the option that sets the rate; its value 0 has no place in
// Spec.Rate, where 0 leaves the choice to the source.
const rateKey = "rate"

// ParseSpec reads the form described at [Spec]. The rate may be given as @R or
// as rate=R; 0 asks for as fast as possible and is kept as the option
// "rate" = "0". What cannot be understood is [ErrConfig].
func ParseSpec(text string) (Spec, error) {
	s, err := parseSpec(text)
	if err != nil {
		return Spec{}, fmt.Errorf("%w: camera %q: %w", ErrConfig, shorten(text), err)
	}
	return s, nil
}

func parseSpec(text string) (Spec, error) {
	if len(text) > maxSpecBytes {
		return Spec{}, fmt.Errorf("%d bytes long, at most %d are read", len(text), maxSpecBytes)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }); i >= 0 {
		return Spec{}, fmt.Errorf("control character or broken UTF-8 at byte %d", i)
	}
	parts := splitParts(text)
	name, rest, ok := strings.Cut(parts[0], "=")
	if !ok {
		return Spec{}, fmt.Errorf("there is no = in %q, want NAME=KIND[:TARGET][,WxH@R][,key=value...] instead", parts[0])
	}
	s := Spec{Name: name}
	if err := CheckName(name); err != nil {
		return Spec{}, err
	}
	kind, target, _ := strings.Cut(rest, ":")
	if !isWord(kind, kindChars) {
		return Spec{}, fmt.Errorf("kind %q: want letters a-z, digits and _", kind)
	}
	s.Kind = kind
	var err error
	if s.Target, err = unescape(target); err != nil {
		return Spec{}, fmt.Errorf("target %w", err)
	}
	sized := false
	for _, part := range parts[1:] {
		key, value, isOption := strings.Cut(part, "=")
		if !isOption {
			if sized {
				return Spec{}, fmt.Errorf("size given twice, the second time as %q", part)
			}
			sized = true
			if err := s.parseSize(part); err != nil {
				return Spec{}, err
			}
			continue
		}
		if err := s.parseOption(key, value); err != nil {
			return Spec{}, err
		}
	}
	return s, nil
}

func (s *Spec) parseOption(key, value string) error {
	if !isWord(key, keyChars) {
		return fmt.Errorf("option %q: want letters, digits and _ . - : / alone", key)
	}
	value, err := unescape(value)
	if err != nil {
		return fmt.Errorf("option %s: value %w", key, err)
	}
	if key == rateKey {
		return s.setRate(value)
	}
	if _, dup := s.Options[key]; dup {
		return fmt.Errorf("option %s given twice", key)
	}
	s.set(key, value)
	return nil
}

func (s *Spec) set(key, value string) {
	if s.Options == nil {
		s.Options = make(map[string]string)
	}
	s.Options[key] = value
}

// parseSize reads WxH@R, WxH or @R.
func (s *Spec) parseSize(text string) error {
	size, rate, hasRate := strings.Cut(text, "@")
	if size != "" || !hasRate {
		var err error
		if s.Width, s.Height, err = ParseSize(size); err != nil {
			hint := ""
			if s.Target != "" {
				hint = `; a comma in a target is written \,`
			}
			return fmt.Errorf("%q is neither a size WxH@R (sides 1 to %d pixels) nor key=value%s", text, frame.MaxSide, hint)
		}
	}
	if hasRate {
		return s.setRate(rate)
	}
	return nil
}

// ParseSize reads WxH, in pixels, each side 1 to [frame.MaxSide].
func ParseSize(text string) (width, height int, err error) {
	w, h, ok := strings.Cut(text, "x")
	if ok {
		if width, err = parseSide(w); err == nil {
			height, err = parseSide(h)
		}
	}
	if !ok || err != nil {
		return 0, 0, fmt.Errorf("size %q: want WxH in pixels, for example 1280x720, sides 1 to %d", shorten(text), frame.MaxSide)
	}
	return width, height, nil
}

func parseSide(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n < 1 || n > frame.MaxSide {
		return 0, fmt.Errorf("side %q", s)
	}
	return int(n), nil
}

func (s *Spec) setRate(text string) error {
	if _, dup := s.Options[rateKey]; dup || s.Rate != 0 {
		return fmt.Errorf("rate given twice, the second time as %q", text)
	}
	r, err := ParseRate(text)
	if err != nil {
		return err
	}
	s.SetRate(r)
	return nil
}

// SetRate sets the rate in frames per second; 0 asks for as fast as possible.
func (s *Spec) SetRate(perSecond float64) {
	delete(s.Options, rateKey)
	if s.Rate = perSecond; perSecond == 0 {
		s.set(rateKey, "0")
	}
}

// ParseRate reads frames per second; 0 stands for as fast as possible.
func ParseRate(text string) (float64, error) {
	r, err := strconv.ParseFloat(text, 64)
	if err == nil && r == 0 {
		return 0, nil
	}
	if err != nil || math.IsNaN(r) || r < minRate || r > maxRate {
		return 0, fmt.Errorf("rate %q: want frames per second from %g to %.0f, or 0 for as fast as possible", shorten(text), minRate, maxRate)
	}
	return r, nil
}

// String is the form that [ParseSpec] reads: size after the target, options by
// name.
func (s Spec) String() string {
	var b strings.Builder
	b.WriteString(s.Name + "=" + s.Kind)
	if s.Target != "" {
		b.WriteString(":" + escape(s.Target))
	}
	if s.Width != 0 || s.Height != 0 || s.Rate != 0 {
		b.WriteByte(',')
		if s.Width != 0 || s.Height != 0 {
			fmt.Fprintf(&b, "%dx%d", s.Width, s.Height)
		}
		if s.Rate != 0 {
			b.WriteString("@" + strconv.FormatFloat(s.Rate, 'g', -1, 64))
		}
	}
	keys := make([]string, 0, len(s.Options))
	for k := range s.Options {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		b.WriteString("," + k + "=" + escape(s.Options[k]))
	}
	return b.String()
}

// CheckName reports what is wrong with the name of a camera, if anything.
func CheckName(name string) error {
	if !isWord(name, nameChars) || len(name) > maxNameBytes {
		return fmt.Errorf("name %q: want 1 to %d of the letters a-z, digits, _ and -", shorten(name), maxNameBytes)
	}
	return nil
}

// CheckStream reports what is wrong with the name of a stream within its camera,
// if anything: words like names of cameras, with a / between.
func CheckStream(name string) error {
	for word := range strings.SplitSeq(name, "/") {
		if CheckName(word) != nil {
			return fmt.Errorf("stream name %q: want words with / between, each 1 to %d of the letters a-z, digits, _ and -", shorten(name), maxNameBytes)
		}
	}
	return nil
}

const (
	nameChars = "abcdefghijklmnopqrstuvwxyz0123456789_-"
	kindChars = "abcdefghijklmnopqrstuvwxyz0123456789_"
	keyChars  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:/"
)

func isWord(s, chars string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune(chars, r) }) < 0
}

// splitParts cuts at every comma that has no backslash before it.
func splitParts(s string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ',':
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

var escaper = strings.NewReplacer(`\`, `\\`, ",", `\,`)

func escape(s string) string { return escaper.Replace(s) }

func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) || (s[i] != ',' && s[i] != '\\') {
			return "", fmt.Errorf("%q: a backslash is for a comma or a backslash after it", s)
		}
		b.WriteByte(s[i])
	}
	return b.String(), nil
}

// shorten keeps what goes into an error at a readable length.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
