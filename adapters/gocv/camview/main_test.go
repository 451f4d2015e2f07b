// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	cvmat "github.com/seed-3c7e7623/camd/adapters/gocv"
	"github.com/seed-3c7e7623/camd/internal/cli"
)

// roleVariable makes this test binary one of the programs under test, so that
// they are built once, with the race detector.
const roleVariable = "CAMVIEW_TEST_ROLE"

// exitLeak is the exit code of a camview that left something open.
const exitLeak = 99

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "camd":
		os.Exit(cli.Main(cli.NewCamd()))
	case "camview":
		code := run()
		if os.Getenv(probeVariable) == "" {
			if left := leftovers(); left != "" {
				fmt.Fprintln(os.Stderr, "left:", left)
				code = exitLeak
			}
		}
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// leftovers are Mats and goroutines that a camview at its end still has.
func leftovers() string {
	runtime.GC()
	if n := cvmat.Opened(); n > 0 {
		return fmt.Sprintf("%d frames open as Mats", n)
	}
	if l := cvmat.Leaks(); len(l) > 0 {
		return fmt.Sprintf("Mats that were never closed: %v", l)
	}
	if n := openMats(); n > 0 {
		return fmt.Sprintf("%d Mats", n)
	}
	// Signals stay caught until the end of the process.
	if err := goleak.Find(goleak.IgnoreTopFunction("os/signal.NotifyContext.func1")); err != nil {
		return err.Error()
	}
	return ""
}
