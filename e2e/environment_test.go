// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shell starts camd by a shell that prepares its surroundings first.
func shell(prepare string, args ...string) (program string, all []string) {
	return "/bin/sh", append([]string{"-c", prepare + `; exec "$0" "$@"`, built.camd}, args...)
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// TestLimits runs camd where it gets less than it wants.
func TestLimits(t *testing.T) {
	t.Parallel()
	const camera = "test=pattern,1280x720@30" // a ring of 100 MB
	for _, c := range []struct {
		name, prepare, camera string
		wants                 []string
	}{
		{"open files", "ulimit -n 30", camera, []string{"RLIMIT_NOFILE (ulimit -n) is 30", "raise it or lower max_subscribers"}},
		{"address space", "ulimit -v 2100000", "test=pattern,3840x2160@30", []string{"RLIMIT_AS (ulimit -v) leaves", "needs 995.3 MB"}},
		{"file size", "ulimit -f 10000", camera, []string{"RLIMIT_FSIZE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			program, args := shell(c.prepare, "run", "--runtime-dir", dir, "--camera", c.camera)
			p := expect(t, nil, 1, c.wants, program, args...)
			oneMessage(t, p)
			if names := filesIn(t, dir); len(names) > 0 {
				t.Errorf("left %v", names)
			}
		})
	}
}

// oneMessage checks that a program ended with exactly one message of its own,
// after whatever it had logged.
func oneMessage(t *testing.T, p *process) {
	t.Helper()
	own, logged := 0, false
	for _, l := range strings.Split(strings.TrimSpace(p.err.String()), "\n") {
		switch {
		case strings.HasPrefix(l, "camd: "), strings.HasPrefix(l, "camsub: "):
			own++
		case strings.HasPrefix(l, "time="):
			logged = logged || own > 0
		case strings.HasPrefix(l, "goroutine "), strings.HasPrefix(l, "panic"):
			t.Errorf("a crash: %s", l)
		}
	}
	if own != 1 || logged {
		t.Errorf("%d messages, log after them %v; want one, at the end:\n%s", own, logged, p.err.String())
	}
	if p.out.String() != "" {
		t.Errorf("an error came with output %q", p.out.String())
	}
}

// TestSmallCgroup runs camd in a memory cgroup: what does not fit is refused
// in words, in place of the kernel's killer; what fits runs.
func TestSmallCgroup(t *testing.T) {
	t.Parallel()
	group := memoryCgroup(t, 64<<20)
	prepare := fmt.Sprintf("echo $$ > %s/cgroup.procs", group)

	program, args := shell(prepare, "run", "--runtime-dir", newDir(t), "--camera", "test=pattern,1280x720@30")
	oneMessage(t, expect(t, nil, 1, []string{"of cgroup", "leaves", "lower max_subscribers, set slots=N"}, program, args...))

	dir := newDir(t)
	program, args = shell(prepare, "run", "--runtime-dir", dir, "--camera", "test=pattern,640x480@30,max_subscribers=1")
	d := &daemon{process: start(t, nil, program, args...), dir: dir}
	d.ready()
	p := d.camsub("hz", "test/color", "--verify", "--count", "20", "--format", "json")
	if code := p.wait(); code != 0 {
		t.Errorf("camsub: exit code %d: %s", code, p.err.String())
	}
	d.stop()
}

// memoryCgroup makes a child of this process's cgroup, of either version, or
// skips the test with what is in the way.
func memoryCgroup(t *testing.T, limit int64) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip(err)
	}
	group, file := "", ""
	for _, line := range strings.Split(string(b), "\n") {
		parts := strings.SplitN(line, ":", 3)
		switch {
		case len(parts) != 3:
		case strings.Contains(","+parts[1]+",", ",memory,"):
			group, file = filepath.Join("/sys/fs/cgroup/memory", parts[2]), "memory.limit_in_bytes"
		case parts[1] == "" && group == "":
			group, file = filepath.Join("/sys/fs/cgroup", parts[2]), "memory.max"
		}
	}
	child := filepath.Join(group, fmt.Sprintf("camd-e2e-%d", os.Getpid()))
	if err := os.Mkdir(child, 0o755); err != nil {
		t.Skipf("no cgroup of its own: %v", err)
	}
	t.Cleanup(func() {
		eventually(t, "the cgroup is empty", func() (bool, string) {
			err := os.Remove(child)
			return err == nil, fmt.Sprint(err)
		})
	})
	if err := os.WriteFile(filepath.Join(child, file), fmt.Append(nil, limit), 0o600); err != nil {
		t.Skipf("no memory limit: %v", err)
	}
	return child
}

// TestSmallSharedMemory runs camd where /dev/shm has the 64 MB of a container;
// the ring is larger.
func TestSmallSharedMemory(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := newDir(t)
	const mount = "mount -t tmpfs -o size=64m camd-e2e /dev/shm"
	if out, err := exec.Command("unshare", "-m", "sh", "-c", mount).CombinedOutput(); err != nil {
		t.Skipf("no mounts of its own: %v: %s", err, out)
	}
	d := &daemon{dir: dir, process: start(t, nil, "unshare", "-m", "sh", "-c", mount+` && exec "$0" "$@"`,
		built.camd, "run", "--runtime-dir", dir, "--camera", "test=pattern,1280x720@30")}
	d.ready()
	p := d.camsub("hz", "test/color", "--verify", "--count", "30", "--format", "json")
	if code := p.wait(); code != 0 {
		t.Errorf("camsub: exit code %d: %s", code, p.err.String())
	}
	d.stop()
}

// TestRuntimeDirectory gives camd directories that it cannot serve.
func TestRuntimeDirectory(t *testing.T) {
	t.Parallel()
	camera := []string{"--camera", "test=pattern,160x120@30"}
	run := func(dir string) []string { return append([]string{"run", "--runtime-dir", dir}, camera...) }

	t.Run("too long", func(t *testing.T) {
		p := expect(t, nil, 1, []string{"the kernel takes at most 107", "choose a shorter directory"}, built.camd, run("/tmp/"+strings.Repeat("x", 110))...)
		oneMessage(t, p)
	})
	t.Run("is a file", func(t *testing.T) {
		file := filepath.Join(newDir(t), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		oneMessage(t, expect(t, nil, 1, []string{"not a directory"}, built.camd, run(file)...))
	})
	t.Run("socket name is taken by a file", func(t *testing.T) {
		dir := newDir(t)
		if err := os.WriteFile(filepath.Join(dir, "camd.sock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		oneMessage(t, expect(t, nil, 1, []string{"is no socket: move it away"}, built.camd, run(dir)...))
	})
	for name, sub := range map[string]string{"not writable": "", "parent not writable": "/below"} {
		t.Run(name, func(t *testing.T) {
			needRoot(t)
			dir := newDir(t)
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			p := expect(t, []with{withUser(nobody)}, 5, []string{"permission denied", dir, "--runtime-dir"}, built.camd, run(dir+sub)...)
			oneMessage(t, p)
		})
	}
	t.Run("served by another", func(t *testing.T) {
		d := startDaemon(t, camera[1])
		p := expect(t, nil, 1, []string{fmt.Sprintf("%s is served by process %d", d.dir, d.pid())}, built.camd, run(d.dir)...)
		oneMessage(t, p)
		d.advance(5)
	})
	t.Run("stale socket", func(t *testing.T) {
		dir := newDir(t)
		d := launchDaemon(t, dir, camera[1])
		d.ready()
		d.kill()
		if names := filesIn(t, dir); len(names) != 1 || names[0] != "camd.sock" {
			t.Fatalf("after a kill there are %v", names)
		}
		d = launchDaemon(t, dir, camera[1])
		d.ready()
		d.stop()
	})
}
