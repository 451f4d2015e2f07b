// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const header = "// SPDX-FileCopyrightText: The camd authors\n// SPDX-License-Identifier: Apache-2.0\n"

func TestCheckText(t *testing.T) {
	t.Parallel()
	shell := strings.ReplaceAll(header, "//", "#")
	todo := "TO" + "DO"
	cases := []struct {
		name, path, text string
		want             []string // parts of the complaints, in order
	}{
		{"go", "a.go", header + "\npackage a\n", nil},
		{"shell with its first line", "a.sh", "#!/bin/sh\n" + shell, nil},
		{"c comment", "a.c", "/* SPDX-FileCopyrightText: The camd authors */\n/* SPDX-License-Identifier: Apache-2.0 */\n", nil},
		{"no header", "a.go", "package a\n", []string{"a.go:1: missing", "a.go:2: missing"}},
		{"header too low", "a.go", "\n" + header, []string{"a.go:1: missing", "a.go:2: missing"}},
		{"another licence", "a.py", strings.ReplaceAll(shell, "Apache-2.0", "MIT"), []string{"a.py:2: missing"}},
		{"empty", "a.c", "", []string{"a.c:1: missing", "a.c:2: missing"}},
		{"marker", "a.go", header + "\n// " + todo + ": more\n", []string{"a.go:4: marker " + todo}},
		{"word that only contains one", "a.go", header + "\n// " + todo + "S and MAS" + todo + "\n", nil},
		{"longest", "a.go", header + strings.Repeat("\n", MaxLines-2), nil},
		{"too long", "a.go", header + strings.Repeat("\n", MaxLines-1), []string{"a.go:501: file has 501 lines"}},
		{"length counts for Go only", "a.c", header + strings.Repeat("\n", MaxLines), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkComplaints(t, CheckText(File{c.path, []byte(c.text)}), c.want)
		})
	}
}

func TestCheckGoCalls(t *testing.T) {
	t.Parallel()
	const (
		exit  = "package x\nimport \"os\"\nfunc f() {\n\tos.Exit(1)\n}\n"
		print = "package x\nimport \"fmt\"\nfunc f() {\n\tfmt.Println()\n\tfmt.Fprintln(nil)\n}\n"
		fatal = "package x\nimport l \"log\"\nfunc f() {\n\tl.Fatalf(\"\")\n}\n"
		sleep = "package x\nimport \"time\"\nfunc f() {\n\ttime.Sleep(1)\n}\n"
		local = "package x\ntype p struct{}\nfunc (p) Exit(int) {}\nfunc f() {\n\tvar os p\n\tos.Exit(1)\n}\n"
	)
	cases := []struct {
		name, path, text string
		want             []string
	}{
		{"exit in a library", "ring/a.go", exit, []string{"ring/a.go:4: os.Exit"}},
		{"exit in a program", "cmd/camd/a.go", exit, nil},
		{"exit in the command line", "internal/cli/a.go", exit, nil},
		{"exit in a test", "ring/a_test.go", exit, nil},
		{"print in a library", "client/a.go", print, []string{"client/a.go:4: fmt.Println"}},
		{"print in an example", "examples/grab/a.go", print, nil},
		{"fatal under another name", "ring/a.go", fatal, []string{"ring/a.go:4: log.Fatalf"}},
		{"something else called os", "ring/a.go", local, nil},
		{"sleep in a test", "ring/a_test.go", sleep, []string{"ring/a_test.go:4: time.Sleep"}},
		{"sleep outside tests", "ring/a.go", sleep, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, got, err := CheckGo(File{c.path, []byte(c.text)})
			if err != nil {
				t.Fatal(err)
			}
			checkComplaints(t, got, c.want)
		})
	}
}

func TestCheckGoImports(t *testing.T) {
	t.Parallel()
	text := "//go:build neverset\n\npackage x\n\nimport \"C\"\n\nimport (\n\tf \"fmt\"\n)\n"
	got, _, err := CheckGo(File{"internal/dl/a_test.go", []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	want := []Import{
		{File: "internal/dl/a_test.go", Line: 5, From: "internal/dl", Path: "C", Test: true},
		{File: "internal/dl/a_test.go", Line: 8, From: "internal/dl", Path: "fmt", Test: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
	if _, _, err := CheckGo(File{"a.go", []byte("nonsense")}); err == nil {
		t.Error("a file that does not parse passes")
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{}
	for _, p := range []string{
		"go.mod", "Makefile", "README.md", ".ci/run", ".git/a.go", ".cache/a.go", "bin/a.go", "results/a.py",
		"ring/a.go", "ring/testdata/a.go", "clients/c/camd.h", "scripts/a.sh", "tools/go.mod", "tools/a.go",
		"docs/bin/a.go",
	} {
		fsys[p] = &fstest.MapFile{Data: []byte("x")}
	}
	files, err := Walk(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Path)
	}
	want := []string{".ci/run", "Makefile", "clients/c/camd.h", "docs/bin/a.go", "ring/a.go", "scripts/a.sh"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func checkComplaints(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %d complaints", got, len(want))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("got %q, want %q in it", got[i], want[i])
		}
	}
}
