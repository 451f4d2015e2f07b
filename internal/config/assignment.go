// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

// assignment is one value for one key, by its dotted path: a nested mapping
// and dots say the same.
type assignment struct {
	path     string
	value    string
	empty    bool      // null, or a mapping without keys
	list     bool      // a YAML list, joined with commas
	from     Origin    // of the value
	segments []segment // of the path, with the place of each
}

// segment is one part of a dotted path.
type segment struct {
	text string
	at   Origin
}

// keyAt is the place of the last part of the key.
func (a *assignment) keyAt() Origin {
	if len(a.segments) == 0 {
		return a.from
	}
	return a.segments[len(a.segments)-1].at
}
