// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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

// isolated keeps programs of tests that run at the same time, and of other hosts
// on the network, from finding each other.
const isolated = `ZENOH_CONFIG_OVERRIDE=scouting/multicast/enabled=false;listen/endpoints=["tcp/127.0.0.1:0"]`

// process is a program under test.
type process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	out  *text
	err  *text
	done chan struct{} // closed when it was reaped

	quiet bool // what it said is no news when the test fails
}

// with changes how a process is started.
type with func(*exec.Cmd)

func withEnv(pairs ...string) with {
	return func(c *exec.Cmd) { c.Env = append(c.Env, pairs...) }
}

func withUser(uid uint32) with {
	return func(c *exec.Cmd) {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
		c.Dir = "/"
	}
}

// launcher starts processes from one thread, which lives as long as this
// process: a child's Pdeathsig is tied to the thread that made it (prctl(2)).
type launcher struct {
	once sync.Once
	work chan func()
}

var launch = launcher{work: make(chan func())}

func (l *launcher) run() {
	runtime.LockOSThread()
	for f := range l.work {
		f()
	}
}

func (l *launcher) start(c *exec.Cmd) (err error) {
	l.once.Do(func() { go l.run() })
	done := make(chan struct{})
	l.work <- func() { err = c.Start(); close(done) }
	<-done
	return err
}

// start runs a program. It is ended and reaped with the test at the latest.
func start(t testing.TB, options []with, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: filepath.Base(program), out: new(text), err: new(text), done: make(chan struct{})}
	p.cmd = exec.Command(program, args...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	p.cmd.WaitDelay = 5 * time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "NO_COLOR=1", isolated}
	for _, o := range options {
		o(p.cmd)
	}
	if err := launch.start(p.cmd); err != nil {
		t.Fatalf("starting %s %v: %v", program, args, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the tests look at ProcessState
	}()
	t.Cleanup(func() {
		if !p.ended() {
			p.signal(syscall.SIGKILL)
			<-p.done
		}
		if t.Failed() && !p.quiet {
			t.Logf("%s %v:\n%s%s", p.name, args, proctest.Tail(p.out.String()), proctest.Tail(p.err.String()))
		}
	})
	return p
}

// of is the same process, whose troubles are those of a sub-test.
func (p *process) of(t testing.TB) *process {
	q := *p
	q.t = t
	return &q
}

func (p *process) pid() int { return p.cmd.Process.Pid }

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

// stop stops it, until the test sends SIGCONT.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	eventually(p.t, p.name+" is stopped", func() (bool, string) {
		s := processState(p.pid())
		return s == 'T', string(s)
	})
}

// kill ends it with SIGKILL and reaps it.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.wait()
}

// interrupt ends it with SIGINT and wants exit code 0.
func (p *process) interrupt() {
	p.t.Helper()
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 {
		p.t.Errorf("%s: exit code %d after SIGINT, want 0; it said:\n%s", p.name, code, p.err.String())
	}
}

// awaitErr waits until stderr contains a text.
func (p *process) awaitErr(want string) {
	p.t.Helper()
	eventually(p.t, p.name+" says "+want, func() (bool, string) {
		s := p.err.String()
		if !strings.Contains(s, want) && p.ended() {
			// It may have been written between the two looks.
			if s = p.err.String(); !strings.Contains(s, want) {
				p.t.Fatalf("%s ended without saying %q:\n%s", p.name, want, s)
			}
		}
		return strings.Contains(s, want), proctest.Tail(s)
	})
}

// expect runs a program to its end and holds exit code and the texts that
// stderr must contain.
func expect(t testing.TB, options []with, code int, wants []string, program string, args ...string) *process {
	t.Helper()
	p := start(t, options, program, args...)
	if got := p.wait(); got != code {
		t.Errorf("%s %v: exit code %d, want %d; it said:\n%s", p.name, args, got, code, p.err.String())
	}
	for _, w := range wants {
		if !strings.Contains(p.err.String(), w) {
			t.Errorf("%s %v: stderr without %q:\n%s", p.name, args, w, p.err.String())
		}
	}
	return p
}
