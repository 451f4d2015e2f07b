// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

//go:build vmguest

package guest

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The wall clock jumps under a Zenoh session. The test is one of package zenoh,
// and runs here because it sets the clock of the machine.
func TestClockJumps(t *testing.T) {
	up(t, "lo")
	cmd := exec.CommandContext(t.Context(), "/bin/zenoh.test", "-test.run=^TestClockJumps$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), "CAMD_MAY_SET_CLOCK=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// up sets a network interface to work.
func up(t *testing.T, name string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, r); err != nil {
		t.Fatal(err)
	}
	r.SetUint16(r.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r); err != nil {
		t.Fatal(err)
	}
}
