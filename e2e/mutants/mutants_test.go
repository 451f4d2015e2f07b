// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

var update = flag.Bool("update", false, "write docs/mutants.md")

// mutant is one thing that is taken out.
type mutant struct {
	what     string // that holds, and does not any more
	file     string // from the root
	from, to string // text that is in the file once, and what takes its place
	pkg      string // whose test
	test     string // fails
	quick    bool   // is tried by every run
}

// all is the list.
var all = slices.Concat(cudabufMutants, backendMutants, clientMutants, cMutants)

const (
	root = "../.."
	page = "docs/mutants.md"
	// wanted says which are tried: "1" is all, else part of a name or file.
	wanted = "CAMD_MUTANTS"
	// limit is of one test, which a mutant may have hang.
	limit = 100 * time.Second
)

// apply is the file with the mutant in it.
func (m mutant) apply() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(m.from)); n != 1 || m.from == m.to {
		return nil, fmt.Errorf("%s: %d times %q, want one: has it moved, or is it not needed any more?", m.what, n, m.from)
	}
	return bytes.Replace(text, []byte(m.from), []byte(m.to), 1), nil
}

// The list is of this tree, and so is the page that is made from it.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range all {
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.file, err)
		}
		if key := m.file + m.from + m.to; seen[key] {
			t.Errorf("%s: twice: %s", m.file, m.what)
		} else {
			seen[key] = true
		}
		if !hasTest(t, m) {
			t.Errorf("%s has no %s, which is to notice: %s", m.pkg, m.test, m.what)
		}
	}
	want := render()
	name := filepath.Join(root, page)
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the list says: go test ./e2e/mutants -run TestList -update (%v)", page, err)
	}
}

func hasTest(t *testing.T, m mutant) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, m.pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\nfunc "+m.test+"(t *testing.T)")) {
			return true
		}
	}
	return false
}

// render is the page.
func render() []byte {
	var b bytes.Buffer
	b.WriteString(`# What holds the path by memory of a GPU together

Each line is a wait, a mark, a lease, a check or a release that is in the source for a reason: without it, the test in the last column fails. The page is made from the list in
` + "`e2e/mutants`" + `, of which every run of the tests checks that it is of this source; with ` + "`CAMD_MUTANTS=1 go test ./e2e/mutants`" + ` each of them is taken out in turn, and the test has to notice. The GPU is the [simulated one](../cudabuf/driver/sim/README.md).
Tests that are part of every run try a few, marked with a dot.
`)
	file := ""
	for _, m := range all {
		if m.file != file {
			file = m.file
			fmt.Fprintf(&b, "\n## %s\n\n| | without it fails |\n|---|---|\n", file)
		}
		dot := ""
		if m.quick {
			dot = " •"
		}
		fmt.Fprintf(&b, "| %s%s | `%s` %s |\n", m.what, dot, m.pkg, m.test)
	}
	return b.Bytes()
}

// Without any of these a test fails.
func TestEachIsNoticed(t *testing.T) {
	sim.Build(t) // or it is skipped for want of a compiler
	which := os.Getenv(wanted)
	slots := make(chan struct{}, 2)
	var tried []mutant
	for _, m := range all {
		if which == "" && !m.quick || which != "" && which != "1" && !strings.Contains(m.file+" "+m.what, which) {
			continue
		}
		tried = append(tried, m)
		t.Run(filepath.Base(m.file)+": "+m.what, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			text, err := m.apply()
			if err != nil {
				t.Skip("TestList says it")
			}
			began := time.Now()
			out, err := m.run(t, text)
			switch {
			case err == nil:
				t.Errorf("%s of %s notices nothing:\n%s", m.test, m.pkg, tail(out))
			case !noticed.MatchString(out) || unbuilt.MatchString(out):
				t.Errorf("%s of %s was not run: %v\n%s", m.test, m.pkg, err, tail(out))
			case which != "":
				t.Logf("noticed in %v: %s", time.Since(began).Round(100*time.Millisecond), firstFailure(out))
			}
		})
	}
	if which == "" {
		return // the tests are run as they are elsewhere
	}
	t.Run("as they are", func(t *testing.T) {
		ran := map[string]bool{}
		for _, m := range tried {
			if key := m.pkg + m.test; !ran[key] {
				ran[key] = true
				if out, err := m.run(t, nil); err != nil {
					t.Errorf("%s of %s fails by itself: %v\n%s", m.test, m.pkg, err, tail(out))
				}
			}
		}
	})
}

// noticed is in the output of a test that failed, not of one that did not begin.
var noticed = regexp.MustCompile(`(?m)^\s*--- FAIL|^panic: |^fatal error: |^unexpected fault|found unexpected goroutines|FAIL\s+\S+\s+[0-9.]+s`)

// unbuilt is in that of one whose subject could not be compiled.
var unbuilt = regexp.MustCompile(`\[(build|setup) failed\]|cc -std=`)

// run runs the test on this text of the file, nil: as it is.
func (m mutant) run(t *testing.T, text []byte) (string, error) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"test", "-vet=off", "-buildvcs=false", "-count=1", "-failfast", "-timeout", limit.String(), "-run", "^" + m.test + "$"}
	env := os.Environ()
	switch {
	case text == nil:
	case strings.HasSuffix(m.file, ".go"):
		overlay, err := m.overlay(dir, text)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "-overlay", overlay)
	default: // a client in C, of which the tests take the sources from here
		if err := m.copyC(dir, text); err != nil {
			t.Fatal(err)
		}
		env = append(env, "CAMD_CHECK_SOURCES="+dir, "CAMD_CHECK_TIMEOUT_MS=5000")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+m.pkg)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = root, append(env, wanted+"="), 5*time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	return string(out), err
}

// overlay has the build take the text in place of the file.
func (m mutant) overlay(dir string, text []byte) (string, error) {
	own, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	changed, name := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {own: changed}})
	if err != nil {
		return "", err
	}
	return name, errors.Join(os.WriteFile(changed, text, 0o600), os.WriteFile(name, list, 0o600))
}

func (m mutant) copyC(dir string, text []byte) error {
	entries, err := os.ReadDir(filepath.Join(root, filepath.Dir(m.file)))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b := text
		if e.Name() != filepath.Base(m.file) {
			if b, err = os.ReadFile(filepath.Join(root, filepath.Dir(m.file), e.Name())); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func firstFailure(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "_test.go:") || strings.Contains(line, "rule broken") || strings.HasPrefix(line, "panic:") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func tail(s string) string {
	if len(s) > 3000 {
		return "..." + s[len(s)-3000:]
	}
	return s
}
