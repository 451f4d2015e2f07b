// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package calib

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of what is read: the parser recurses, and no model has more numbers.
const (
	maxNesting = 8
	maxNumbers = 32
)

// entry is one key with its value.
type entry struct {
	at    place
	value ast.Node
}

// place is where a node begins.
type place struct{ line, column int }

func at(n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
		return at(m.Values[0].Key)
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		return at(v.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return place{t.Position.Line, t.Position.Column}
	}
	return place{}
}

// document is a file as its keys at the top.
type document struct {
	name    string
	entries map[string]entry
	order   []string
}

func (d *document) fail(at place, format string, args ...any) *Error {
	return &Error{File: d.name, Line: at.line, Column: at.column, Text: fmt.Sprintf(format, args...)}
}

func parseYAML(name string, data []byte) (*document, error) {
	d := &document{name: name}
	switch {
	case len(data) > MaxFileBytes:
		return nil, d.fail(place{}, "more than %d bytes", MaxFileBytes)
	case !utf8.Valid(data):
		return nil, d.fail(place{}, "not UTF-8 text")
	case bytes.HasPrefix(data, []byte("%YAML:1.0")):
		return nil, d.fail(place{1, 1}, "a file of OpenCV's FileStorage: want the YAML of ROS's camera_calibration, with %s, %s, ...", keyWidth, keyHeight)
	}
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	file, err := parse(data)
	if err != nil {
		return nil, d.syntax(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if body != nil {
			return nil, d.fail(at(doc.Body), "a second document: one file has one")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, d.fail(place{}, "nothing in it: want %s, %s, ...", keyWidth, keyHeight)
	}
	d.entries, d.order, err = d.mapping(body)
	return d, err
}

// parse never panics, whatever the parser does with bytes that it does not
// expect.
func parse(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, errors.New("not YAML")
		}
	}()
	tokens := lexer.Tokenize(string(data))
	depth, row := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.TagType, token.AnchorType:
			row++
			if row <= 4*maxNesting {
				continue
			}
		}
		if depth > maxNesting || row > 4*maxNesting {
			return nil, fmt.Errorf("nested deeper than %d levels", maxNesting)
		}
		row = 0
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// syntax is an error of the parser with its place.
func (d *document) syntax(err error) *Error {
	var e yaml.Error
	if errors.As(err, &e) {
		var where place
		if t := e.GetToken(); t != nil && t.Position != nil {
			where = place{t.Position.Line, t.Position.Column}
		}
		return d.fail(where, "%s", e.GetMessage())
	}
	return d.fail(place{}, "%s", err)
}

// mapping reads the keys of a node.
func (d *document) mapping(n ast.Node) (map[string]entry, []string, error) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return nil, nil, d.fail(at(n), "%s: want keys with values", describe(n))
	}
	out := make(map[string]entry, len(values))
	var order []string
	for _, v := range values {
		t := v.Key.GetToken()
		if t == nil {
			continue
		}
		if first, ok := out[t.Value]; ok {
			return nil, nil, d.fail(at(v.Key), "key %.64q is here a second time, the first is in line %d", t.Value, first.at.line)
		}
		out[t.Value] = entry{at(v.Key), v.Value}
		order = append(order, t.Value)
	}
	return out, order, nil
}

// describe names a node in an error.
func describe(n ast.Node) string {
	switch n.Type() {
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.SequenceType:
		return "a list"
	case ast.NullType:
		return "no value"
	}
	if t := n.GetToken(); t != nil {
		return fmt.Sprintf("%.64q", t.Value)
	}
	return strings.ToLower(n.Type().String())
}

// need finds a key that must be there.
func (d *document) need(key string) (entry, error) {
	if e, ok := d.entries[key]; ok {
		return e, nil
	}
	for _, k := range d.order {
		if !slices.Contains(keys(), k) && nearest(k, []string{key}) != "" {
			return entry{}, d.fail(d.entries[k].at, "no %s, but %.64q%s", key, k, nearest(k, []string{key}))
		}
	}
	return entry{}, d.fail(place{}, "no %s", key)
}

func (d *document) integer(key string) (int, error) {
	e, err := d.need(key)
	if err != nil {
		return 0, err
	}
	return d.whole(key, e)
}

// whole reads a number of pixels, rows or columns.
func (d *document) whole(what string, e entry) (int, error) {
	n, err := strconv.Atoi(scalar(e.value))
	if err != nil || n < 0 {
		return 0, d.fail(at(e.value), "%s: %s: want a whole number", what, describe(e.value))
	}
	return n, nil
}

// text reads a key that may be missing.
func (d *document) text(key string) (string, error) {
	e, ok := d.entries[key]
	if !ok || e.value.Type() == ast.NullType {
		return "", nil
	}
	switch n := e.value.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n"), nil
	case ast.ScalarNode:
		return scalar(n), nil
	}
	return "", d.fail(at(e.value), "%s: %s: want text", key, describe(e.value))
}

// scalar is the text of a plain value, "" of anything else.
func scalar(n ast.Node) string {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value
	}
	return ""
}

// matrix reads rows x cols numbers into to.
func (d *document) matrix(key string, rows, cols int, to []float64) error {
	e, err := d.need(key)
	if err != nil {
		return err
	}
	gotRows, gotCols, data, err := d.parts(key, e)
	if err != nil {
		return err
	}
	if gotRows != rows || gotCols != cols {
		return d.fail(e.at, "%s: %dx%d, want %dx%d", key, gotRows, gotCols, rows, cols)
	}
	copy(to, data)
	return nil
}

// vector reads numbers of which there are as many as the file says.
func (d *document) vector(key string) ([]float64, error) {
	e, err := d.need(key)
	if err != nil {
		return nil, err
	}
	rows, cols, data, err := d.parts(key, e)
	if err != nil {
		return nil, err
	}
	if rows > 1 && cols > 1 {
		return nil, d.fail(e.at, "%s: %dx%d, want one row", key, rows, cols)
	}
	return data, nil
}

// parts reads {rows, cols, data}.
func (d *document) parts(key string, e entry) (rows, cols int, data []float64, err error) {
	fields, _, err := d.mapping(e.value)
	if err != nil {
		return 0, 0, nil, d.fail(at(e.value), "%s: %s: want %s, %s and %s", key, describe(e.value), keyRows, keyCols, keyData)
	}
	for _, k := range []string{keyRows, keyCols, keyData} {
		if _, ok := fields[k]; !ok {
			return 0, 0, nil, d.fail(e.at, "%s has no %s", key, k)
		}
	}
	if rows, err = d.whole(key+"."+keyRows, fields[keyRows]); err != nil {
		return 0, 0, nil, err
	}
	if cols, err = d.whole(key+"."+keyCols, fields[keyCols]); err != nil {
		return 0, 0, nil, err
	}
	list, ok := fields[keyData].value.(*ast.SequenceNode)
	if !ok {
		return 0, 0, nil, d.fail(at(fields[keyData].value), "%s.%s: %s: want a list of numbers", key, keyData, describe(fields[keyData].value))
	}
	if n := len(list.Values); rows > maxNumbers || cols > maxNumbers || n != rows*cols {
		return 0, 0, nil, d.fail(at(list), "%s.%s: %d numbers, but %s and %s say %dx%d", key, keyData, n, keyRows, keyCols, rows, cols)
	}
	for i, v := range list.Values {
		f, err := strconv.ParseFloat(scalar(v), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, 0, nil, d.fail(at(v), "%s.%s: number %d of %d is %s: want a finite number", key, keyData, i+1, len(list.Values), describe(v))
		}
		data = append(data, f)
	}
	return rows, cols, data, nil
}

// blame puts a fault to its place in the file.
func (d *document) blame(p *fault) *Error {
	e, ok := d.entries[p.key]
	if !ok {
		return d.fail(place{}, "%s: %s", p.key, p.text)
	}
	where := at(e.value)
	if fields, _, err := d.mapping(e.value); err == nil {
		where = e.at
		if list, ok := fields[keyData].value.(*ast.SequenceNode); ok && p.index >= 0 && p.index < len(list.Values) {
			where = at(list.Values[p.index])
		}
	}
	return d.fail(where, "%s: %s", p.key, p.text)
}
