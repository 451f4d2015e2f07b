// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command gpu subscribes to a stream for a GPU. Each frame is where its work can
// read it, whichever way it came; the work here is to copy it back, of which the
// checksum is printed:
//
//	go run ./examples/gpu test/color
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/signal"

	"github.com/seed-3c7e7623/camd/client/gpu"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gpu STREAM")
		os.Exit(2)
	}
	if err := read(os.Args[1]); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

func read(name string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	dev, err := gpu.Open() // $CAMD_CUDA_LIBRARY, else the system's driver
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	sub, err := dev.Subscribe(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sub.Close()) }()

	var stream gpu.Stream
	var host []byte
	for f, err := range sub.Frames(ctx) {
		if err != nil {
			return err
		}
		if stream == 0 { // now it is known which GPU has the frames
			if stream, err = dev.NewStream(); err != nil {
				return err
			}
			p := sub.Path()
			fmt.Printf("%s by %s (%s) for %s\n", name, p.Backend, p.Over(name), dev.Name())
		}
		// From here on, work that is queued on stream can read the frame at
		// view.Ptr, rows view.Pitch apart. The frame goes back when stream is
		// past what was queued in this turn of the loop.
		view, err := f.OnDevice(stream)
		if err != nil {
			return err
		}
		if len(host) < view.Bytes {
			host = make([]byte, view.Bytes)
		}
		n, err := f.CopyToHost(host)
		if err != nil {
			return err
		}
		fmt.Printf("frame %d, %v, at %#x, CRC-32 %08x\n", f.Meta().Sequence, view.Geometry, uint64(view.Ptr), crc32.ChecksumIEEE(host[:n]))
	}
	return nil
}
