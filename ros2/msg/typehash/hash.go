// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package typehash

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Prefix is what every hash of this rule begins with.
const Prefix = "RIHS01_"

// ErrUnknownType means a type that no definition is there for.
var ErrUnknownType = errors.New("no definition of this type")

// Lookup gives the definition of a type by its full name, such as
// "std_msgs/msg/Header". It returns false if it has none.
type Lookup func(name string) (text string, ok bool)

// Of computes the hash of a message type and what it refers to: Prefix and 64
// hexadecimal digits.
func Of(name string, lookup Lookup) (string, error) {
	text, err := Description(name, lookup)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	return Prefix + hex.EncodeToString(sum[:]), nil
}

// Description is the text that is hashed: JSON with the type and, sorted by
// name, all that it refers to.
func Description(name string, lookup Lookup) (string, error) {
	types, err := closure(name, lookup)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`{"type_description": `)
	describe(&b, name, types[name])
	delete(types, name)
	b.WriteString(`, "referenced_type_descriptions": [`)
	for i, n := range slices.Sorted(maps.Keys(types)) {
		if i > 0 {
			b.WriteString(", ")
		}
		describe(&b, n, types[n])
	}
	b.WriteString(`]}`)
	return b.String(), nil
}

// References are the full names of all types that a type refers to, directly
// or not, sorted.
func References(name string, lookup Lookup) ([]string, error) {
	types, err := closure(name, lookup)
	if err != nil {
		return nil, err
	}
	delete(types, name)
	return slices.Sorted(maps.Keys(types)), nil
}

// closure reads a type and all that it refers to. Each is read once, so that
// definitions which refer to each other end it too.
func closure(name string, lookup Lookup) (map[string][]field, error) {
	types := map[string][]field{}
	for todo := []string{name}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, seen := types[n]; seen {
			continue
		}
		text, ok := lookup(n)
		if !ok {
			return nil, fmt.Errorf("%w: %s, needed for %s", ErrUnknownType, n, name)
		}
		pkg, _, _ := strings.Cut(n, "/")
		fields, err := parse(pkg, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		types[n] = fields
		for _, f := range fields {
			if f.nested != "" {
				todo = append(todo, f.nested)
			}
		}
	}
	return types, nil
}

// describe writes one type. No name has a character that JSON would escape.
func describe(b *strings.Builder, name string, fields []field) {
	fmt.Fprintf(b, `{"type_name": "%s", "fields": [`, name)
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, `{"name": "%s", "type": {"type_id": %d, "capacity": %d, "string_capacity": %d, "nested_type_name": "%s"}}`,
			f.name, f.typeID, f.capacity, f.bound, f.nested)
	}
	b.WriteString(`]}`)
}
