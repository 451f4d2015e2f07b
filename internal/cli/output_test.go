// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/alone"
)

func TestOutputWritesAllOrNothing(t *testing.T) {
	const before, after = "before", "a picture"
	cases := map[string]struct {
		prepare func(t *testing.T, name string)
		mode    os.FileMode // afterwards
		link    bool        // is still one
	}{
		"new": {func(*testing.T, string) {}, 0o644, false},
		"there": {func(t *testing.T, name string) {
			must(t, os.WriteFile(name, []byte(before), 0o640))
		}, 0o640, false},
		"a link": {func(t *testing.T, name string) {
			target := filepath.Join(t.TempDir(), "target")
			must(t, os.WriteFile(target, []byte(before), 0o604))
			must(t, os.Chmod(target, 0o604))
			must(t, os.Symlink(target, name))
		}, 0o604, true},
		"a link to nothing": {func(t *testing.T, name string) {
			must(t, os.Symlink(filepath.Join(t.TempDir(), "target"), name))
		}, 0o644, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := output{name: filepath.Join(dir, "x.png")}
			c.prepare(t, o.name)
			must(t, o.write([]byte(after)))
			if got, err := os.ReadFile(o.name); err != nil || string(got) != after {
				t.Errorf("%q, %v", got, err)
			}
			info, err := os.Stat(o.name)
			must(t, err)
			if info.Mode().Perm()&^0o022 != c.mode&^0o022 { // whatever the umask
				t.Errorf("mode %v, want %v", info.Mode(), c.mode)
			}
			if _, err := os.Readlink(o.name); c.link != (err == nil) {
				t.Errorf("link: %v", err)
			}
			if names := filesIn(t, dir); len(names) != 1 {
				t.Errorf("left in the folder: %v", names)
			}
		})
	}
}

// A full disk leaves the picture from before and nothing else.
func TestOutputThatFails(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "x.png")
	must(t, os.WriteFile(name, []byte("before"), 0o600))
	restore := limitFileSize(t, 16)
	err := (&output{name: name}).write(make([]byte, 100))
	restore()
	if !errors.Is(err, unix.EFBIG) {
		t.Errorf("got %v, want %v", err, unix.EFBIG)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "before" {
		t.Errorf("%q, %v", got, err)
	}
	if names := filesIn(t, dir); len(names) != 1 {
		t.Errorf("left in the folder: %v", names)
	}
	if err := (&output{name: "/dev/full"}).write([]byte("x")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a device: %v, want %v", err, unix.ENOSPC)
	}
}

func TestIncompleteOutput(t *testing.T) {
	o := output{name: filepath.Join(t.TempDir(), "x.y4m")}
	if err := o.close(errBroken); err != errBroken {
		t.Errorf("nothing was written: %v", err)
	}
	if _, err := o.open(); err != nil {
		t.Fatal(err)
	}
	if err := o.close(errBroken); !errors.Is(err, errBroken) || err.Error() != errBroken.Error()+"; "+o.name+" is incomplete" {
		t.Errorf("got %v", err)
	}
	if _, err := o.open(); err != nil {
		t.Fatal(err)
	}
	must(t, o.close(nil))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// limitFileSize has writes of this process beyond n bytes of a file fail.
func limitFileSize(t *testing.T, n uint64) (restore func()) {
	t.Helper()
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGXFSZ) // else it kills
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: old.Max}))
	return func() {
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
		signal.Stop(c)
	}
}
