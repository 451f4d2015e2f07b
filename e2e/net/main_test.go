// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package net

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

var (
	// camd and camsub are the programs under test.
	camd, camsub string
	// soak runs longer, and holds what a busy machine does not keep.
	soak = os.Getenv("CAMD_SOAK") != ""
)

func TestMain(m *testing.M) {
	if os.Getenv(watcherVariable) != "" {
		os.Exit(watcherMain(os.Args[1:]))
	}
	// Most tests wait most of the time: more of them run at once than there are
	// processors.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "camd-net-bin-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	// Other users run them too.
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", dir+"/", "../../cmd/camd", "../../cmd/camsub")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building the programs under test: %w\n%s", err, out)
	}
	camd, camsub = filepath.Join(dir, "camd"), filepath.Join(dir, "camsub")
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			return 1, fmt.Errorf("goroutines left by the tests: %w", err)
		}
	}
	return code, nil
}
