// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Bounds of what a process of a sweep may take for things that take no time.
const (
	childStart = 20 * time.Second
	childEnd   = 10 * time.Second
)

// errChild: a process of the sweep ended without an answer.
var errChild = errors.New("a process of the sweep ended")

// child is a process that serves a part.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (s *Sweep) start(p part, files []*os.File) (*child, error) {
	order, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(s.Program[0], s.Program[1:]...)}
	c.cmd.ExtraFiles, c.cmd.Stderr = files, s.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process of the sweep: %w", err)
	}
	if _, err := c.in.Write(append(order, '\n')); err != nil {
		c.stop()
		return nil, fmt.Errorf("%w: %w", errChild, err)
	}
	return c, nil
}

// within kills the process if what follows takes longer than d after ctx is
// done, or altogether, as the caller says.
func (c *child) within(d time.Duration) (done func()) {
	t := time.AfterFunc(d, func() { _ = c.cmd.Process.Kill() })
	return func() { t.Stop() }
}

// hello waits until a publisher can be reached.
func (c *child) hello(ctx context.Context) (hello, error) {
	defer c.within(childStart)()
	stop := context.AfterFunc(ctx, func() { _ = c.in.Close() })
	defer stop()
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return hello{}, fmt.Errorf("%w before it published: %w", errChild, err)
	}
	var h hello
	if err := json.Unmarshal(line, &h); err != nil {
		return hello{}, fmt.Errorf("%w: %w", errChild, err)
	}
	if h.Error != "" {
		return hello{}, errors.New(h.Error)
	}
	return h, nil
}

// answer waits for the result of a consumer. When ctx is done it has the
// consumer end, whose result is then what it has.
func (c *child) answer(ctx context.Context) (*Result, error) {
	stop := context.AfterFunc(ctx, func() {
		_ = c.in.Close()
		time.AfterFunc(childEnd, func() { _ = c.cmd.Process.Kill() }) // of no effect once it has been waited for
	})
	defer stop()
	var a answer
	if err := gob.NewDecoder(c.out).Decode(&a); err != nil {
		return nil, fmt.Errorf("%w before it had a result: %w", errChild, err)
	}
	if a.Error != "" && len(a.Result.Samples) == 0 {
		return nil, errors.New(a.Error)
	}
	if a.Error != "" {
		a.Result.Problems = append(a.Result.Problems, a.Error)
	}
	return a.Result, nil
}

// stop ends the process and waits for it.
func (c *child) stop() {
	_ = c.in.Close()
	defer c.within(childEnd)()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.cmd.Wait() // what it had to say it has said
}
