// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module reads the whole module, two folders up, and makes sure that it did.
func module(t *testing.T) []File {
	t.Helper()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "module "+Module+"\n") {
		t.Fatalf("go.mod does not begin with module %s", Module)
	}
	files, err := Walk(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		seen[f.Path] = true
	}
	for _, want := range []string{"frame/geometry.go", "internal/lint/lint_test.go", "scripts/test.sh", ".ci/run", "Makefile"} {
		if !seen[want] {
			t.Errorf("%s was not looked at", want)
		}
	}
	return files
}

func TestModuleKeepsTheRules(t *testing.T) {
	t.Parallel()
	var imports []Import
	var bad []string
	for _, f := range module(t) {
		bad = append(bad, CheckText(f)...)
		if !strings.HasSuffix(f.Path, ".go") {
			continue
		}
		im, calls, err := CheckGo(f)
		if err != nil {
			t.Errorf("%s: %v", f.Path, err)
		}
		imports = append(imports, im...)
		bad = append(bad, calls...)
	}
	if len(imports) == 0 {
		t.Error("no import was looked at")
	}
	for _, b := range append(bad, CheckImports(Table, imports)...) {
		t.Error(b)
	}
}
