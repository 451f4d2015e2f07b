// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// fullPipe is the end of a pipe to which nothing can be written any more.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(p[0]) })
	for _, size := range []int{4096, 1} {
		for {
			_, err := unix.Write(p[1], make([]byte, size))
			if errors.Is(err, unix.EAGAIN) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := unix.SetNonblock(p[1], false); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(p[1]), "full pipe")
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestStuckStderr has camd log to a terminal that was stopped: it serves on, and
// ends with the first signal.
func TestStuckStderr(t *testing.T) {
	t.Parallel()
	dir, stderr := newDir(t), fullPipe(t)
	p := start(t, []with{func(c *exec.Cmd) { c.Stderr = stderr }}, built.camd, "run", "--runtime-dir", dir,
		"--camera", "test=pattern,64x64@100")
	d := &daemon{process: p, dir: dir}
	eventually(t, "the socket", func() (bool, string) { // the log says nothing
		_, err := os.Stat(filepath.Join(dir, negotiate.SocketName))
		return err == nil, "none"
	})
	for range 5 {
		if s := d.camsub("hz", "test/color", "--count", "5"); s.wait() != 0 {
			t.Fatalf("camsub: %s", s.err.String())
		}
		dialRaw(t, dir).send(`{"type":"probe"}`) // refused, which is logged
	}
	d.signal(syscall.SIGTERM)
	if code := d.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
