// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package sim builds and watches a simulated CUDA driver, for tests and for a
// demonstration without a GPU. The driver itself is the C library in libcuda;
// README.md says what it proves and what not. Programs use it only where its
// path is given to them as the path of the driver: nothing looks for it.
package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Delay is how late the operations of a stream run.
type Delay string

const (
	// None runs them at once, in one piece.
	None Delay = "none"
	// Uniform delays each by up to [Options.DelayMicros], and copies in pieces
	// with pauses between them.
	Uniform Delay = "uniform"
	// Heavy delays most of them little and a few by ten times as much.
	Heavy Delay = "heavy"
	// Hold keeps each back until the process looks whether it is done, but no
	// longer than 0.2 s.
	Hold Delay = "hold"
)

// Options is what a simulated driver is to be like. The zero value is a
// discrete GPU that does everything at once.
type Options struct {
	// Dir is the run directory, which all processes of a run share; "" makes
	// one. It must exist.
	Dir string
	// Profile is the kind of machine: discrete, jetson, no-ipc, no-vmm, wsl,
	// pidns, no-driver, mismatch, stub, not-ready, old-driver, exclusive,
	// event-hang, two-gpus; "" is discrete.
	Profile string
	// Delay is how late operations run; "" is None.
	Delay Delay
	// DelayMicros is the longest ordinary delay in microseconds; 0 is 5000.
	DelayMicros int
	// Seed decides all that is left to chance; 0 is 1.
	Seed uint64
	// Devices lists the GPUs that are visible, in their order, as
	// CUDA_VISIBLE_DEVICES does; "" is all.
	Devices string
	// Memory is how much each GPU has, in bytes; 0 is 8 GiB.
	Memory int64
	// Fail is a plan of failures from the start, see [Inject].
	Fail string
	// NoVMM leaves virtual memory management out, whatever the profile.
	NoVMM bool
	// Pageable allows asynchronous copies from and to host memory that is not
	// page-locked, which are reported otherwise.
	Pageable bool
	// Extra holds further variables, "NAME=value".
	Extra []string
}

// Env is the environment that makes a process which loads the library behave
// so, and the run directory. The directory goes with the test.
func Env(t testing.TB, o Options) (env []string, dir string) {
	t.Helper()
	dir = o.Dir
	if dir == "" {
		dir = Dir(t)
	}
	add := func(name, value string) {
		if value != "" {
			env = append(env, "CUDASIM_"+name+"="+value)
		}
	}
	add("DIR", dir)
	add("PROFILE", o.Profile)
	add("DELAY", string(o.Delay))
	if o.DelayMicros != 0 {
		add("DELAY_US", strconv.Itoa(o.DelayMicros))
	}
	if o.Seed != 0 {
		add("SEED", strconv.FormatUint(o.Seed, 10))
	}
	add("DEVICES", o.Devices)
	if o.Memory != 0 {
		add("MEMORY", strconv.FormatInt(o.Memory, 10))
	}
	add("FAIL", o.Fail)
	if o.NoVMM {
		add("VMM", "0")
	}
	if o.Pageable {
		add("PAGEABLE", "1")
	}
	return append(env, o.Extra...), dir
}

// Setenv sets the environment of the test's own process so, and gives the run
// directory. The library reads it once: a process has one kind of driver.
func Setenv(t testing.TB, o Options) (dir string) {
	t.Helper()
	env, dir := Env(t, o)
	for _, e := range env {
		for i := range e {
			if e[i] == '=' {
				t.Setenv(e[:i], e[i+1:])
				break
			}
		}
	}
	return dir
}

// shm is a file system in memory.
const shm = "/dev/shm"

// sweep removes run directories that tests which were killed have left behind:
// old ones in which no process lives.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(shm, "cudasim-*"))
next:
	for _, dir := range dirs {
		st, err := os.Stat(dir)
		if err != nil || time.Since(st.ModTime()) < time.Hour {
			continue
		}
		processes, _ := filepath.Glob(filepath.Join(dir, "proc-*"))
		for _, p := range processes {
			if alive, err := locked(p); err != nil || alive {
				continue next
			}
		}
		_ = os.RemoveAll(dir) // another user's stays
	}
}

// roomy is how much space, in bytes, a file system in memory must have left to
// be used for run directories.
const roomy = 512 << 20

// Dir makes a run directory that goes with the test, in memory where there is
// room: device memory is files in it.
func Dir(t testing.TB) string {
	t.Helper()
	var fs unix.Statfs_t
	sweep()
	if unix.Statfs(shm, &fs) == nil && int64(fs.Bavail)*fs.Bsize >= roomy {
		dir, err := os.MkdirTemp(shm, "cudasim-")
		if err == nil {
			t.Cleanup(func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
			// For processes of other users.
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			return dir
		}
	}
	dir := filepath.Join(t.TempDir(), "cudasim")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// UUID is that of a simulated GPU, counted from 0, in the driver's notation.
func UUID(gpu int) string {
	return fmt.Sprintf("GPU-43554441-5349-4d00-8000-%012x", gpu)
}
