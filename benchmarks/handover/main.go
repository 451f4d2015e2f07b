// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if os.Getenv(readerVariable) != "" {
		os.Exit(readerMain())
	}
	// What lives here is small; a collection in the middle of a block would be
	// measured. It is done between blocks instead.
	debug.SetGCPercent(-1)
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) }) // a second Ctrl-C kills, timeout(1) signals twice
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command is the program: 0 done or stopped after a clean end, 1 failed, 2
// wrong command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "handover: %v\n", err)
		return 2
	}
	if err := benchmark(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "handover: %v\n", err)
		return 1
	}
	return 0
}

// benchmark measures, prints, and writes a new folder below o.Out. When ctx is
// done it keeps what was measured by then.
func benchmark(ctx context.Context, o Options, stdout, stderr io.Writer) error {
	meta := newMeta(o)
	r := &results{}
	measured := measureAll(ctx, o, r, newProgress(o, stderr))
	meta.finish(ctx.Err() != nil, r.skipped)
	if len(r.cells) == 0 {
		if measured == nil {
			measured = errors.New("stopped before anything was measured")
		}
		return measured
	}
	if err := printTables(stdout, o, r, meta); err != nil {
		return errors.Join(measured, err)
	}
	dir, err := writeResults(o.Out, r, meta)
	if err != nil {
		return errors.Join(measured, err)
	}
	fmt.Fprintf(stdout, "\nwritten to %s\n", dir)
	return measured
}
