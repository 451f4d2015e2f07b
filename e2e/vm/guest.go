// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limit is what a boot and all tests may take on a busy machine; see the
// figure that the test prints for what they take.
const limit = 4 * time.Minute

// Guest is a virtual machine whose first process is a test binary.
type Guest struct {
	Modules []string          // of the kernel; what they depend on comes along
	Files   map[string]string // path in the guest: path here. The test binary is "init"
	Args    string            // of the test binary
	CPUs    int               // 0 = 2
	// Counted makes the guest's clocks count its instructions in place of the
	// host's time, so that what it measures does not depend on the host's load.
	Counted bool
	Mirror  io.Writer // gets what the guest says as it comes; may be nil
	Figures bool      // log what tests say that pass, too
}

// SetUp gets what the machine is made of into root/.cache, root being that of
// this project, and returns the folder of the kernel, or skips. A machine that
// cannot be set up is a failure where tests are meant to be complete.
func SetUp(t *testing.T, root string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "e2e", "vm", "setup.sh"), filepath.Join(root, ".cache", "vm"))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 && !ci() {
		t.Skipf("no virtual machine: %s", strings.TrimSpace(said.String()))
	}
	t.Fatalf("setting up the virtual machine: %v: %s", err, said.String())
	return ""
}

// ci reports whether this is continuous integration, where everything runs.
func ci() bool {
	v := os.Getenv("CI")
	return v != "" && v != "false" && v != "0"
}

// Run boots the guest with the kernel of [SetUp] and makes each of its tests a
// subtest of t. It returns the lines that came before the first of them.
func (g Guest) Run(t *testing.T, kernel string) (before []string) {
	t.Helper()
	modules, err := closure(filepath.Join(kernel, "lib", "modules"), g.Modules...)
	if err != nil {
		t.Fatal(err)
	}
	m := machine{
		kernel: filepath.Join(kernel, "vmlinuz"), modules: modules, cpus: g.CPUs, memory: 1024,
		files: g.Files, args: g.Args, counted: g.Counted,
	}
	if m.cpus == 0 {
		m.cpus = 2
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var serial bytes.Buffer
	out := io.Writer(&serial)
	if g.Mirror != nil {
		out = io.MultiWriter(&serial, g.Mirror)
	}
	began := time.Now()
	bootErr := m.boot(ctx, t.TempDir(), out)
	t.Logf("boot and tests took %.1f s", time.Since(began).Seconds())

	before, tests := parse(&serial)
	for _, r := range tests {
		t.Run(r.name, func(t *testing.T) {
			text := strings.Join(r.output, "\n")
			switch r.status {
			case "PASS":
				if g.Figures {
					t.Log(text)
				}
			case "SKIP":
				t.Skip(text)
			default:
				t.Errorf("%s\n%s", orElse(r.status, "did not end"), text)
			}
		})
	}
	if bootErr != nil {
		t.Errorf("%v", bootErr)
	}
	if len(tests) == 0 && !g.Counted {
		t.Errorf("the guest ran no test:\n%s", strings.Join(before, "\n"))
	}
	return before
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
