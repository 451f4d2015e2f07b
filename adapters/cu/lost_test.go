// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"gorgonia.org/cu"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// lostVariable has this program lose its GPU, for good: to be done in a process of
// its own. The value is the runtime directory of a camd.
const lostVariable = "CAMD_TEST_CU_LOST"

// When the GPU fails below a program, that is what it is told, by whichever call of
// the driver the failure was met, and everything can be closed.
func TestLost(t *testing.T) {
	if dir := os.Getenv(lostVariable); dir != "" {
		lose(t, dir)
		return
	}
	t.Setenv("CUDASIM_DIR", t.TempDir()) // with what is left on a lost GPU
	dir := daemon(t)
	cmd := exec.CommandContext(bounded(t), os.Args[0], "-test.run=^TestLost$")
	cmd.Env = append(os.Environ(), lostVariable+"="+dir, "CUDASIM_DELAY=none")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func lose(t *testing.T, dir string) {
	dev, err := gpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	sub := subscribe(t, dev, dir, cuda)
	f := next(t, sub)
	c, err := Open(dev)
	if err != nil {
		t.Fatal(err)
	}
	var s cu.Stream
	do(t, c, func() (err error) { s, err = cu.MakeStream(cu.NonBlocking); return err })
	h, err := c.OnDevice(f, s)
	if err != nil {
		t.Fatal(err)
	}
	sim.Inject(t, simDir, fmt.Sprintf("pid:%d,lost:719", os.Getpid()))
	if err := h.UseOn(s); !errors.Is(err, gpu.ErrLost) || errors.Is(err, gpu.ErrStream) {
		t.Errorf("a use of a GPU that failed: %v", err)
	}
	if err := dev.Do(func(*driver.Thread) error { return nil }); !errors.Is(err, gpu.ErrLost) {
		t.Errorf("the device does not know: %v", err)
	}
	if err := h.Release(); err != nil && !errors.Is(err, gpu.ErrLost) {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Logf("closing the context: %v", err)
	}
	if err := sub.Close(); err != nil && !errors.Is(err, gpu.ErrLost) {
		t.Error(err)
	}
	if err := dev.Close(); !errors.Is(err, gpu.ErrLost) {
		t.Error(err)
	}
}
