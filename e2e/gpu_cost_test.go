// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// waits are system calls by which threads wait, wake each other, and are
// scheduled: how many there are depends on how busy the machine is. All others
// would be work for a frame.
var waits = []string{
	"futex", "nanosleep", "clock_nanosleep", "epoll_pwait", "epoll_wait", "poll", "ppoll", "sched_yield", "restart_syscall",
	"tgkill", "getpid", "gettid", "rt_sigreturn", "rt_sigprocmask", "rt_sigaction", "sigaltstack", "madvise",
}

// simulatedCopies are how the simulated GPU copies, once each. A real one does
// that by itself.
var simulatedCopies = []string{"pwrite64", "pread64", "msync"}

// traced has a program run below strace, which counts its system calls.
func traced(t *testing.T, name string) (option with, calls func() map[string]int) {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	if out, err := exec.Command(path, "-D", "-f", "-c", "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot be used: %v: %s", err, out)
	}
	file := filepath.Join(t.TempDir(), name)
	option = func(c *exec.Cmd) {
		// -D: the program is the child, and strace is not in between.
		c.Args = append([]string{path, "-D", "-f", "-c", "-U", "name,calls", "-o", file, c.Path}, c.Args[1:]...)
		c.Path = path
	}
	return option, func() map[string]int {
		counts := map[string]int{}
		eventually(t, "strace has counted", func() (bool, string) {
			text, err := os.ReadFile(file)
			for line := range strings.Lines(string(text)) {
				if f := strings.Fields(line); len(f) == 2 {
					if n, err := strconv.Atoi(f[1]); err == nil {
						counts[f[0]] = n
					}
				}
			}
			return counts["total"] > 0, fmt.Sprint(err)
		})
		delete(counts, "total")
		return counts
	}
}

// cost is what happened in a run of so many frames.
type cost struct {
	daemon, reader map[string]int // system calls
	drivers        map[string]int // calls of the driver by both
	wakes, uploads uint64
	hostCopies     float64
}

// costOf runs camd and one reader for n frames.
func costOf(t *testing.T, backend string, program string, n int) (c cost) {
	t.Helper()
	daemonOption, daemonCalls := traced(t, "daemon")
	readerOption, readerCalls := traced(t, "reader")
	s := startSimulated(t, sim.Options{}, "test=pattern,64x64@200", "--set", "zenoh.enabled=false")
	s.stop()
	s.daemon = &daemon{dir: s.dir, process: start(t, []with{withEnv(s.env...), daemonOption}, built.camd, s.args...)}
	s.ready()
	args := []string{"hz", "test/color", "--require", backend, "--count", fmt.Sprint(n)}
	if program != built.camsub {
		args = []string{"test/color", "--require", backend, "--count", fmt.Sprint(n), "--timeout-ms", "60000"}
		if backend == "cuda" {
			args = append(args, "--async")
		}
	}
	if code := start(t, []with{withEnv(s.env...), readerOption}, program, args...).wait(); code != 0 {
		t.Fatalf("the reader ended with %d", code)
	}
	st := s.stream()
	c.wakes, c.hostCopies = st.Ring.FutexWakes+st.Ring.PipeWakes, *st.HostCopies
	if st.DeviceRing != nil {
		c.uploads = st.DeviceRing.Frames
	}
	c.reader = readerCalls()
	s.stop()
	s.leftAlone = true
	c.daemon = daemonCalls()
	c.drivers = map[string]int{}
	for _, p := range sim.Processes(t, s.run) {
		for name, n := range p.Calls {
			c.drivers[name] += int(n)
		}
	}
	return c
}

// TestGPUCost counts what a frame costs by cuda and by shm, as the difference of
// a longer and a shorter run: no system call but those that wait and wake, no
// copy by the processor; on the GPU one copy for all, and for each reader one
// mark.
func TestGPUCost(t *testing.T) {
	t.Parallel()
	const few, many = 50, 350
	const frames = many - few
	for _, backend := range []string{"shm", "cuda"} {
		for _, language := range []string{"Go", "C"} {
			t.Run(backend+" in "+language, func(t *testing.T) {
				t.Parallel()
				program, c := built.camsub, language == "C"
				if c {
					program = inC(t)
				}
				a, b := costOf(t, backend, program, few), costOf(t, backend, program, many)
				for who, d := range map[string]map[string]int{"camd": difference(a.daemon, b.daemon), "the reader": difference(a.reader, b.reader)} {
					work := 0
					for name, n := range d {
						if !slices.Contains(waits, name) && (backend == "shm" || !slices.Contains(simulatedCopies, name)) {
							work += n
						}
					}
					// Ten times a second each looks whether the other is there.
					if work >= frames/2 {
						t.Errorf("%s makes %d system calls for %d frames: %v", who, work, frames, d)
					}
					t.Logf("%s: %.2f system calls a frame that neither wait nor wake: %v", who, float64(work)/frames, d)
				}
				if n := b.reader["futex"] - a.reader["futex"]; c && backend == "shm" && n > frames+frames/10 {
					t.Errorf("a reader that has nothing but frames to wait for sleeps %d times for %d", n, frames)
				}
				if b.hostCopies != 0 {
					t.Errorf("%v copies by the processor", b.hostCopies)
				}
				drivers := difference(a.drivers, b.drivers)
				t.Logf("calls of the driver: %v", drivers)
				if backend == "shm" {
					if len(drivers) != 0 {
						t.Errorf("calls of the driver by shm: %v", drivers)
					}
					return
				}
				uploads := int(b.uploads) - int(a.uploads)
				for name, n := range drivers {
					most := 0
					switch name {
					case "cuMemcpyHtoDAsync_v2":
						most = uploads
					case "cuEventRecord":
						most = uploads
						if c {
							most += frames
						}
					case "cuMemcpyDtoHAsync_v2": // the example's own work
						if c {
							most = frames
						}
					case "cuEventQuery", "cuEventSynchronize": // for as long as it takes
						continue
					case "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuStreamSynchronize":
						if c { // around each look
							continue
						}
					}
					// A look now and then, where the machine was busy, is none for each frame.
					if n > most+frames/10 {
						t.Errorf("%d calls of %s for %d frames, want %d", n, name, frames, most)
					}
				}
			})
		}
	}
}

// difference is what b has more than a.
func difference(a, b map[string]int) map[string]int {
	d := maps.Clone(b)
	for name := range d {
		d[name] -= a[name]
	}
	maps.DeleteFunc(d, func(_ string, n int) bool { return n <= 0 })
	return d
}
