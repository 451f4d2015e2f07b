// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

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
	soak   = flag.Bool("soak", false, "run the long tests too")
	binDir = flag.String("bin", "", "test camd and camsub of this directory instead of building them")
	// strict forbids what a busy machine may cause.
	strict = os.Getenv("CAMD_E2E_STRICT") != ""
)

// built is where the programs under test are.
var built struct{ camd, camsub string }

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(helperMain(os.Args[1:]))
	}
	flag.Parse()
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	dir := *binDir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "camd-e2e-bin-"); err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		if err := buildPrograms(dir); err != nil {
			return 1, err
		}
	}
	built.camd, built.camsub = filepath.Join(dir, "camd"), filepath.Join(dir, "camsub")
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(goleak.IgnoreTopFunction("github.com/seed-3c7e7623/camd/e2e.(*launcher).run")); err != nil {
			return 1, fmt.Errorf("goroutines left by the tests: %w", err)
		}
	}
	return code, nil
}

func buildPrograms(dir string) error {
	// Other users run them too.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", dir+"/", "../cmd/camd", "../cmd/camsub")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs under test: %w\n%s", err, out)
	}
	return nil
}
