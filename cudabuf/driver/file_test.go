// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Files that the loader would wait for, or that would end the process, are
// refused before it sees them.
func TestFilesThatAreNoLibrary(t *testing.T) {
	whole := sim.Build(t)
	if err := Check(whole); err != nil {
		t.Errorf("a whole library: %v", err)
	}
	if err := Check(filepath.Dir(whole)); err != nil {
		t.Errorf("its folder: %v", err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	other := bytes.Clone(text)
	other[18] = 8 // MIPS
	for name, words := range map[string]string{
		pipe:                                "no regular file",
		file("part", text[:8192]):           "damaged",
		file("start", text[:100]):           "damaged",
		file("empty", nil):                  "no shared library",
		file("text", []byte("INPUT ( a )")): "no shared library",
		file("mips", other):                 "processor",
		filepath.Join(dir, "none"):          "no such file",
	} {
		errs := []error{Check(name)}
		if _, err := Open(name); dl.Available {
			errs = append(errs, err)
		}
		for _, err := range errs {
			if !errors.Is(err, ErrNoDriver) || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, want %q", name, err, words)
			}
		}
	}
}

func FuzzELF(f *testing.F) {
	for _, name := range []string{"/proc/self/exe"} {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text[:4096])
		}
	}
	f.Add([]byte("\x7fELF\x02\x01"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = checkELF(bytes.NewReader(text), int64(len(text)))
	})
}
