// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// daemon is a running camd with a runtime directory of its own.
type daemon struct {
	*process
	dir string
}

// newDir is a runtime directory whose socket path is short enough.
func newDir(t testing.TB) string {
	t.Helper()
	base := os.TempDir()
	if len(base) > 60 {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "camd-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startDaemon runs camd until the end of the test, which it must reach in good
// health: SIGTERM then ends it with code 0.
func startDaemon(t testing.TB, cameras ...string) *daemon {
	t.Helper()
	d := launchDaemon(t, newDir(t), cameras...)
	d.ready()
	t.Cleanup(func() { d.stop() })
	return d
}

// launchDaemon starts camd and does not wait for it.
func launchDaemon(t testing.TB, dir string, cameras ...string) *daemon {
	t.Helper()
	// Whatever this machine has, these are about the other backends.
	args := []string{"run", "--runtime-dir", dir, "--set", "cuda.enabled=false"}
	for _, c := range cameras {
		args = append(args, "--camera", c)
	}
	return &daemon{process: start(t, nil, built.camd, args...), dir: dir}
}

// ready waits until every camera runs.
func (d *daemon) ready() {
	d.t.Helper()
	d.awaitErr("camd running")
	eventually(d.t, "cameras running", func() (bool, string) {
		st := d.status()
		for _, c := range st.Cameras {
			if c.State != "running" {
				return false, fmt.Sprintf("camera %s is %s: %s", c.Name, c.State, c.Problem)
			}
		}
		return len(st.Streams) > 0, "no streams"
	})
}

// stop ends camd and wants a clean end that leaves nothing.
func (d *daemon) stop() {
	d.t.Helper()
	if d.ended() {
		d.t.Errorf("camd had ended by itself (%v)", d.cmd.ProcessState)
		return
	}
	d.signal(syscall.SIGTERM)
	if code := d.wait(); code != 0 {
		d.t.Errorf("camd: exit code %d after SIGTERM, want 0", code)
	}
	if names := filesIn(d.t, d.dir); len(names) > 0 {
		d.t.Errorf("camd left %v in its runtime directory", names)
	}
}

func filesIn(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// camsub starts camsub against this daemon.
func (d *daemon) camsub(args ...string) *process {
	d.t.Helper()
	return start(d.t, []with{withEnv("CAMD_RUNTIME_DIR=" + d.dir)}, built.camsub, args...)
}

// resources are what a process has of the system.
type resources struct {
	fds, rings int   // open files; mappings of ring memory
	anonymous  int64 // bytes: memory that is not the ring's
}

func (r resources) String() string {
	return fmt.Sprintf("%d fds, %d ring mappings, %.1f MB anonymous", r.fds, r.rings, float64(r.anonymous)/1e6)
}

// anonymousSlack is by how much the heap of an idle Go program wanders.
const anonymousSlack = 24 << 20

// same reports whether r is what base was, but for the wandering of the heap.
func (r resources) same(base resources) bool {
	return r.fds == base.fds && r.rings == base.rings && r.anonymous <= base.anonymous+anonymousSlack
}

// usage reads /proc; ok is false when the process is gone.
func usage(pid int) (r resources, ok bool) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return r, false
	}
	maps, err := os.ReadFile(filepath.Join(proc, "maps"))
	if err != nil {
		return r, false
	}
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return r, false
	}
	for _, line := range strings.Split(string(status), "\n") {
		if rest, found := strings.CutPrefix(line, "RssAnon:"); found {
			var kb int64
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				return r, false
			}
			r.anonymous = kb * 1024
		}
	}
	r.fds = len(fds)
	r.rings = strings.Count(string(maps), "memfd:camd-ring")
	return r, true
}

// settled waits until two looks at a process agree, and returns that.
func settled(t testing.TB, pid int) resources {
	t.Helper()
	var last resources
	seen := 0
	eventually(t, "resources at rest", func() (bool, string) {
		now, ok := usage(pid)
		if !ok {
			t.Fatalf("process %d is gone", pid)
		}
		if seen > 0 && now.fds == last.fds && now.rings == last.rings {
			seen++
		} else {
			seen = 1
		}
		last = now
		return seen >= 10, now.String()
	})
	return last
}

// back waits until a process has no more than it had.
func back(t testing.TB, what string, pid int, base resources) {
	t.Helper()
	eventually(t, what+" has what it had: "+base.String(), func() (bool, string) {
		now, ok := usage(pid)
		if !ok {
			t.Fatalf("%s (process %d) is gone", what, pid)
		}
		return now.same(base), now.String()
	})
}

// processState is the letter in /proc/PID/stat, 0 when the process is gone.
func processState(pid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	i := strings.LastIndexByte(string(b), ')')
	if i < 0 || i+2 >= len(b) {
		return 0
	}
	return b[i+2]
}

// pause waits without a condition, to come to a random moment.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}
