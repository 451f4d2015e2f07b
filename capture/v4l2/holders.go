// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// holders names the other processes that have the device node at path open, as
// far as this user may see them: "process 812 (cheese)". proc is /proc.
func holders(proc, path string) []string {
	var want unix.Stat_t
	if unix.Stat(path, &want) != nil {
		return nil
	}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if opens(filepath.Join(proc, e.Name(), "fd"), &want) {
			name, _ := os.ReadFile(filepath.Join(proc, e.Name(), "comm"))
			found = append(found, fmt.Sprintf("process %d (%s)", pid, strings.TrimSpace(string(name))))
		}
	}
	return found
}

// opens reports whether one of the descriptors in dir is the device of want: of
// the same number if it is a device, else the same file.
func opens(dir string, want *unix.Stat_t) bool {
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false // another user's, or ended meanwhile
	}
	for _, fd := range fds {
		var st unix.Stat_t
		if unix.Stat(filepath.Join(dir, fd.Name()), &st) != nil {
			continue
		}
		if want.Mode&unix.S_IFMT == unix.S_IFCHR {
			if st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == want.Rdev {
				return true
			}
		} else if st.Dev == want.Dev && st.Ino == want.Ino {
			return true
		}
	}
	return false
}
