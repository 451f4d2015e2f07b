// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/bench"
)

// childWord as the first argument makes this program one of the processes that
// are measured.
const childWord = "child"

func main() {
	// Children die with the thread that started them.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) }) // a second Ctrl-C kills, timeout(1) signals twice
	if len(os.Args) == 3 && os.Args[1] == childWord {
		os.Exit(childMain(ctx, os.Args[2]))
	}
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func childMain(ctx context.Context, text string) int {
	runtime.UnlockOSThread()
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (j job) run(ctx context.Context) error {
	if j.Profile != "" {
		f, err := os.Create(j.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	switch j.Role {
	case roleCamd:
		return publishCamd(ctx, j)
	case roleClient:
		return receiveClient(ctx, j)
	case roleSocketPublish:
		return publishSocket(ctx, j)
	case roleSocketReceive:
		return receiveSocket(ctx, j)
	case roleRelay:
		return relay(ctx, j)
	}
	return fmt.Errorf("no role is called %q", j.Role)
}

// command is the program: 0 done or stopped after a clean end, 1 failed, 2 wrong
// command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "cpupath: %v\n", err)
		return 2
	}
	if o.Soak > 0 {
		err = soak(ctx, o, stdout)
	} else {
		err = compare(ctx, o, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "cpupath: %v\n", err)
		return 1
	}
	return 0
}

// compare measures, prints, and writes a new folder below o.Out. When ctx is
// done it keeps what was measured by then.
func compare(ctx context.Context, o Options, stdout, stderr io.Writer) error {
	m := newMeta(o)
	blocks, err := measureAll(ctx, o, stderr)
	m.finish(ctx.Err() != nil)
	if len(blocks) == 0 {
		return errors.Join(err, ctx.Err())
	}
	if perr := printTable(stdout, o, blocks); perr != nil {
		return errors.Join(err, perr)
	}
	folder, ferr := bench.NewFolder(o.Out, "cpupath", m.Started)
	if ferr != nil {
		return errors.Join(err, ferr)
	}
	fmt.Fprintf(stdout, "\nwritten to %s\n", folder.Path)
	return errors.Join(err, write(folder.Path, blocks, m))
}
