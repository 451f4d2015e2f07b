// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/proctest"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// hung is how long a condition may take before the test calls it hung.
const hung = time.Minute

// eventually asks again and again until ok, and else fails with the last state.
func eventually(t testing.TB, what string, ok func() (done bool, state string)) {
	t.Helper()
	proctest.Eventually(t, hung, what, ok)
}

// text collects what a process writes.
type text = proctest.Text

// process is a program under test.
type process struct {
	t        testing.TB
	cmd      *exec.Cmd
	out, err text
	done     chan struct{}
}

// alone keeps programs of tests that run at the same time from finding each other.
const alone = config.EnvOverride + `=mode="client";connect/endpoints=["tcp/127.0.0.1:1"]`

// start runs a program of this test binary until the end of the test.
func start(t testing.TB, role string, env []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(self, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role, alone, "DISPLAY=", "WAYLAND_DISPLAY=", "QT_QPA_PLATFORM=", "XDG_RUNTIME_DIR="+runtimeDir(t))
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the state says it
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %s:\n%s%s", role, strings.Join(args, " "), p.out.String(), p.err.String())
		}
	})
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// code waits for the end.
func (p *process) code() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(hung):
		p.t.Fatalf("%s still runs", p.cmd)
	}
	return p.cmd.ProcessState.ExitCode()
}

// ends wants an end with this code.
func (p *process) ends(code int) {
	p.t.Helper()
	if got := p.code(); got != code {
		p.t.Errorf("exit code %d, want %d: %s", got, code, p.err.String())
	}
}

// runtimeDir is a folder whose socket path is short enough.
func runtimeDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "camview-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startCamd serves cameras until the end of the test.
func startCamd(t testing.TB, dir string, env []string, cameras ...string) *process {
	t.Helper()
	args := []string{"run", "--runtime-dir", dir, "--set", "cuda.enabled=false"}
	for _, c := range cameras {
		args = append(args, "--camera", c)
	}
	p := start(t, "camd", env, args...)
	eventually(t, "cameras run", func() (bool, string) {
		if p.ended() {
			t.Fatalf("camd ended: %s", p.err.String())
		}
		daemons, err := client.List(context.Background(), client.WithRuntimeDir(dir))
		if err != nil {
			return false, err.Error()
		}
		running := map[string]bool{}
		for _, d := range daemons {
			for _, s := range d.Streams {
				if s.State == "running" && s.Geometry.Width > 0 {
					running[s.Camera] = true
				}
			}
		}
		return len(running) == len(cameras), fmt.Sprint(running)
	})
	return p
}
