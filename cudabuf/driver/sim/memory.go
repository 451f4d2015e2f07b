// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Memory is the device memory alive over all processes of a run and all GPUs,
// in bytes: memory that a handle, a mapping or a descriptor of any process
// holds, a descriptor in flight included. What a process held is gone soon
// after it is dead; a test polls for that.
func Memory(t testing.TB, dir string) int64 {
	t.Helper()
	n, err := MemoryOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// MemoryOf is Memory outside of tests.
func MemoryOf(dir string) (int64, error) {
	names, err := filepath.Glob(filepath.Join(dir, "mem-*"))
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, name := range names {
		held, err := locked(name)
		if err != nil {
			return 0, err
		}
		if !held { // nobody can get at it any more
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return 0, err
			}
			continue
		}
		part := strings.Split(filepath.Base(name), "-")
		if len(part) != 4 {
			continue
		}
		n, err := strconv.ParseInt(part[2], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// locked is whether somebody holds the file: its lock belongs to the open
// file, which descriptors and mappings share, and ends with the last of them.
func locked(name string) (bool, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
