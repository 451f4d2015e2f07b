// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"
)

// faults kills and stops readers and the daemon, beside readers that check every
// frame and must not notice.
func faults(ctx context.Context, r *session) error {
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	camera := "test=pattern,1280x720@60,encoding=bgra8"
	d, err := r.camd(ctx, camera)
	if err != nil {
		return err
	}
	steady, err := r.start(ctx, "camsub", "hz", stream, "--require", "cuda", "--verify", "--format", "json")
	if err != nil {
		return errors.Join(err, d.stop())
	}
	took, err := r.killReaders(ctx, d)
	r.check("kill -9 of readers that hold", "leases are back"+r.figure(" after %.1f ms", took), err)
	r.check("SIGSTOP of a reader", "the daemon goes on", r.stopReader(ctx, d))
	steady.signal(syscall.SIGINT)
	s, err := whole(steady)
	r.check("a reader beside them", fmt.Sprintf("%d frames, none torn or stale", s.frames), err)

	d, err = r.killDaemon(ctx, d, camera)
	r.check("kill -9 of the daemon", "Go and C readers find the next one", err)
	if d != nil {
		r.check("the end of the daemon", "", d.stop())
	}
	after, err := r.look(ctx)
	if err == nil && before.Free-after.Free > 32<<20 {
		err = fmt.Errorf("%d bytes of memory of the GPU are missing", before.Free-after.Free)
	}
	r.check("memory of the GPU", "all of it is back", err)
	return nil
}

// killReaders kills two readers that hold frames. It gives how long it took
// until the daemon had everything back, in milliseconds.
func (r *session) killReaders(ctx context.Context, d *camd) (float64, error) {
	others := make(map[int]bool)
	for _, hold := range [][]string{
		{"camsub", "hz", stream, "--require", "cuda", "--hold", "10s"},
		{"reader", stream, "--require", "cuda", "--hold-ms", "10000"},
	} {
		p, err := r.start(ctx, hold[0], hold[1:]...)
		if err != nil {
			return 0, err
		}
		others[p.cmd.Process.Pid] = true
	}
	// left is how many of them are there and, if all is true, hold something.
	left := func(holding bool) int {
		s, err := d.stream(ctx)
		if err != nil {
			return -1
		}
		n := 0
		for _, x := range s.Subscribers {
			if others[x.PID] && (!holding || x.Held > 0) {
				n++
			}
		}
		return n
	}
	if err := until(ctx, 15*time.Second, func() bool { return left(true) == len(others) }); err != nil {
		return 0, fmt.Errorf("readers hold no frames: %w", err)
	}
	began := time.Now()
	for pid := range others {
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
			return 0, err
		}
	}
	err := until(ctx, 5*time.Second, func() bool { return left(false) == 0 })
	took := float64(time.Since(began).Microseconds()) / 1000
	if err == nil && took > 200 && !r.simulated {
		err = fmt.Errorf("leases were back only after %.0f ms", took)
	}
	return took, err
}

// stopReader stops a reader for a while, in which the daemon must go on.
func (r *session) stopReader(ctx context.Context, d *camd) (err error) {
	p, err := r.start(ctx, "reader", stream, "--require", "cuda", "--credit", "4")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	defer p.signal(syscall.SIGCONT)
	there := func() bool {
		s, err := d.stream(ctx)
		if err != nil {
			return false
		}
		for _, x := range s.Subscribers {
			if x.PID == p.cmd.Process.Pid {
				return true
			}
		}
		return false
	}
	if err := until(ctx, 15*time.Second, there); err != nil {
		return fmt.Errorf("the reader is not there: %w", err)
	}
	before, err := d.stream(ctx)
	if err != nil {
		return err
	}
	p.signal(syscall.SIGSTOP)
	want := before.DeviceRing.Frames + 120
	if err := until(ctx, 20*time.Second, func() bool {
		s, err := d.stream(ctx)
		return err == nil && s.DeviceRing.Frames >= want
	}); err != nil {
		return fmt.Errorf("120 further frames on the GPU: %w", err)
	}
	after, err := d.stream(ctx)
	if err == nil && after.DeviceRing.NoSlot > before.DeviceRing.NoSlot {
		err = fmt.Errorf("%d frames found no slot", after.DeviceRing.NoSlot-before.DeviceRing.NoSlot)
	}
	return err
}

// killDaemon kills the daemon under a Go and a C reader, which must go on with
// the next one.
func (r *session) killDaemon(ctx context.Context, d *camd, camera string) (*camd, error) {
	golang, err := r.start(ctx, "camsub", "hz", stream, "--require", "cuda", "--verify", "--format", "json")
	if err != nil {
		return d, err
	}
	c, err := r.start(ctx, "reader", stream, "--require", "cuda", "--verify", "--reconnect", "--timeout-ms", "20000", "--runtime-dir", filepath.Join(r.tmp, "camd"))
	if err != nil {
		return d, err
	}
	both := func(d *camd) func() bool {
		return func() bool {
			s, err := d.stream(ctx)
			return err == nil && len(s.Subscribers) == 2 && s.DeviceRing.Frames > 60
		}
	}
	if err := until(ctx, 15*time.Second, both(d)); err != nil {
		return d, fmt.Errorf("readers do not read: %w", err)
	}
	d.signal(syscall.SIGKILL)
	<-d.done
	if d, err = r.camd(ctx, camera); err != nil {
		return nil, err
	}
	if err := until(ctx, 20*time.Second, both(d)); err != nil {
		err = fmt.Errorf("readers do not come back: %w", err)
		golang.signal(syscall.SIGKILL)
		c.signal(syscall.SIGKILL)
		return d, err
	}
	for _, p := range []*process{golang, c} {
		p.signal(syscall.SIGINT)
		s, failure := whole(p)
		if failure == nil && s.reconnects == 0 {
			failure = fmt.Errorf("%s never came back", filepath.Base(p.cmd.Path))
		}
		err = errors.Join(err, failure)
	}
	return d, err
}
