// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	only  = flag.String("guest.run", "", "run only the tests of the guest that match")
	bench = flag.String("guest.bench", "", "run the benchmarks of the guest that match, and no tests, by a clock that counts instructions")
)

var mirror = flag.Bool("guest.serial", false, "show what the guest says as it comes")

// limit is what a boot and all tests may take on a busy machine; see the
// figure that the test prints for what they take.
const limit = 4 * time.Minute

// setUp returns the folder of the kernel, or skips. A machine that cannot be
// set up is a failure where tests are meant to be complete.
func setUp(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("./setup.sh", filepath.Join("..", "..", ".cache", "vm"))
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

func build(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestGuest(t *testing.T) {
	kernel := setUp(t)
	dir := t.TempDir()
	const small = "-ldflags=-s -w"
	build(t, "build", "-trimpath", small, "-tags", "nodl", "-o", dir+"/", "../../cmd/camd", "../../cmd/camsub")
	build(t, "test", "-c", "-trimpath", small, "-tags", "nodl,vmguest", "-o", dir+"/init", "./guest")
	build(t, "test", "-c", "-trimpath", small, "-tags", "nodl", "-o", dir+"/zenoh.test", "../../zenoh")
	modules, err := closure(filepath.Join(kernel, "lib", "modules"), "uvcvideo", "vivid", "vhci_hcd")
	if err != nil {
		t.Fatal(err)
	}
	m := machine{
		kernel: filepath.Join(kernel, "vmlinuz"), modules: modules, cpus: 2, memory: 1024,
		files: map[string]string{"init": dir + "/init", "bin/camd": dir + "/camd", "bin/camsub": dir + "/camsub", "bin/zenoh.test": dir + "/zenoh.test"},
		args:  "-test.v -test.timeout=200s",
	}
	if *only != "" {
		m.args += " -test.run=" + *only
	}
	if *bench != "" {
		m.counted, m.cpus = true, 1
		m.args += " -test.run=^$ -test.benchtime=1x -test.bench=" + *bench
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var serial bytes.Buffer
	began := time.Now()
	out := io.Writer(&serial)
	if *mirror {
		out = io.MultiWriter(&serial, os.Stdout)
	}
	bootErr := m.boot(ctx, dir, out)
	t.Logf("boot and tests took %.1f s", time.Since(began).Seconds())

	before, tests := parse(&serial)
	for _, r := range tests {
		t.Run(r.name, func(t *testing.T) {
			text := strings.Join(r.output, "\n")
			switch r.status {
			case "PASS":
			case "SKIP":
				t.Skip(text)
			default:
				t.Errorf("%s\n%s", orElse(r.status, "did not end"), text)
			}
		})
	}
	if *bench != "" {
		t.Logf("%s", strings.Join(before, "\n"))
	}
	if bootErr != nil {
		t.Errorf("%v", bootErr)
	}
	if len(tests) == 0 && *bench == "" {
		t.Errorf("the guest ran no test:\n%s", strings.Join(before, "\n"))
	}
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
