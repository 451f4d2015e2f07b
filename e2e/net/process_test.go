// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package net

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/internal/proctest"
)

// hung is how long a condition may take before the test calls it hung. It
// bounds nothing that is measured.
const hung = 60 * time.Second

// eventually waits until ok, which is asked again and again, and else fails
// with the state that it reported last.
func eventually(t testing.TB, what string, ok func() (done bool, state string)) {
	t.Helper()
	proctest.Eventually(t, hung, what, ok)
}

// text collects what a process writes.
type text = proctest.Text

// process is a program on a host.
type process struct {
	t        testing.TB
	name     string
	cmd      *exec.Cmd
	out, err *text
	done     chan struct{} // closed when it was reaped
}

// begin runs a command. It is ended and reaped with the test at the latest.
func begin(t testing.TB, name string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, name: name, cmd: cmd, out: new(text), err: new(text), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.out, p.err
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", name, err)
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // the tests look at ProcessState
	}()
	t.Cleanup(func() {
		if !p.ended() {
			p.signal(syscall.SIGKILL)
			<-p.done
		}
		if t.Failed() {
			t.Logf("%s:\n%s%s", name, proctest.Tail(p.out.String()), proctest.Tail(p.err.String()))
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
	// A process that has ended in the meantime is what was wanted.
	_ = p.cmd.Process.Signal(s)
}

// wait waits for the end and returns the exit code, -1 after a signal.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(hung):
		p.t.Fatalf("%s does not end; it said:\n%s", p.name, proctest.Tail(p.err.String()))
	}
	return p.cmd.ProcessState.ExitCode()
}

// ends wants an exit code and returns what it wrote to standard output.
func (p *process) ends(code int) string {
	p.t.Helper()
	if got := p.wait(); got != code {
		p.t.Errorf("%s: exit code %d, want %d; it said:\n%s%s", p.name, got, code, proctest.Tail(p.out.String()), proctest.Tail(p.err.String()))
	}
	return p.out.String()
}

// interrupt ends it with SIGINT and wants exit code 0.
func (p *process) interrupt() string {
	p.t.Helper()
	p.signal(syscall.SIGINT)
	return p.ends(0)
}

// says waits until what it wrote contains a text.
func (p *process) says(want string) {
	p.t.Helper()
	eventually(p.t, p.name+" says "+want, func() (bool, string) {
		ended := p.ended()
		s := p.out.String() + p.err.String()
		if !strings.Contains(s, want) && ended {
			p.t.Fatalf("%s ended without saying %q:\n%s", p.name, want, proctest.Tail(s))
		}
		return strings.Contains(s, want), proctest.Tail(s)
	})
}

// title is a short name of a command for messages.
func title(host string, line []string) string {
	return host + ": " + strings.Join(append([]string{filepath.Base(line[0])}, line[1:]...), " ")
}
