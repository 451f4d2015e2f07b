// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// fake is a driver library that writes down how it is called.
type fake struct {
	path string
	lib  *dl.Library
}

// compiler is the C compiler; without one tests are skipped, but fail in CI.
func compiler(t testing.TB) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no C compiler: ", err)
	}
	return cc
}

// newFake is a library without the functions named in lacks, and with a state of
// its own.
func newFake(t testing.TB, lacks ...string) fake {
	t.Helper()
	if !dl.Available {
		t.Skip("built without libraries")
	}
	// Of two files the loader makes two libraries.
	path := filepath.Join(t.TempDir(), soname)
	library, err := os.ReadFile(compiled(t, lacks))
	if err == nil {
		err = os.WriteFile(path, library, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	lib, err := dl.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return fake{path: path, lib: lib}
}

var compilations sync.Map // of path by what is lacking

// compiled compiles the library, once for all tests.
func compiled(t testing.TB, lacks []string) string {
	t.Helper()
	key := strings.Join(lacks, " ")
	if path, ok := compilations.Load(key); ok {
		return path.(string)
	}
	source, err := os.ReadFile("testdata/fake.c")
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for _, f := range functions {
		switch {
		case slices.Contains(lacks, f.name):
			text = strings.ReplaceAll(text, "int "+f.name+"(", "static __attribute__((unused)) int "+f.name+"(")
		case !strings.Contains(text, " "+f.name+"("):
			text += fmt.Sprintf("int %s(word a, word b, word c, word d, word e, word f) { return needs_context(%q, a, b, c, d, e, f); }\n", f.name, f.name)
		}
	}
	dir, err := os.MkdirTemp(scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	file, out := filepath.Join(dir, "fake.c"), filepath.Join(dir, soname)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if message, err := exec.Command(compiler(t), "-shared", "-fPIC", "-o", out, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, message)
	}
	compilations.Store(key, out)
	return out
}

func (f fake) call(t testing.TB, name string, args ...uintptr) uintptr {
	t.Helper()
	fn, err := f.lib.Symbol(name)
	if err != nil {
		t.Fatal(err)
	}
	return fn.Call(args)
}

// start opens the library and starts a thread for its first device.
func (f fake) start(t testing.TB) *Thread {
	t.Helper()
	d, err := Open(f.path)
	if err != nil {
		t.Fatal(err)
	}
	devices, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	thread, err := d.Start(devices[0], t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = thread.Close() })
	return thread
}
