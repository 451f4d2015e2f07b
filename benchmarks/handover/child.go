// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

// replyTimeout bounds a reader's answer to what takes no time by itself.
const replyTimeout = 20 * time.Second

// child is the writer's end of a reader process.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	memory  *linux.Memory
	samples []int64
	pipe    int // write end of the floor's wake-up pipe
	dead    *atomic.Bool
	// subscribed: it may have a subscription.
	subscribed bool
}

// startChild runs this program once more as a reader. dead is set when any
// reader ends.
func startChild(shared *linux.Memory, dead *atomic.Bool, stderr io.Writer) (_ *child, err error) {
	c := &child{pipe: -1, dead: dead}
	defer func() {
		if err != nil {
			c.free()
		}
	}()
	if c.memory, err = newShared("handover-samples", sampleBytes); err != nil {
		return nil, err
	}
	c.samples = samplesIn(c.memory.Data)
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("wake-up pipe: %w", err)
	}
	c.pipe = p[1]
	files := []*os.File{nil, nil, os.NewFile(uintptr(p[0]), "wake-up pipe")}
	defer func() {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	for i, fd := range []int{shared.FD, c.memory.FD} {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("duplicating a descriptor: %w", err)
		}
		files[i] = os.NewFile(uintptr(n), "memory")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c.cmd = exec.Command(self)
	c.cmd.Env = append(os.Environ(), readerVariable+"=1")
	c.cmd.ExtraFiles = files
	c.cmd.Stderr = stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a reader: %w", err)
	}
	return c, nil
}

// order sends a line and waits for the first answer.
func (c *child) order(o order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("reader %d: %w", c.cmd.Process.Pid, err)
	}
	_, err = c.report(replyTimeout)
	return err
}

var errReaderGone = errors.New("reader ended")

// report waits for a line.
func (c *child) report(timeout time.Duration) (report, error) {
	kill := time.AfterFunc(timeout, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	if !c.out.Scan() {
		c.dead.Store(true)
		return report{}, fmt.Errorf("%w: process %d said nothing more within %v", errReaderGone, c.cmd.Process.Pid, timeout)
	}
	var r report
	if err := json.Unmarshal(c.out.Bytes(), &r); err != nil {
		return report{}, fmt.Errorf("reader %d: %w", c.cmd.Process.Pid, err)
	}
	if r.Err != "" {
		c.dead.Store(true)
		return report{}, fmt.Errorf("reader %d: %s", c.cmd.Process.Pid, r.Err)
	}
	return r, nil
}

// stop ends the process and waits for it.
func (c *child) stop() error {
	_ = c.in.Close()
	kill := time.AfterFunc(5*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	err := c.cmd.Wait()
	c.free()
	return err
}

func (c *child) free() {
	if c.memory != nil {
		_ = c.memory.Close()
	}
	if c.pipe >= 0 {
		_ = unix.Close(c.pipe)
		c.pipe = -1
	}
}
