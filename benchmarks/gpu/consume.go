// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// consumer has the GPU read every frame whole, by a copy within its memory, as
// the baseline does, and waits for it in the same way.
type consumer struct {
	thread  *driver.Thread
	stream  gpu.Stream
	event   driver.Event
	scratch gpu.Ptr
	room    int
	number  []byte // pinned: the first bytes of a frame
	view    gpu.View

	copy, fetch func() error
}

// consumeRole reads frames by one backend and prints lines as the baseline's.
func consumeRole(args []string) (err error) {
	fs := flag.NewFlagSet("consume", flag.ContinueOnError)
	backend := fs.String("backend", "cuda", "")
	frames := fs.Int("frames", 300, "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dev, err := gpu.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	sub, err := dev.Subscribe(ctx, stream, client.WithAccept(negotiate.Backend(*backend)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sub.Close()) }()
	c := new(consumer)
	if c.stream, err = dev.NewStream(); err != nil {
		return err
	}
	if err := dev.Do(c.open); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.thread.Do(c.close)) }()

	w := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(w, "sequence,ready,publish,held,consumed")
	for range *frames {
		f, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		m, held := f.Meta(), f.HeldNanos()
		if c.view, err = f.OnDevice(c.stream); err != nil {
			return err
		}
		if err := c.thread.Do(c.copy); err != nil {
			return err
		}
		consumed := linux.Monotonic()
		if err := c.thread.Do(c.fetch); err != nil {
			return err
		}
		if n := binary.LittleEndian.Uint64(c.number); n != m.DriverSequence {
			return fmt.Errorf("frame %d has the number %d", m.DriverSequence, n)
		}
		if err := f.Release(); err != nil {
			return err
		}
		fmt.Fprintf(w, "%d,%d,%d,%d,%d\n", m.Sequence, m.ReadyNanos, m.PublishNanos, held, consumed)
	}
	return w.Flush()
}

// spin is how long the end of work is waited for awake: longer than it takes.
const spin = time.Second

func (c *consumer) open(t *driver.Thread) (err error) {
	c.thread = t
	c.copy, c.fetch = c.copyFrame, c.fetchNumber
	if c.number, err = t.HostAlloc(8); err != nil {
		return err
	}
	c.event, err = t.NewEvent()
	return err
}

func (c *consumer) close() error {
	err := errors.Join(c.thread.HostFree(c.number), c.thread.DestroyEvent(c.event))
	if c.scratch != 0 {
		err = errors.Join(err, c.thread.Free(c.scratch))
	}
	return err
}

func (c *consumer) finish() error {
	if err := c.thread.Record(c.event, c.stream); err != nil {
		return err
	}
	return c.thread.Wait(c.event, spin)
}

func (c *consumer) copyFrame() (err error) {
	if c.room < c.view.Bytes {
		if c.scratch != 0 {
			return errors.New("the format changed")
		}
		if c.scratch, err = c.thread.Alloc(int64(c.view.Bytes)); err != nil {
			return err
		}
		c.room = c.view.Bytes
	}
	if err := c.thread.DtoD(c.scratch, c.view.Ptr, int64(c.view.Bytes), c.stream); err != nil {
		return err
	}
	return c.finish()
}

func (c *consumer) fetchNumber() error {
	if err := c.thread.DtoH(c.number, c.scratch, c.stream); err != nil {
		return err
	}
	return c.finish()
}
