// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// MaxLines is the longest that a Go file may be.
const MaxLines = 500

// File is a source file, read.
type File struct {
	Path string // relative to the module, with slashes
	Text []byte
}

var (
	spdx = [2]string{
		"SPDX-FileCopyrightText: The camd authors",
		"SPDX-License-Identifier: Apache-2.0",
	}
	// In two halves, so that this file does not hold what it looks for.
	marker = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`)
)

// CheckText applies the rules that hold for source files of any language.
func CheckText(f File) []string {
	var bad []string
	lines := bytes.Split(f.Text, []byte("\n"))
	first := 0
	if bytes.HasPrefix(f.Text, []byte("#!")) {
		first = 1
	}
	for i, want := range spdx {
		if n := first + i; n >= len(lines) || !bytes.HasSuffix(bytes.TrimSpace(bytes.TrimSuffix(lines[n], []byte("*/"))), []byte(want)) {
			bad = append(bad, fmt.Sprintf("%s:%d: missing %q", f.Path, n+1, want))
		}
	}
	for i, line := range lines {
		if m := marker.Find(line); m != nil {
			bad = append(bad, fmt.Sprintf("%s:%d: marker %s: do it, or file an issue", f.Path, i+1, m))
		}
	}
	if n := len(lines) - 1; strings.HasSuffix(f.Path, ".go") && n > MaxLines {
		bad = append(bad, fmt.Sprintf("%s:%d: file has %d lines, at most %d: is there a second concept in it?", f.Path, n, n, MaxLines))
	}
	return bad
}

// CheckGo applies the rules on what Go files call and returns the imports of
// the file. It looks at every file, whatever its build constraints.
func CheckGo(f File) (imports []Import, bad []string, err error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, f.Path, f.Text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, fmt.Errorf("parsing: %w", err)
	}
	test := strings.HasSuffix(f.Path, "_test.go")
	names := map[string]string{} // local name -> import path
	for _, spec := range tree.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, nil, fmt.Errorf("import path %s: %w", spec.Path.Value, err)
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
		imports = append(imports, Import{
			File: f.Path, Line: set.Position(spec.Pos()).Line,
			From: path.Dir(f.Path), Path: p, Test: test,
		})
	}
	forbidden := forbiddenIn(f.Path)
	ast.Inspect(tree, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		for _, rule := range forbidden {
			if names[x.Name] == rule.pkg && rule.name.MatchString(sel.Sel.Name) {
				bad = append(bad, fmt.Sprintf("%s:%d: %s.%s: %s", f.Path, set.Position(sel.Pos()).Line, rule.pkg, sel.Sel.Name, rule.why))
			}
		}
		return true
	})
	return imports, bad, nil
}

type forbiddenCall struct {
	pkg  string
	name *regexp.Regexp
	why  string
}

var (
	inTests = []forbiddenCall{
		{"time", regexp.MustCompile(`^Sleep$`), "a test waits for what it needs, never for time"},
	}
	inLibraries = []forbiddenCall{
		{"os", regexp.MustCompile(`^Exit$`), "only a program ends a program"},
		{"log", regexp.MustCompile(`^(Fatal|Panic|Print)`), "libraries return errors and log through log/slog"},
		{"fmt", regexp.MustCompile(`^Print`), "standard output belongs to the program"},
	}
	programs = []Room{"cmd/...", "internal/cli", "examples/...", "zenoh/examples/...", "benchmarks/...", "e2e/..."}
)

func forbiddenIn(file string) []forbiddenCall {
	if strings.HasSuffix(file, "_test.go") {
		return inTests
	}
	for _, room := range programs {
		if Room(path.Dir(file)).in(room) {
			return nil
		}
	}
	return inLibraries
}
