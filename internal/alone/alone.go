// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package alone is for tests that change their whole process.
package alone

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

const variable = "CAMD_TEST_ALONE"

// Run runs the test t in a process of its own and reports whether this is that
// process: the test returns if it is not. It fails t where the test fails there
// or does not run.
func Run(t *testing.T) bool {
	t.Helper()
	if os.Getenv(variable) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	// With the race detector a process stays for a second at its end, unless told
	// otherwise; what it finds is said before.
	cmd.Env = append(os.Environ(), variable+"="+t.Name(), "GORACE=atexit_sleep_ms=10 "+os.Getenv("GORACE"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("in a process of its own: %v\n%s", err, out)
	}
	return false
}
