// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command example inverts the pictures of a stream on the GPU with a kernel of its
// own, through gorgonia.org/cu, and reads the result back:
//
//	example [-n FRAMES] [-o FILE] STREAM
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"unsafe"

	"gorgonia.org/cu"

	cuframe "github.com/seed-3c7e7623/camd/adapters/cu"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
)

//go:embed invert.ptx
var ptx string

func main() {
	frames := flag.Int("n", 0, "end after so many `frames`; 0: with Ctrl-C")
	file := flag.String("o", "", "write the last inverted picture to this `file`, as bare bytes")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *frames, *file); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run(stream string, frames int, file string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	dev, err := gpu.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	sub, err := dev.Subscribe(ctx, stream)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sub.Close()) }()
	in := &inverter{dev: dev}
	defer func() { err = errors.Join(err, in.close()) }()

	done := 0
	var picture []byte
	for f, err := range sub.Frames(ctx) {
		if err != nil {
			return err
		}
		if in.c == nil { // now it is known which GPU has the frames
			if err := in.open(); err != nil {
				return err
			}
			fmt.Printf("%s by %s for %s\n", stream, sub.Path().Backend, dev.Name())
		}
		if picture, err = in.invert(f); err != nil {
			return err
		}
		fmt.Printf("frame %d, %v: the first byte is %d now\n", f.Meta().Sequence, f.Geometry(), picture[0])
		if done++; done == frames {
			break
		}
	}
	if file == "" {
		return nil
	}
	return os.WriteFile(file, picture, 0o644)
}

// inverter has what the work takes on the GPU.
type inverter struct {
	dev    *gpu.Device
	c      *cuframe.Context
	module cu.Module
	kernel cu.Function
	stream cu.Stream
	out    cu.DevicePtr
	host   []byte // page-locked, so that the copy to it is asynchronous
}

func (in *inverter) open() (err error) {
	if in.c, err = cuframe.Open(in.dev); err != nil {
		return err
	}
	// Calls of cu are made where the context is current.
	return in.c.Do(func() (err error) {
		if in.module, err = cu.LoadData(ptx); err != nil {
			return fmt.Errorf("loading the kernel: %w", err)
		}
		if in.kernel, err = in.module.Function("invert"); err != nil {
			return err
		}
		in.stream, err = cu.MakeStream(cu.NonBlocking)
		return err
	})
}

// invert returns the inverted bytes of a frame, good until the next call.
func (in *inverter) invert(f gpu.Frame) ([]byte, error) {
	frame, err := in.c.OnDevice(f, in.stream)
	if err != nil {
		return nil, err
	}
	src, err := frame.Ptr()
	if err != nil {
		return nil, err
	}
	if err := in.room(frame.Bytes()); err != nil {
		return nil, err
	}
	// All planes and what is between rows: the frame as one row.
	n, rows := uint64(frame.Bytes()), uint64(1)
	pitch := n
	const block = 256
	err = in.c.Do(func() error {
		// cu takes eight bytes for each argument, whatever the kernel's is.
		args := []unsafe.Pointer{unsafe.Pointer(&src), unsafe.Pointer(&pitch), unsafe.Pointer(&in.out), unsafe.Pointer(&n), unsafe.Pointer(&rows)}
		if err := in.kernel.Launch(int((n+block-1)/block), 1, 1, block, 1, 1, 0, in.stream, args); err != nil {
			return err
		}
		return cu.MemcpyDtoHAsync(unsafe.Pointer(&in.host[0]), in.out, int64(n), in.stream)
	})
	if err != nil {
		return nil, err
	}
	// The frame goes back when the stream is past the kernel, without a wait; the
	// result is waited for.
	if err := errors.Join(frame.Release(), in.c.Do(in.stream.Synchronize)); err != nil {
		return nil, err
	}
	return in.host[:n], nil
}

// room makes the buffers large enough.
func (in *inverter) room(n int) error {
	if n <= len(in.host) {
		return nil
	}
	if err := in.free(); err != nil {
		return err
	}
	err := in.c.Do(func() (err error) {
		in.out, err = cu.MemAlloc(int64(n))
		return err
	})
	if err != nil {
		return err
	}
	// cu has no call for page-locked memory.
	return in.dev.Do(func(t *driver.Thread) (err error) {
		in.host, err = t.HostAlloc(n)
		return err
	})
}

func (in *inverter) free() error {
	var errs []error
	if in.host != nil {
		errs = append(errs, in.dev.Do(func(t *driver.Thread) error { return t.HostFree(in.host) }))
	}
	if in.out != 0 {
		errs = append(errs, in.c.Do(func() error { return cu.MemFree(in.out) }))
	}
	in.host, in.out = nil, 0
	return errors.Join(errs...)
}

func (in *inverter) close() error {
	if in.c == nil {
		return nil
	}
	return errors.Join(in.free(), in.c.Do(func() error {
		var errs []error
		if in.stream != cu.NoStream {
			errs = append(errs, in.stream.Destroy())
		}
		if in.module != (cu.Module{}) {
			errs = append(errs, in.module.Unload())
		}
		return errors.Join(errs...)
	}), in.c.Close())
}
