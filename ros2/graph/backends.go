// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"slices"
	"strings"
)

// BackendsCPU is the list of an endpoint that knows no other memory than the
// host's.
const BackendsCPU = "cpu:"

// Backend is one kind of memory that an endpoint of Lyrical or later takes or
// gives.
type Backend struct{ Name, Metadata string }

// The escapes of names and metadata in a list.
var (
	escape   = strings.NewReplacer("%", "%25", ";", "%3B", ":", "%3A", "/", "%2F")
	unescape = strings.NewReplacer("%25", "%", "%3B", ";", "%3A", ":", "%2F", "/")
)

// FormatBackends returns the list as a token holds it, sorted by name:
// "cpu:;cuda:".
func FormatBackends(list []Backend) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Backend) int { return strings.Compare(a.Name, b.Name) })
	var s []string
	for _, b := range list {
		s = append(s, escape.Replace(b.Name)+":"+escape.Replace(b.Metadata))
	}
	return strings.Join(s, ";")
}

// ParseBackends reads a list; "" is none. It fails with [ErrBackends].
func ParseBackends(s string) ([]Backend, error) {
	if s == "" {
		return nil, nil
	}
	var out []Backend
	for entry := range strings.SplitSeq(s, ";") {
		name, meta, ok := strings.Cut(entry, ":")
		b := Backend{unescape.Replace(name), unescape.Replace(meta)}
		// What is escaped otherwise than it would be written has another hash.
		if !ok || name == "" || escape.Replace(b.Name) != name || escape.Replace(b.Metadata) != meta {
			return nil, fmt.Errorf("%w: %.100q: entry %.40q", ErrBackends, s, entry)
		}
		out = append(out, b)
	}
	return out, nil
}

func canonicalBackends(s string) (string, error) {
	list, err := ParseBackends(s)
	if err != nil {
		return "", err
	}
	return FormatBackends(list), nil
}
