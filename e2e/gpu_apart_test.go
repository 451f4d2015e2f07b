// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// apart has a program run in namespaces of its own.
func apart(t *testing.T, flags ...string) with {
	t.Helper()
	if out, err := exec.Command("unshare", append(flags, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces of its own: %v: %s", err, out)
	}
	path, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip(err)
	}
	return func(c *exec.Cmd) {
		c.Args = append(append([]string{path}, flags...), append([]string{"--", c.Path}, c.Args[1:]...)...)
		c.Path = path
	}
}

// Memory of the GPU goes by descriptor: what a process does not share with camd
// does not matter, unless it changes who the process is or what it sees.
func TestGPUFromOtherNamespaces(t *testing.T) {
	t.Parallel()
	s := startSimulated(t, sim.Options{}, pixelCamera)
	for name, flags := range map[string][]string{
		"pid":     {"--pid", "--fork", "--mount-proc"},
		"mount":   {"--mount"},
		"network": {"--net"},
		"ipc":     {"--ipc"},
		"user":    {"--user", "--map-root-user"},
		"all":     {"--pid", "--fork", "--mount-proc", "--net", "--ipc", "--uts", "--user", "--map-root-user"},
	} {
		t.Run(name, func(t *testing.T) {
			s.path(t, "", apart(t, flags...))
		})
	}
	s.emptied()
}

// The other way round: camd is the one that is apart, as in a container.
func TestGPUOfCamdApart(t *testing.T) {
	t.Parallel()
	flags := []string{"--pid", "--fork", "--kill-child", "--mount-proc", "--ipc"}
	s := startSimulated(t, sim.Options{}, pixelCamera)
	s.stop()
	apart(t, flags...)
	args := append(flags, append([]string{"--", built.camd}, s.args...)...)
	s.daemon = &daemon{dir: s.dir, process: start(t, []with{withEnv(s.env...)}, "unshare", args...)}
	s.ready()
	s.path(t, "")
	s.emptied()
	// unshare does not hand signals on: it takes its child along when it ends.
	s.kill()
	s.leftAlone = true
	for _, p := range sim.Processes(t, s.run) {
		s.killed = append(s.killed, p.PID)
	}
}

// Users who may not have device memory read by shared memory and learn why, also
// from namespaces of their own; those that are listed have it there, too.
func TestOtherUserApartOnGPU(t *testing.T) {
	t.Parallel()
	needRoot(t)
	library := openLibrary(t)
	if err := os.Chmod(inC(t), 0o755); err != nil {
		t.Fatal(err)
	}
	nobodyApart := apart(t, "--pid", "--fork", "--mount-proc", "--ipc", "--setuid", fmt.Sprint(nobody), "--setgid", fmt.Sprint(nobody))
	for name, c := range map[string]struct {
		more []string
		want negotiate.Reason
	}{
		"not listed": {nil, negotiate.ReasonPolicy},
		"listed":     {[]string{"--set", fmt.Sprintf("cuda.users=%d", nobody)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSimulated(t, sim.Options{}, pixelCamera, append(c.more, "--allow-uid", fmt.Sprint(nobody))...)
			if err := os.Chmod(s.dir, 0o711); err != nil {
				t.Fatal(err)
			}
			s.env = append(s.env, gpu.EnvLibrary+"="+library)
			s.path(t, c.want, withUser(nobody))
			s.path(t, c.want, nobodyApart)
			s.emptied()
		})
	}
}

// openLibrary is the simulated driver where every user can read it: the cache of
// the user that builds is closed to others.
func openLibrary(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(sim.Build(t))
	if err != nil {
		t.Fatal(err)
	}
	share := newDir(t)
	library := filepath.Join(share, "libcuda.so.1")
	if err := os.WriteFile(library, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(share, 0o755); err != nil {
		t.Fatal(err)
	}
	return library
}
