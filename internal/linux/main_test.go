// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// helperVariable makes this test binary play the other process of a test.
const helperVariable = "CAMD_LINUX_TEST_HELPER"

var helpers = map[string]func() error{
	"futex":         helperFutex,
	"connect":       helperConnect,
	"fsize":         helperFileSize,
	"address space": helperAddressSpace,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVariable); name != "" {
		if err := helpers[name](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// helper is the command of another process, killed at the end of the test.
func helper(t *testing.T, name string, files ...*os.File) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	// The race detector would wait a second at each exit.
	cmd.Env = append(os.Environ(), helperVariable+"="+name, "GORACE=atexit_sleep_ms=0")
	cmd.ExtraFiles = files
	return cmd
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func mappings(t *testing.T, name string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), name)
}
