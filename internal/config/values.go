// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"log/slog"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
)

// value is a concept that has a text form.
type value interface {
	String() string
	// Set reads the form that String gives, and others that mean the same.
	Set(text string) error
}

// LogLevel is how important a line must be to be logged.
type LogLevel string

// logLevels, the most talkative first.
var logLevels = []string{"debug", "info", "warn", "error"}

func (l *LogLevel) String() string { return string(*l) }

// Set reads debug, info, warn or error.
func (l *LogLevel) Set(text string) error { return choose((*string)(l), text, logLevels) }

// Level is the level of [log/slog].
func (l LogLevel) Level() slog.Level {
	switch l {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}

// LogFormat is the form of log lines: text or json.
type LogFormat string

var logFormats = []string{"text", "json"}

func (f *LogFormat) String() string { return string(*f) }

// Set reads text or json.
func (f *LogFormat) Set(text string) error { return choose((*string)(f), text, logFormats) }

func choose(to *string, text string, words []string) error {
	if !slices.Contains(words, text) {
		return fmt.Errorf("%q: want one of %s%s", text, strings.Join(words, ", "), didYouMean(text, words))
	}
	*to = text
	return nil
}

// UIDs are ids of users. Names are looked up when they are set.
type UIDs []int

// String joins them with commas.
func (u *UIDs) String() string {
	texts := make([]string, 0, len(*u))
	for _, id := range *u {
		texts = append(texts, strconv.Itoa(id))
	}
	return strings.Join(texts, ",")
}

// Set reads ids and names with commas between them; spaces do not matter. "" is
// none.
func (u *UIDs) Set(text string) error {
	out := UIDs{}
	if strings.TrimSpace(text) == "" {
		*u = out
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		id, err := userID(word)
		if err != nil {
			return err
		}
		out = append(out, id)
	}
	*u = out
	return nil
}

// userID reads a number, or else looks up the name.
func userID(word string) (int, error) {
	text := word
	if u, err := user.Lookup(word); err == nil {
		text = u.Uid
	}
	// The largest number is "no user" to the kernel (chown(2)).
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id == 1<<32-1 {
		return 0, fmt.Errorf("%q: no user has this name; want a name or a number, for example 1000", word)
	}
	return int(id), nil
}

// Directory is a path; "" leaves the choice to the program.
type Directory string

func (d *Directory) String() string { return string(*d) }

// Set takes any path.
func (d *Directory) Set(text string) error {
	*d = Directory(text)
	return nil
}

// Size is that of a picture in pixels.
type Size struct{ Width, Height int }

func (s *Size) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }

// Set reads WxH.
func (s *Size) Set(text string) error {
	if _, _, ok := strings.Cut(text, "@"); ok {
		return fmt.Errorf("size %q: want WxH alone, the rate has its own key, rate", text)
	}
	w, h, err := capture.ParseSize(text)
	if err == nil {
		*s = Size{w, h}
	}
	return err
}

// Rate is in frames per second; 0 is as fast as possible.
type Rate float64

func (r *Rate) String() string { return strconv.FormatFloat(float64(*r), 'g', -1, 64) }

// Set reads a number without unit.
func (r *Rate) Set(text string) error {
	f, err := capture.ParseRate(text)
	if err == nil {
		*r = Rate(f)
	}
	return err
}
