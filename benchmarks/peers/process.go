// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds of what takes no time by itself.
const (
	startTime = 15 * time.Second // until a publisher can be reached
	endTime   = 10 * time.Second // until a publisher has ended after the subscriber
	termTime  = 2 * time.Second  // until a program has ended that was told to
)

// process is a program of a cell, with everything that it starts.
type process struct {
	what   string
	cmd    *exec.Cmd
	errors tail
	out    *bufio.Reader
	over   chan struct{}
	err    error
}

// start starts a program. It dies with this process.
func start(what string, argv, env []string, dir string) (*process, error) {
	p := &process{what: what, cmd: exec.Command(argv[0], argv[1:]...), over: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, append(os.Environ(), env...), &p.errors
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = time.Second // for what a killed program left behind with its pipes
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = w
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", what, err), r.Close(), w.Close())
	}
	_ = w.Close()
	p.out = bufio.NewReader(r)
	go func() {
		defer close(p.over)
		p.err = p.cmd.Wait()
		_ = r.Close()
	}()
	return p, nil
}

// ready waits for the line that a publisher prints.
func (p *process) ready(ctx context.Context) error {
	kill := time.AfterFunc(startTime, p.kill)
	defer kill.Stop()
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	for {
		line, err := p.out.ReadString('\n')
		if strings.TrimSpace(line) == "ready" {
			p.drain()
			return nil
		}
		if err != nil {
			p.kill()
			<-p.over
			return p.failure("could not be reached")
		}
	}
}

// wait waits until the program has ended by itself, at most d. After that it is
// told to end, and then killed.
func (p *process) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.over:
		if p.err != nil {
			return p.failure("failed")
		}
		return nil
	case <-t.C:
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(termTime, p.kill)
		<-p.over
		kill.Stop()
		if p.err == nil {
			return nil
		}
		return p.failure(fmt.Sprintf("did not end within %v", d))
	case <-ctx.Done():
		p.kill()
		<-p.over
		return ctx.Err()
	}
}

func (p *process) failure(how string) error {
	text := p.errors.String()
	if p.err != nil {
		text = p.err.Error() + ": " + text
	}
	return fmt.Errorf("%s %s: %s", p.what, how, strings.TrimRight(text, ": \n"))
}

// kill ends the program and all that it started.
func (p *process) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// end kills what is left over.
func (p *process) end() {
	p.kill()
	<-p.over
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 600

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if cut := len(t.text) - tailBytes; cut > 0 {
		t.text = append(t.text[:0], t.text[cut:]...)
	}
	return len(b), nil
}

// String is what was kept, on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.Join(bytes.Fields(t.text), []byte(" ")))
}

// drain lets a program print what it wants.
func (p *process) drain() {
	go func() { _, _ = io.Copy(io.Discard, p.out) }() // ends with the process
}
