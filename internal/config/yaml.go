// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file.
const (
	MaxFileBytes   = 64 << 10 // the parser takes quadratic time
	maxDepth       = 8
	maxAssignments = 10000
)

// yamlFile flattens a YAML document.
type yamlFile struct {
	*report
	name    string
	anchors map[string]ast.Node
	nodes   int // visited, aliases included
	out     []assignment
}

// parseYAML reads a document into assignments, in its order. What is wrong with
// it goes into r.
func parseYAML(r *report, name string, data []byte) []assignment {
	y := &yamlFile{report: r, name: name, anchors: make(map[string]ast.Node)}
	here := Origin{Layer: File, Name: name}
	switch {
	case len(data) > MaxFileBytes:
		y.add(here, "%d bytes long, at most %d are read", len(data), MaxFileBytes)
		return nil
	case !utf8.Valid(data):
		y.add(here, "not UTF-8 text")
		return nil
	}
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	r.lines = strings.Split(string(data), "\n")
	file, err := parse(data)
	if err != nil {
		y.add(y.place(err))
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || saysNothing(doc.Body) {
			continue
		}
		if body != nil {
			y.add(y.at(doc.Body), "a second document: one file has one")
			return nil
		}
		body = doc.Body
	}
	if body != nil && body.Type() != ast.NullType {
		y.node(body, nil, 0)
	}
	return y.out
}

// saysNothing is true of comments and of %YAML 1.2.
func saysNothing(n ast.Node) bool {
	return n.Type() == ast.CommentType || n.Type() == ast.DirectiveType
}

// errDeep is of the token where it became too deep.
type errDeep struct{ at *token.Token }

func (e *errDeep) Error() string { return fmt.Sprintf("nested deeper than %d levels", maxDepth) }

// parse never panics, whatever the parser does with bytes that it does not
// expect.
func parse(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, errors.New("not YAML")
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if t := tooDeep(tokens); t != nil {
		return nil, &errDeep{t}
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// tooDeep returns the first token that nests deeper than any setting needs: the
// parser recurses.
func tooDeep(tokens token.Tokens) *token.Token {
	flow, row := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.TagType, token.AnchorType:
			row++
			if row > 4*maxDepth {
				return t
			}
			continue
		}
		row = 0
		if flow > maxDepth {
			return t
		}
	}
	return nil
}

// place turns an error of the parser into the arguments of add.
func (y *yamlFile) place(err error) (where Origin, format string, args any) {
	where = Origin{Layer: File, Name: y.name}
	var deep *errDeep
	if errors.As(err, &deep) {
		return y.origin(deep.at), "%s", deep
	}
	var e yaml.Error
	if errors.As(err, &e) {
		if t := e.GetToken(); t != nil {
			where = y.origin(t)
		}
		return where, "%s", e.GetMessage()
	}
	return where, "%s", err
}

func (y *yamlFile) origin(t *token.Token) Origin {
	o := Origin{Layer: File, Name: y.name}
	if t != nil && t.Position != nil {
		o.Line, o.Column = t.Position.Line, t.Position.Column
	}
	return o
}

func (y *yamlFile) at(n ast.Node) Origin {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return y.at(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return y.at(n.Key)
	}
	return y.origin(n.GetToken())
}

// node flattens what stands below segs.
func (y *yamlFile) node(n ast.Node, segs []segment, depth int) {
	if y.nodes++; y.nodes > maxAssignments {
		if y.nodes == maxAssignments+1 {
			y.add(y.at(n), "more than %d values, aliases counted each time", maxAssignments)
		}
		return
	}
	if depth > maxDepth {
		y.add(y.at(n), "nested deeper than %d levels", maxDepth)
		return
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		y.anchors[n.Name.GetToken().Value] = n.Value
		y.node(n.Value, segs, depth+1)
	case *ast.AliasNode:
		y.aliased(n, segs, depth)
	case *ast.MappingNode:
		y.mapping(n.Values, n, segs, depth)
	case *ast.MappingValueNode:
		y.mapping([]*ast.MappingValueNode{n}, n, segs, depth)
	case *ast.NullNode:
		y.emit(assignment{empty: true, from: y.at(n)}, segs)
	case *ast.SequenceNode:
		y.sequence(n, segs, depth)
	default:
		if text, ok := y.scalar(n); ok {
			y.emit(assignment{value: text, from: y.at(n)}, segs)
		}
	}
}

// aliased flattens what an alias stands for. A single value or list is said where
// the alias is: the key is there.
func (y *yamlFile) aliased(n *ast.AliasNode, segs []segment, depth int) {
	target := y.alias(n)
	if target == nil {
		return
	}
	before := len(y.out)
	y.node(target, segs, depth+1)
	switch target.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return
	}
	for i := before; i < len(y.out); i++ {
		y.out[i].from = y.at(n)
	}
}

func (y *yamlFile) alias(n *ast.AliasNode) ast.Node {
	name := n.Value.GetToken().Value
	target, ok := y.anchors[name]
	if !ok {
		y.add(y.at(n), "no anchor &%s stands before this", name)
	}
	return target
}

func (y *yamlFile) scalar(n ast.Node) (string, bool) {
	var text string
	switch n := n.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = strings.TrimSuffix(n.Value.Value, "\n")
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = n.GetToken().Value
	default:
		y.add(y.at(n), "a %s is not used here: want text, a number, true or false", strings.ToLower(n.Type().String()))
		return "", false
	}
	if i := strings.IndexFunc(text, isControl); i >= 0 {
		y.add(y.at(n), "control character in %q", text)
		return "", false
	}
	return text, true
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// sequence joins a list of plain values.
func (y *yamlFile) sequence(n *ast.SequenceNode, segs []segment, depth int) {
	var texts []string
	for _, v := range n.Values {
		if a, ok := v.(*ast.AliasNode); ok {
			v = y.alias(a)
			if v == nil {
				return
			}
		}
		text, ok := y.scalar(v)
		if !ok {
			return
		}
		texts = append(texts, text)
	}
	if y.nodes += len(texts); depth == 0 {
		y.add(y.at(n), "a list at the top: want keys with values")
		return
	}
	y.emit(assignment{value: strings.Join(texts, ","), list: true, from: y.at(n)}, segs)
}

func (y *yamlFile) mapping(values []*ast.MappingValueNode, self ast.Node, segs []segment, depth int) {
	if len(values) == 0 {
		y.emit(assignment{empty: true, from: y.at(self)}, segs)
		return
	}
	seen := make(map[string]Origin)
	for _, v := range values {
		key, ok := y.key(v.Key)
		if !ok {
			continue
		}
		if _, merge := v.Key.(*ast.MergeKeyNode); merge {
			continue
		}
		if first, dup := seen[key]; dup {
			y.add(y.at(v.Key), "key %q is here a second time, the first is in line %d", key, first.Line)
			continue
		}
		seen[key] = y.at(v.Key)
		y.node(v.Value, y.join(segs, key, y.at(v.Key)), depth+1)
	}
	for _, v := range values {
		if _, merge := v.Key.(*ast.MergeKeyNode); merge {
			y.merge(v.Value, segs, seen, depth)
		}
	}
}

// merge is the key << of YAML: what stands in another mapping counts here where
// nothing else is said.
func (y *yamlFile) merge(n ast.Node, segs []segment, seen map[string]Origin, depth int) {
	sources := []ast.Node{n}
	if list, ok := n.(*ast.SequenceNode); ok {
		sources = list.Values
	}
	for _, s := range sources {
		if a, ok := s.(*ast.AliasNode); ok {
			if s = y.alias(a); s == nil {
				continue
			}
		}
		var values []*ast.MappingValueNode
		switch m := s.(type) {
		case *ast.MappingNode:
			values = m.Values
		case *ast.MappingValueNode:
			values = []*ast.MappingValueNode{m}
		default:
			y.add(y.at(s), "<< wants an alias of a mapping, for example <<: *common")
			continue
		}
		for _, v := range values {
			if _, again := v.Key.(*ast.MergeKeyNode); again {
				if y.nodes++; depth < maxDepth && y.nodes < maxAssignments {
					y.merge(v.Value, segs, seen, depth+1)
				}
				continue
			}
			key, ok := y.key(v.Key)
			if _, here := seen[key]; !ok || here {
				continue
			}
			seen[key] = y.at(v.Key)
			y.node(v.Value, y.join(segs, key, y.at(v.Key)), depth+1)
		}
	}
}

func (y *yamlFile) key(n ast.MapKeyNode) (string, bool) {
	if m, ok := n.(*ast.MappingKeyNode); ok {
		y.add(y.at(m), "a key in the form \"? key\" is not used here")
		return "", false
	}
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value, true
	}
	t := n.GetToken()
	if t == nil {
		return "", false
	}
	return t.Value, true
}

// join appends the parts of a key, which may have dots, to segs.
func (y *yamlFile) join(segs []segment, key string, at Origin) []segment {
	out := append([]segment(nil), segs...)
	for part := range strings.SplitSeq(key, ".") {
		out = append(out, segment{part, at})
	}
	return out
}

func (y *yamlFile) emit(a assignment, segs []segment) {
	if len(segs) == 0 {
		y.add(a.from, "want keys with values, there is only %q", a.value)
		return
	}
	texts := make([]string, 0, len(segs))
	for _, s := range segs {
		texts = append(texts, s.text)
	}
	a.path, a.segments = strings.Join(texts, "."), segs
	y.out = append(y.out, a)
}

// parsePath makes the segments of a path that was given as one text.
func parsePath(path string, at Origin) []segment {
	var out []segment
	for part := range strings.SplitSeq(path, ".") {
		out = append(out, segment{part, at})
	}
	return out
}

// parseSet reads the value of a --set flag.
func parseSet(text string) (assignment, error) {
	path, value, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		return assignment{}, fmt.Errorf("%q: want key=value, for example log.level=debug", text)
	}
	at := Origin{Layer: Flag, Name: "--set " + path}
	if strings.IndexFunc(text, isControl) >= 0 {
		return assignment{}, fmt.Errorf("%q: control character", text)
	}
	return assignment{path: path, value: value, from: at, segments: parsePath(path, at)}, nil
}
