// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
)

// Layer is where a value comes from; a later one wins.
type Layer int

// The layers, the weakest first.
const (
	BuiltIn Layer = iota
	Shared        // a variable that other programs read as well
	File
	Environment
	Flag
)

var layerNames = [...]string{"built-in", "shared environment", "file", "environment", "flag"}

// String is the name of the layer.
func (l Layer) String() string {
	if l < 0 || int(l) >= len(layerNames) {
		return fmt.Sprintf("layer %d", int(l))
	}
	return layerNames[l]
}

// MarshalText implements [encoding.TextMarshaler].
func (l Layer) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *Layer) UnmarshalText(text []byte) error {
	for i, n := range layerNames {
		if n == string(text) {
			*l = Layer(i)
			return nil
		}
	}
	return fmt.Errorf("unknown layer %q", text)
}

// Origin is what set a value.
type Origin struct {
	Layer  Layer  `json:"layer"`
	Name   string `json:"name,omitempty"`   // of the file, variable or flag
	Line   int    `json:"line,omitempty"`   // in the file, 1 is the first; 0 = not from a file
	Column int    `json:"column,omitempty"` // in characters, 1 is the first
}

// String is "built-in", "camd.yaml:12:7", "CAMD_LOG_LEVEL" or "--set".
func (o Origin) String() string {
	switch {
	case o.Layer == BuiltIn:
		return o.Layer.String()
	case o.Line > 0:
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	}
	return o.Name
}
