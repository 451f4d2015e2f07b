// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/e2e/vm"
)

var (
	only   = flag.String("guest.run", "", "run only the tests of the guest that match")
	mirror = flag.Bool("guest.serial", false, "show what the guest says as it comes")
)

// static builds for a machine without any library.
func static(t *testing.T, args ...string) {
	t.Helper()
	all := append([]string{args[0]}, "-race", "-tags", "nodl,vmguest", "-ldflags", "-s -w -linkmode external -extldflags -static")
	cmd := exec.Command("go", append(all, args[1:]...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(cmd.Args[1:], " "), err, out)
	}
}

// TestGuest runs the tests of package guest, on the driver vivid in a virtual
// machine.
func TestGuest(t *testing.T) {
	kernel := vm.SetUp(t, "../..")
	dir := t.TempDir()
	static(t, "build", "-o", dir+"/example", "./example")
	static(t, "test", "-c", "-o", dir+"/init", "./guest")
	g := vm.Guest{
		Modules: []string{"uvcvideo", "vivid", "vhci_hcd"},
		Files:   map[string]string{"init": dir + "/init", "bin/example": dir + "/example"},
		Args:    "-test.v -test.timeout=200s",
		Figures: true,
	}
	if *only != "" {
		g.Args += " -test.run=" + *only
	}
	if *mirror {
		g.Mirror = os.Stdout
	}
	g.Run(t, kernel)
}
