// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a child in a process group of its own. What it says on standard
// error goes into the log, too.
type process struct {
	cmd      *exec.Cmd
	out, err buffer
	done     chan struct{} // closed when it has ended
	end      error
}

// buffer is what a process writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a program of the session, which ends with ctx.
func (r *session) start(ctx context.Context, program string, args ...string) (*process, error) {
	path := filepath.Join(r.programs, program)
	if program == "" {
		path = r.own
	}
	p := &process{cmd: exec.CommandContext(ctx, path, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	p.cmd.WaitDelay = time.Second
	// The simulated driver's own variables mean nothing to NVIDIA's. The test of
	// the binding breaks rules to see what comes of it: those are not to be counted.
	gpu := filepath.Join(r.tmp, "gpu")
	if program == "driver.test" {
		gpu = r.tmp
	}
	p.cmd.Env = append(os.Environ(), "CAMD_CUDA_LIBRARY="+r.library, "CAMD_RUNTIME_DIR="+filepath.Join(r.tmp, "camd"),
		"CAMD_TEST_LIBCUDA="+r.found, "CUDASIM_DIR="+gpu, "CUDASIM_PAGEABLE=1", "NO_COLOR=1")
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		p.end = p.cmd.Wait()
		fmt.Fprintf(r.log, "--- %s %s: %v\n%s", filepath.Base(path), strings.Join(args, " "), p.end, p.err.String())
	}()
	return p, nil
}

// wait waits for the end; a failure has what the process last said.
func (p *process) wait() error {
	<-p.done
	if p.end == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(p.err.String()), "\n")
	return fmt.Errorf("%s: %w: %s", filepath.Base(p.cmd.Path), p.end, strings.Join(lines[max(0, len(lines)-3):], " | "))
}

func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// stop ends a process and waits for it.
func (p *process) stop() error {
	p.signal(syscall.SIGTERM)
	t := time.NewTimer(10 * time.Second)
	defer t.Stop()
	select {
	case <-p.done:
		return p.end
	case <-t.C:
		p.signal(syscall.SIGKILL)
		<-p.done
		return errors.New(filepath.Base(p.cmd.Path) + " did not end by itself within 10 s")
	}
}

// run runs a program to its end and gives what it printed.
func (r *session) run(ctx context.Context, program string, args ...string) (string, error) {
	p, err := r.start(ctx, program, args...)
	if err != nil {
		return "", err
	}
	err = p.wait()
	return p.out.String(), err
}

// until asks again and again, until ok, the end of ctx, or so long.
func until(ctx context.Context, limit time.Duration, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v", limit)
		case <-tick.C:
		}
	}
	return nil
}
