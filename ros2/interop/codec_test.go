// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

//go:embed codec.py
var codec string

// request and reply are those of codec.py.
type request struct {
	Do          string            `json:"do"`
	By          string            `json:"by"`
	Type        string            `json:"type"`
	Definition  string            `json:"definition,omitempty"`
	Definitions map[string]string `json:"definitions,omitempty"`
	Hex         string            `json:"hex,omitempty"`
	Fields      any               `json:"fields,omitempty"`
	Big         bool              `json:"big"`
}

type reply struct {
	Fields           any
	Hex, Hash, Error string
}

// ask has the requests answered by one run of the script.
func ask(t *testing.T, requests []request) []reply {
	t.Helper()
	in, err := json.Marshal(requests)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python(t), "-c", codec)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	var replies []reply
	if err := json.Unmarshal(out.Bytes(), &replies); err != nil {
		t.Fatal(err)
	}
	if len(replies) != len(requests) {
		t.Fatalf("%d replies to %d requests", len(replies), len(requests))
	}
	return replies
}

// fields is a message as JSON: its fields by their ROS names, bytes as a list
// of numbers.
func fields(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		return fields(v.Elem())
	case reflect.Struct:
		m := map[string]any{}
		for i := range v.NumField() {
			m[rosName(v.Type().Field(i).Name)] = fields(v.Field(i))
		}
		return m
	case reflect.Slice, reflect.Array:
		s := []any{}
		for i := range v.Len() {
			s = append(s, fields(v.Index(i)))
		}
		return s
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Float64:
		return v.Float()
	case reflect.Int32:
		return float64(v.Int())
	}
	return float64(v.Uint())
}

// rosName is the ROS name of a field: FrameID is frame_id, XOffset x_offset.
func rosName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		if i > 0 && upper && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
