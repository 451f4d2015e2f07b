// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command barcodes checks what camsub bench says by other means: it reads the
// barcodes that the test pattern draws into its frames, which hold the frame's
// number and its capture time, and asks the kernel for the time itself. No stamp
// that travels beside the pixels is used.
//
//	barcodes [-frames N] [-warmup N] STREAM > frames.csv
//
// The columns are number, capture_us (CLOCK_MONOTONIC, as drawn) and usable_ns
// (CLOCK_MONOTONIC, after the frame was handed over). Rows are written at the
// end.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "barcodes: %v\n", err)
		os.Exit(1)
	}
}

// reading is a frame as its pixels tell it.
type reading struct {
	number        uint32
	captureMicros uint64
	usableNanos   int64
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("barcodes", flag.ContinueOnError)
	frames := flags.Int("frames", 300, "frames to read")
	warmup := flags.Int("warmup", 30, "frames to take before that")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *frames < 1 || *warmup < 0 {
		return fmt.Errorf("want one stream and positive numbers, not %q", args)
	}
	readings, err := read(ctx, flags.Arg(0), *warmup, *frames)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "number,capture_us,usable_ns")
	for _, r := range readings {
		fmt.Fprintf(w, "%d,%d,%d\n", r.number, r.captureMicros, r.usableNanos)
	}
	return w.Flush()
}

// read takes frames until it has enough, or ctx is done.
func read(ctx context.Context, stream string, warmup, frames int) ([]reading, error) {
	sub, err := client.Subscribe(ctx, stream)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	readings := make([]reading, 0, frames)
	for n := 0; len(readings) < frames; n++ {
		f, err := sub.Next(ctx)
		usable := now()
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return nil, err
		}
		if n < warmup {
			f.Release()
			continue
		}
		info, err := pattern.Decode(f.Geometry(), f.Data())
		f.Release()
		if err != nil {
			return nil, err
		}
		if !info.HasTop || !info.HasBottom || info.Top != info.Bottom {
			return nil, fmt.Errorf("frame without two barcodes that agree: %+v", info)
		}
		readings = append(readings, reading{info.Top.Counter, info.Top.CaptureMicros, usable})
	}
	return readings, nil
}

func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}
