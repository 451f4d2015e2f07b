// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/alone"
)

func TestFoldersAreNeverUsedAgain(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a", "b")
	for _, want := range []string{"bench-20261130-101500", "bench-20261130-101500-2", "bench-20261130-101500-3"} {
		f, err := NewFolder(out, "bench", goldenTime)
		if err != nil || f.RunID() != want {
			t.Fatalf("folder %v, error %v, want %s", f, err, want)
		}
		if err := f.Write(benchRun(t)); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(filepath.Join(f.Path, RowsFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := (&Folder{Path: f.Path}).Write(sweepRun(t)); !errors.Is(err, os.ErrExist) {
			t.Errorf("writing into a folder that is full: error %v, want %v", err, os.ErrExist)
		}
		if after, err := os.ReadFile(filepath.Join(f.Path, RowsFile)); err != nil || string(after) != string(before) {
			t.Errorf("the folder was changed, error %v", err)
		}
	}
}

// fileLimit bounds the size of files of this process, as a full disk would. The
// kernel then fails a write after it wrote a part of it.
func fileLimit(t *testing.T, bytes uint64) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Error(err)
		}
	})
}

// TestFullDisk lets each of the files be the one that does not fit.
func TestFullDisk(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	for _, limit := range []uint64{100, 2500, 5000, 12000} {
		out := t.TempDir()
		f, err := NewFolder(out, "bench", goldenTime)
		if err != nil {
			t.Fatal(err)
		}
		run := benchRun(t)
		t.Run("", func(t *testing.T) {
			fileLimit(t, limit)
			if err := f.Write(run); !errors.Is(err, unix.EFBIG) {
				t.Errorf("limit %d: error %v, want %v", limit, err, unix.EFBIG)
			}
		})
		if left, err := os.ReadDir(out); err != nil || len(left) != 0 {
			t.Errorf("limit %d: %d folders left, error %v: a short file must not look like a result", limit, len(left), err)
		}
	}
}

func TestAppendedRowsAreWholeOrNotThere(t *testing.T) {
	if !alone.Run(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := appendRows(path, "a,b\n", "1,2\n"); err != nil {
		t.Fatal(err)
	}
	t.Run("", func(t *testing.T) {
		fileLimit(t, 100)
		if err := appendRows(path, "a,b\n", strings.Repeat("3,4\n", 100)); !errors.Is(err, unix.EFBIG) {
			t.Errorf("error %v, want %v", err, unix.EFBIG)
		}
	})
	if err := appendRows(path, "a,b\n", "5,6\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "a,b\n1,2\n5,6\n" {
		t.Errorf("%q, error %v", b, err)
	}
}
