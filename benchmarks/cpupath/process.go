// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of what takes no time by itself.
const (
	startTime  = 30 * time.Second // until a process is ready
	reportTime = 30 * time.Second // beside the time of the block
	endTime    = 5 * time.Second
)

// process is a child.
type process struct {
	what   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	errors tail
	over   chan struct{}
	err    error
}

// start runs a program with these descriptors from 3 on, which it then owns,
// and waits until it says that it is ready. It dies with this process.
func start(what string, argv []string, files ...*os.File) (_ *process, err error) {
	p := &process{what: what, cmd: exec.Command(argv[0], argv[1:]...), lines: make(chan string, 16), over: make(chan struct{})}
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	p.cmd.ExtraFiles, p.cmd.Stderr = files, &p.errors
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	go func() {
		defer close(p.over)
		defer close(p.lines)
		in := bufio.NewReader(out)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			p.lines <- line
		}
		p.err = p.cmd.Wait()
	}()
	line, err := p.line(startTime)
	if err == nil && !strings.Contains(line, "ready") && !strings.Contains(line, "is up") {
		err = fmt.Errorf("%s says %q", what, line)
	}
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// line is the next one that the process prints.
func (p *process) line(wait time.Duration) (string, error) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case line, ok := <-p.lines:
		if ok {
			return line, nil
		}
		<-p.over
		return "", fmt.Errorf("%s ended: %w: %s", p.what, errors.Join(p.err, io.EOF), p.errors.String())
	case <-t.C:
		return "", fmt.Errorf("%s says nothing for %v: %s", p.what, wait, p.errors.String())
	}
}

// order has a publisher send a block.
func (p *process) order(o order) ([]report, error) {
	if err := json.NewEncoder(p.in).Encode(o); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", p.what, err, p.errors.String())
	}
	line, err := p.line(time.Duration(o.Nanos) + reportTime)
	if err != nil {
		return nil, err
	}
	var r []report
	if err := json.Unmarshal([]byte(line), &r); err != nil || len(r) == 0 {
		return nil, fmt.Errorf("%s reports %.100q: %w", p.what, line, err)
	}
	return r, nil
}

// cpu is the processor time that the process has used, in nanoseconds: its CPU
// clock, as clock_getcpuclockid(3) numbers it.
func (p *process) cpu() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(^int32(p.cmd.Process.Pid)<<3|2, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	for range p.lines {
	}
	<-p.over
}

// end ends the process, with force if need be.
func (p *process) end() {
	_ = p.in.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	t := time.AfterFunc(endTime, func() { _ = p.cmd.Process.Kill() })
	defer t.Stop()
	for range p.lines {
	}
	<-p.over
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 800

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
