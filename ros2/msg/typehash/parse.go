// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package typehash

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ErrDefinition means text that is not a message definition.
var ErrDefinition = errors.New("not a message definition")

// field is one member of a type.
type field struct {
	name     string
	typeID   int
	capacity int    // of a fixed array or bounded sequence
	bound    int    // of a bounded string
	nested   string // "pkg/msg/Name" where the base type is one
}

// Identifiers of type_description_interfaces/msg/FieldType.
const (
	idNested         = 1
	idBoundedString  = 21
	idBoundedWstring = 22
	addArray         = 48
	addBounded       = 96
	addUnbounded     = 144
)

var primitives = map[string]int{
	"int8": 2, "uint8": 3, "char": 3, "int16": 4, "uint16": 5,
	"int32": 6, "uint32": 7, "int64": 8, "uint64": 9,
	"float32": 10, "float64": 11, "bool": 15, "byte": 16,
	"string": 17, "wstring": 18,
}

var (
	// A type: base, bound of a string, brackets with what is in them.
	typeForm  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_/]*)(?:<=([0-9]+))?(\[(<=)?([0-9]*)\])?$`)
	fieldForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	constForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*\s*=`)
)

// parse reads the fields of the definition of a type of package pkg.
func parse(pkg, text string) ([]field, error) {
	var fields []field
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		words := strings.Fields(line)
		rest := strings.TrimSpace(strings.TrimPrefix(line, words[0]))
		if constForm.MatchString(rest) {
			continue
		}
		if len(words) < 2 {
			return nil, fmt.Errorf("%w: line %d: %q has no name", ErrDefinition, i+1, line)
		}
		f, err := parseField(pkg, words[0], words[1])
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrDefinition, i+1, err)
		}
		fields = append(fields, f)
	}
	if len(fields) == 0 {
		fields = []field{{name: "structure_needs_at_least_one_member", typeID: primitives["uint8"]}}
	}
	return fields, nil
}

func parseField(pkg, typ, name string) (field, error) {
	f := field{name: name}
	if !fieldForm.MatchString(name) {
		return f, fmt.Errorf("field name %q", name)
	}
	m := typeForm.FindStringSubmatch(typ)
	if m == nil {
		return f, fmt.Errorf("type %q", typ)
	}
	base, bound, brackets, upTo, size := m[1], m[2], m[3], m[4], m[5]
	var ok bool
	switch f.typeID, ok = primitives[base]; {
	case ok && bound != "":
		switch base {
		case "string":
			f.typeID = idBoundedString
		case "wstring":
			f.typeID = idBoundedWstring
		default:
			return f, fmt.Errorf("type %q: only strings have a bound", typ)
		}
		var err error
		if f.bound, err = strconv.Atoi(bound); err != nil {
			return f, fmt.Errorf("type %q: %w", typ, err)
		}
	case !ok && bound != "":
		return f, fmt.Errorf("type %q: only strings have a bound", typ)
	case !ok:
		f.typeID = idNested
		if f.nested = full(pkg, base); f.nested == "" {
			return f, fmt.Errorf("type %q", typ)
		}
	}
	switch {
	case brackets == "":
		return f, nil
	case size == "" && upTo != "":
		return f, fmt.Errorf("type %q: no bound", typ)
	case size == "":
		f.typeID += addUnbounded
		return f, nil
	case upTo != "":
		f.typeID += addBounded
	default:
		f.typeID += addArray
	}
	var err error
	if f.capacity, err = strconv.Atoi(size); err != nil {
		return f, fmt.Errorf("type %q: %w", typ, err)
	}
	return f, nil
}

// full is the full name of a type as a definition of package pkg names it;
// empty if it is none.
func full(pkg, name string) string {
	switch parts := strings.Split(name, "/"); len(parts) {
	case 1:
		return pkg + "/msg/" + name
	case 2:
		return parts[0] + "/msg/" + parts[1]
	case 3:
		return name
	}
	return ""
}
