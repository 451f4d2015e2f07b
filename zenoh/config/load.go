// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-3c7e7623/camd/zenoh/link"
)

// ErrSetting reports a key that is not known or a value that does not fit.
var ErrSetting = errors.New("invalid setting")

// LoadFile takes settings from a file in JSON5, Zenoh's format. It waits for
// nobody but a pipe's writer, and for that two seconds at most; devices are
// refused.
func (c *Config) LoadFile(path string) error {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".toml":
		return fmt.Errorf("%w: %s: only JSON5 is read", ErrSetting, path)
	}
	text, err := link.ReadFileOrPipe(path, maxText)
	if err != nil {
		return err
	}
	return c.Load(path, text)
}

// Load takes settings from a text in JSON5; name stands for it in messages.
// Keys whose value is null keep what they have.
func (c *Config) Load(name string, text []byte) error {
	v, places, err := decode(name, text)
	if err != nil {
		return err
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%w: %s: want an object", ErrSetting, name)
	}
	return c.take("", tree, func(key string) string {
		if p, ok := places[key]; ok {
			return fmt.Sprintf("%s:%v", name, p)
		}
		return name
	})
}

// Set sets one key ("connect/endpoints") to a value in JSON5. source is what
// [Config.Explain] shows as its origin.
func (c *Config) Set(key, value, source string) error {
	v, _, err := decode(source, []byte(value))
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return c.take(strings.Trim(key, "/"), v, func(string) string { return source })
}

// take sets key, or the keys below it.
func (c *Config) take(key string, v any, source func(string) string) error {
	_, deeper := v.(map[string]any)
	if alias, ok := older[key]; ok && (!deeper || !isGroup(key)) {
		c.note(key, source(key), "older spelling of "+alias)
		return c.take(alias, v, func(string) string { return source(key) })
	}
	if why, ok := unsupportedReason(key); ok {
		if !harmless(v) {
			c.note(key, source(key), "has no effect: "+why)
		} else {
			c.unnote(key)
		}
		return nil
	}
	if s := find(key); s != nil {
		if v == nil {
			return nil
		}
		if c.olderRoles(key, v, source) {
			return nil
		}
		delete(c.modal, key)
		if m, ok := modes(v); ok {
			c.modal[key] = modal{m, source(key)}
			if v = m[as(c.Mode)]; v == nil {
				return nil
			}
		}
		if err := s.set(c, v); err != nil {
			return fmt.Errorf("%w: %s: %s: %w", ErrSetting, source(key), key, err)
		}
		c.sources[key] = source(key)
		c.unnote(key) // of a value that no longer counts
		if text, ok := v.(string); ok && s.kind == "bool" {
			c.note(key, source(key), fmt.Sprintf("%q is taken for %s: write it without quotes", text, text))
		}
		return nil
	}
	tree, ok := v.(map[string]any)
	if !ok || key != "" && !isGroup(key) {
		if isGroup(key) {
			return fmt.Errorf("%w: %s: %s holds other keys: want an object", ErrSetting, source(key), key)
		}
		return fmt.Errorf("%w: %s: %s is not known%s", ErrSetting, source(key), key, didYouMean(key))
	}
	keys := make([]string, 0, len(tree))
	for k := range tree {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var errs []error
	for _, k := range keys {
		below := k
		if key != "" {
			below = key + "/" + k
		}
		errs = append(errs, c.take(below, tree[k], source))
	}
	return errors.Join(errs...)
}

func (c *Config) note(key, source, text string) {
	for _, n := range c.notes {
		if n.Key == key {
			return
		}
	}
	c.notes = append(c.notes, Note{key, source, text})
}

// unnote takes back what was noted about key.
func (c *Config) unnote(key string) {
	c.notes = slices.DeleteFunc(c.notes, func(n Note) bool { return n.Key == key })
}

// The variables that [FromEnv] reads.
const (
	EnvFile     = "ZENOH_SESSION_CONFIG_URI" // path of a file, in spite of its name
	EnvFileAny  = "ZENOH_CONFIG"             // the same, read when the other is not set
	EnvOverride = "ZENOH_CONFIG_OVERRIDE"    // key=value;key=value
)

// FromEnv returns the settings that the environment asks for. A pair of the
// override that is not valid is skipped and noted, as Zenoh does; who wants to
// fail asks for [Config.Skipped].
func FromEnv(getenv func(string) string) (*Config, error) {
	c := New()
	return c, c.LoadEnv(getenv)
}

// Skipped returns what is wrong with the pairs that [Config.LoadEnv] skipped;
// nil: nothing was.
func (c *Config) Skipped() error { return errors.Join(c.skipped...) }

// LoadEnv takes settings from the environment.
func (c *Config) LoadEnv(getenv func(string) string) error {
	for _, name := range []string{EnvFile, EnvFileAny} {
		path := strings.TrimPrefix(getenv(name), "file://")
		if path == "" {
			continue
		}
		if err := c.LoadFile(path); err != nil {
			return fmt.Errorf("$%s: %w", name, err)
		}
		break
	}
	for pair := range strings.SplitSeq(getenv(EnvOverride), ";") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		err := fmt.Errorf("%w: want key=value", ErrSetting)
		if ok {
			err = c.Set(strings.TrimSpace(key), value, "$"+EnvOverride)
		}
		if err != nil {
			c.note(strings.TrimSpace(key), "$"+EnvOverride, "skipped: "+err.Error())
			c.skipped = append(c.skipped, fmt.Errorf("$%s: %q: %w", EnvOverride, pair, err))
		}
	}
	return nil
}
