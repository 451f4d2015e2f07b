// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var (
	only  = flag.String("guest.run", "", "run only the tests of the guest that match")
	bench = flag.String("guest.bench", "", "run the benchmarks of the guest that match, and no tests, by a clock that counts instructions")
)

var mirror = flag.Bool("guest.serial", false, "show what the guest says as it comes")

func build(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestGuest(t *testing.T) {
	kernel := SetUp(t, "../..")
	dir := t.TempDir()
	const small = "-ldflags=-s -w"
	build(t, "build", "-trimpath", small, "-tags", "nodl", "-o", dir+"/", "../../cmd/camd", "../../cmd/camsub")
	build(t, "test", "-c", "-trimpath", small, "-tags", "nodl,vmguest", "-o", dir+"/init", "./guest")
	build(t, "test", "-c", "-trimpath", small, "-tags", "nodl", "-o", dir+"/zenoh.test", "../../zenoh")
	g := Guest{
		Modules: []string{"uvcvideo", "vivid", "vhci_hcd"},
		Files:   map[string]string{"init": dir + "/init", "bin/camd": dir + "/camd", "bin/camsub": dir + "/camsub", "bin/zenoh.test": dir + "/zenoh.test"},
		Args:    "-test.v -test.timeout=200s",
	}
	if *only != "" {
		g.Args += " -test.run=" + *only
	}
	if *bench != "" {
		g.Counted, g.CPUs = true, 1
		g.Args += " -test.run=^$ -test.benchtime=1x -test.bench=" + *bench
	}
	if *mirror {
		g.Mirror = os.Stdout
	}
	before := g.Run(t, kernel)
	if *bench != "" {
		t.Logf("%s", strings.Join(before, "\n"))
	}
}
