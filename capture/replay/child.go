// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeBytes is asked for between child and us: the kernel's default maximum
// for users.
const pipeBytes = 1 << 20

// reapTimeout bounds how long stop waits for a killed child, which is only
// long if it hangs in the kernel.
const reapTimeout = 500 * time.Millisecond

// child is a running program with its stdout as a pipe to us.
type child struct {
	name   string   // of the program, for errors
	out    *os.File // read end of its stdout
	stderr *tail
	done   chan struct{} // closed when it is reaped; then err is valid
	err    error         // from exec.Cmd.Wait

	mu   sync.Mutex
	pid  int
	gone bool // has exited; its process group is not ours to signal any more
}

// startChild runs the program. Its stdin is /dev/null. It is killed when the
// process ends that runs this, see PR_SET_PDEATHSIG in prctl(2): the signal is
// tied to the thread that forked, so one goroutine keeps that thread until the
// child is reaped.
func startChild(path string, args ...string) (*child, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// Smaller pipes only cost more switches between the two processes.
	if raw, err := r.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes) })
	}
	c := &child{name: filepath.Base(path), out: r, stderr: newTail(), done: make(chan struct{})}
	cmd := exec.Command(path, args...)
	cmd.Stdout = w
	cmd.Stderr = c.stderr
	// Whoever inherits its stderr must not hold up the reaping.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go c.keep(cmd, started)
	err = <-started
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		<-c.done
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return nil, ErrNoFFmpeg
		}
		return nil, err
	}
	return c, nil
}

// keep starts and reaps the child on one thread.
func (c *child) keep(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	err := cmd.Start()
	if err == nil {
		c.pid = cmd.Process.Pid
	}
	started <- err
	if err != nil {
		return
	}
	for {
		err := unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	// The zombie keeps its process group's number from being used again.
	c.mu.Lock()
	c.gone = true
	_ = unix.Kill(-c.pid, unix.SIGKILL)
	c.mu.Unlock()
	c.err = cmd.Wait()
}

// kill ends the child and everything it started.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		_ = unix.Kill(-c.pid, unix.SIGKILL)
	}
}

// stop ends and reaps the child.
func (c *child) stop() {
	c.kill()
	_ = c.out.Close()
	c.wait(reapTimeout)
}

// wait reports whether the child was reaped within d.
func (c *child) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.done:
		return true
	case <-t.C:
		return false
	}
}

// bind makes reads fail and kills the child when ctx is done. The returned
// function ends that.
func (c *child) bind(ctx context.Context) (unbind func() bool) {
	return context.AfterFunc(ctx, func() {
		_ = c.out.SetReadDeadline(time.Unix(1, 0))
		c.kill()
	})
}

// errSignalled: the child was killed, which says nothing about its input.
var errSignalled = errors.New("killed by signal")

// exit says how the child ended, after its output did. It is nil for a clean
// exit, whatever it said on stderr.
func (c *child) exit() error {
	if !c.wait(2 * time.Second) {
		return fmt.Errorf("%s closed its output and goes on running%s", c.name, c.stderr.quote())
	}
	var status *exec.ExitError
	if errors.As(c.err, &status) {
		if ws, ok := status.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return fmt.Errorf("%s was %w %d (%v)%s", c.name, errSignalled, int(ws.Signal()), ws.Signal(), c.stderr.quote())
		}
		return fmt.Errorf("%s ended with status %d%s", c.name, status.ExitCode(), c.stderr.quote())
	}
	if c.err != nil && !errors.Is(c.err, exec.ErrWaitDelay) {
		return c.err
	}
	return nil
}
