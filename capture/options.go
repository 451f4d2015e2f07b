// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options hands the options of a [Spec] to a source, typed, and keeps account:
// each key that a source asks for is a known one, and [Options.Err] reports the
// values that made no sense and the keys that nobody asked for. Numbers come
// back as the default when the value is refused.
type Options struct {
	kind   string
	values map[string]string
	known  []Option
	taken  map[string]bool
	errs   []error
}

// Option is one key that a camera knows.
type Option struct {
	Key     string // ends in a dot where any key may follow: "input."
	Default string // as text; "" = none, or the source's choice
	Want    string // which values make sense, in words; "" = any text
}

// NewOptions begins the account for s.
func NewOptions(s Spec) *Options {
	return &Options{kind: s.Kind, values: s.Options, taken: make(map[string]bool)}
}

func (o *Options) take(key, def, want string) (string, bool) {
	o.known = append(o.known, Option{Key: key, Default: def, Want: want})
	v, ok := o.values[key]
	if ok {
		o.taken[key] = true
	}
	return v, ok
}

func (o *Options) refuse(key, value, want string) {
	o.RefuseKey(key, "option %s=%s: want %s", key, shorten(value), want)
}

// String returns the value of key, or def where it is not given.
func (o *Options) String(key, def string) string {
	if v, ok := o.take(key, def, ""); ok {
		return v
	}
	return def
}

// Choice returns the value of key, which must be one of choices.
func (o *Options) Choice(key, def string, choices ...string) string {
	want := "one of " + strings.Join(choices, ", ")
	v, ok := o.take(key, def, want)
	if !ok || slices.Contains(choices, v) {
		if ok {
			return v
		}
		return def
	}
	if n := Nearest(v, choices); n != "" {
		want += "; did you mean " + n + "?"
	}
	o.refuse(key, v, want)
	return def
}

// Bool reads true/false, yes/no, on/off, 1/0.
func (o *Options) Bool(key string, def bool) bool {
	const want = "true or false"
	v, ok := o.take(key, strconv.FormatBool(def), want)
	if !ok {
		return def
	}
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0":
		return false
	}
	o.refuse(key, v, want)
	return def
}

// Int reads a decimal number from least to most.
func (o *Options) Int(key string, def, least, most int64) int64 {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	v, ok := o.take(key, strconv.FormatInt(def, 10), want)
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		o.refuse(key, v, want)
		return def
	}
	return n
}

// Float reads a number from least to most.
func (o *Options) Float(key string, def, least, most float64) float64 {
	want := fmt.Sprintf("a number from %g to %g", least, most)
	v, ok := o.take(key, strconv.FormatFloat(def, 'g', -1, 64), want)
	if !ok {
		return def
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(f) || f < least || f > most {
		o.refuse(key, v, want)
		return def
	}
	return f
}

// Percent reads a percentage, written 5 or 5%, and returns the fraction, 0 to 1.
func (o *Options) Percent(key string, def float64) float64 {
	const want = "a percentage from 0 to 100"
	v, ok := o.take(key, strconv.FormatFloat(def*100, 'g', -1, 64)+"%", want)
	if !ok {
		return def
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 100 {
		o.refuse(key, v, want)
		return def
	}
	return f / 100
}

// Duration reads a duration with its unit, for example 20ms, or a number of
// seconds; not negative.
func (o *Options) Duration(key string, def time.Duration) time.Duration {
	const want = "a duration, for example 20ms, 2s, or 2 for seconds"
	v, ok := o.take(key, def.String(), want)
	if !ok {
		return def
	}
	d, err := ParseDuration(v)
	if err != nil {
		o.refuse(key, v, want)
		return def
	}
	return d
}

// maxSeconds is what a [time.Duration] can hold and more than anybody waits.
const maxSeconds = 1e9

// ParseDuration reads a duration with its unit, or a number of seconds; not
// negative.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		s, numberErr := strconv.ParseFloat(text, 64)
		if numberErr != nil || !(s >= -maxSeconds && s <= maxSeconds) {
			return 0, err
		}
		d = time.Duration(s * float64(time.Second))
	}
	if d < 0 {
		return 0, fmt.Errorf("duration %q is negative", text)
	}
	return d, nil
}

// Prefix returns every option whose key begins with prefix ("input."), without it.
func (o *Options) Prefix(prefix string) map[string]string {
	o.known = append(o.known, Option{Key: prefix})
	found := make(map[string]string)
	for k, v := range o.values {
		if rest, ok := strings.CutPrefix(k, prefix); ok && rest != "" {
			found[rest] = v
			o.taken[k] = true
		}
	}
	return found
}

// Refuse adds a refusal that the source found itself.
func (o *Options) Refuse(format string, args ...any) {
	o.errs = append(o.errs, fmt.Errorf(format, args...))
}

// RefuseKey is Refuse for what is wrong with one key; "size" and "rate" stand
// for those of the [Spec].
func (o *Options) RefuseKey(key, format string, args ...any) {
	o.errs = append(o.errs, &OptionError{Key: key, Err: fmt.Errorf(format, args...)})
}

// Known lists the keys that were asked for so far.
func (o *Options) Known() []Option { return slices.Clone(o.known) }

// Err reports everything that was refused and the keys that nobody took, with
// the nearest known name, as one [*OptionsError]; nil if all is well.
func (o *Options) Err() error {
	errs := slices.Clone(o.errs)
	var unknown []string
	for k := range o.values {
		if !o.taken[k] {
			unknown = append(unknown, k)
		}
	}
	slices.Sort(unknown)
	for _, k := range unknown {
		errs = append(errs, &OptionError{Key: k, Err: fmt.Errorf("kind %s has no option %q%s", o.kind, k, o.hint(k)), Unknown: true})
	}
	if len(errs) == 0 {
		return nil
	}
	return &OptionsError{Errs: errs, Known: o.Known()}
}

func (o *Options) hint(key string) string {
	var exact, names []string
	for _, k := range o.known {
		if strings.HasSuffix(k.Key, ".") {
			names = append(names, k.Key+"KEY")
		} else {
			exact = append(exact, k.Key)
		}
	}
	if n := Nearest(key, exact); n != "" {
		return "; did you mean " + n + "?"
	}
	names = append(names, exact...)
	if len(names) == 0 {
		return "; it has none"
	}
	slices.Sort(names)
	return "; it has " + strings.Join(names, ", ")
}

// OptionError is what is wrong with one option.
type OptionError struct {
	Key     string
	Err     error
	Unknown bool // nobody knows the key
}

func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap is the refusal itself.
func (e *OptionError) Unwrap() error { return e.Err }

// OptionsError is everything that is wrong with a camera's options. It wraps
// [ErrConfig].
type OptionsError struct {
	Errs  []error  // of type [*OptionError] where one key is to blame
	Known []Option // the keys that the source asked for
}

func (e *OptionsError) Error() string {
	return fmt.Sprintf("%v: %v", ErrConfig, errors.Join(e.Errs...))
}

// Unwrap lists ErrConfig and what is wrong.
func (e *OptionsError) Unwrap() []error { return append([]error{ErrConfig}, e.Errs...) }
