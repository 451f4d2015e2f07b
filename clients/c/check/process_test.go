// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/proctest"
)

// hung is how long a condition may take before the test calls it hung.
const hung = 40 * time.Second

// await asks again and again until ok.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(hung)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %v: %s", hung, what)
		case <-tick.C:
		}
	}
}

// text collects what a process writes.
type text = proctest.Text

// process is a program under test. It is ended with the test at the latest.
type process struct {
	t        testing.TB
	cmd      *exec.Cmd
	out, err text
	stdin    io.Writer
	done     chan struct{} // closed when it was reaped
}

func start(t testing.TB, env []string, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ASAN_OPTIONS=exitcode=99", "UBSAN_OPTIONS=print_stacktrace=1"}, env...)
	stdin, err := p.cmd.StdinPipe() // open until the test ends
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the tests look at ProcessState
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
		<-p.done
		_ = stdin.Close()
		if t.Failed() {
			t.Logf("%s %v:\n%s%s", filepath.Base(program), args, proctest.Tail(p.out.String()), proctest.Tail(p.err.String()))
		}
	})
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns the exit code, -1 after a signal. A mistake with memory that the
// program found fails the test.
func (p *process) wait() int {
	p.t.Helper()
	await(p.t, "the end of the process", p.ended)
	if said := p.err.String(); strings.Contains(said, "Sanitizer") || strings.Contains(said, "runtime error") {
		p.t.Fatalf("a mistake in the client:\n%s", said)
	}
	return p.cmd.ProcessState.ExitCode()
}

// newDir is a runtime directory; t.TempDir is too long for a socket.
func newDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "camd-c-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startDaemon runs camd in a process of its own and waits for its socket.
func startDaemon(t testing.TB, env []string, dir string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, append(env, daemonVariable+"=1"), self, append([]string{"run", "--runtime-dir", dir, "--set", "zenoh.enabled=false"}, args...)...)
	await(t, "camd running", func() bool {
		if p.ended() {
			t.Fatalf("camd ended: %s", p.err.String())
		}
		return strings.Contains(p.err.String(), "camd running")
	})
	return p
}

// startReader runs the example against a daemon; by shm, if nothing else is said.
// Where it is known to make mistakes, it is given less time.
func startReader(t testing.TB, env []string, dir string, args ...string) *process {
	t.Helper()
	all := []string{"test/color", "--runtime-dir", dir, "--timeout-ms", cmp.Or(os.Getenv("CAMD_CHECK_TIMEOUT_MS"), "20000")}
	if !slices.Contains(args, "--accept") && !slices.Contains(args, "--require") {
		all = append(all, "--accept", "shm")
	}
	return start(t, env, programs(t).reader, append(all, args...)...)
}

// summary is the last line of the example.
type summary struct{ frames, missed, torn, stale, reconnects int }

func (p *process) summary() summary {
	p.t.Helper()
	var s summary
	lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
	last := lines[len(lines)-1]
	if _, err := fmt.Sscanf(last, "frames %d missed %d torn %d stale %d reconnects %d", &s.frames, &s.missed, &s.torn, &s.stale, &s.reconnects); err != nil {
		p.t.Fatalf("no summary at the end: %q", last)
	}
	return s
}

// taken is a line of --print.
type taken struct {
	sequence, epoch uint64
	session, size   string
	broken          bool
}

func (p *process) frames() []taken {
	var all []taken
	for _, line := range strings.SplitAfter(p.out.String(), "\n") {
		var f taken
		var goesOn string
		if n, _ := fmt.Sscanf(line, "frame %d %s %d %s %s\n", &f.sequence, &f.session, &f.epoch, &f.size, &goesOn); n == 5 && strings.HasSuffix(line, "\n") {
			f.broken = goesOn == "discontinuity"
			all = append(all, f)
		}
	}
	return all
}
