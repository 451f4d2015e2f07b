// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package keyexpr knows Zenoh's key expressions: which strings are valid, their
// canonical form, and whether two of them share a key or one includes the other.
//
// A key expression is a list of chunks separated by '/'. "*" stands for any one
// chunk, "**" for any number of chunks, also none, and "$*" for any characters
// inside a chunk. A chunk that starts with '@' is matched by itself only: no
// wildcard covers it.
package keyexpr

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrInvalid reports a string that is no key expression.
var ErrInvalid = errors.New("invalid key expression")

// MaxLen is the most bytes that a key expression may have on the wire.
const MaxLen = 65535

// Validate fails with [ErrInvalid] unless s is a key expression in canonical
// form, the only form that other nodes accept.
func Validate(s string) error {
	c, err := Canon(s)
	if err != nil {
		return err
	}
	if c != s {
		return fmt.Errorf("%w: %.100q is not canonical: write %.100q", ErrInvalid, s, c)
	}
	return nil
}

// Canon returns the canonical form of s: "**/**" becomes "**", "**/*" becomes
// "*/**", "$*$*" becomes "$*" and a chunk "$*" becomes "*". It fails with
// [ErrInvalid].
func Canon(s string) (string, error) {
	switch {
	case s == "":
		return "", fmt.Errorf("%w: empty", ErrInvalid)
	case len(s) > MaxLen:
		return "", fmt.Errorf("%w: %d bytes, at most %d", ErrInvalid, len(s), MaxLen)
	case !utf8.ValidString(s):
		return "", fmt.Errorf("%w: %.100q is not UTF-8", ErrInvalid, s)
	}
	canonical := true
	wild := false // the chunk before is **
	for rest, more := s, true; more; {
		var chunk string
		chunk, rest, more = strings.Cut(rest, "/")
		if err := checkChunk(chunk); err != nil {
			return "", fmt.Errorf("%w: %.100q: %w", ErrInvalid, s, err)
		}
		if chunk == "$*" || strings.Contains(chunk, "$*$*") || wild && (chunk == "*" || chunk == "**") {
			canonical = false
		}
		wild = chunk == "**"
	}
	if canonical {
		return s, nil
	}
	return rewrite(s), nil
}

func checkChunk(c string) error {
	if c == "" {
		return errors.New("empty chunk: no slash at the start or the end, and no two in a row")
	}
	if i := strings.IndexAny(c, "#?"); i >= 0 {
		return fmt.Errorf("%q is not allowed", c[i])
	}
	if c == "*" || c == "**" {
		return nil
	}
	for i := 0; i < len(c); i++ {
		switch c[i] {
		case '$':
			if i+1 == len(c) || c[i+1] != '*' {
				return errors.New("'$' is only allowed before '*'")
			}
			i++
		case '*':
			return errors.New("'*' is only allowed as a whole chunk, as \"**\", or after '$'")
		}
	}
	return nil
}

func rewrite(s string) string {
	out := make([]string, 0, strings.Count(s, "/")+1)
	pending := false // a ** that moves behind the * that follow it
	for chunk := range strings.SplitSeq(s, "/") {
		for strings.Contains(chunk, "$*$*") {
			chunk = strings.ReplaceAll(chunk, "$*$*", "$*")
		}
		if chunk == "$*" {
			chunk = "*"
		}
		if chunk == "**" {
			pending = true
			continue
		}
		if pending && chunk != "*" {
			out = append(out, "**")
			pending = false
		}
		out = append(out, chunk)
	}
	if pending {
		out = append(out, "**")
	}
	return strings.Join(out, "/")
}

// IsWild says whether s can match more than one key.
func IsWild(s string) bool { return strings.IndexByte(s, '*') >= 0 }

// Join puts a slash between a and b and returns the canonical form.
func Join(a, b string) (string, error) { return Canon(a + "/" + b) }

func verbatim(chunk string) bool { return chunk != "" && chunk[0] == '@' }
