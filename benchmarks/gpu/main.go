// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// roles are what this program does as its own child, on the GPU.
var roles = map[string]func(args []string) error{
	"@environment": environmentRole,
	"@consume":     consumeRole,
	"@upload":      uploadRole,
}

func main() {
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			if err := role(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, "gpu:", err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(run(os.Args[1:]))
}

// steps in their order, with what each may take. Together they stay below the
// budget.
func steps() []step {
	return []step{
		{"abi", 30 * time.Second, abi},
		{"correctness", 100 * time.Second, correctness},
		{"faults", 80 * time.Second, faults},
		{"latency", 190 * time.Second, latency},
		{"upload", 40 * time.Second, upload},
		{"fanout", 90 * time.Second, fanout},
	}
}

// run is the program: exit code 0, 1 when a check failed, 2 for a wrong command
// line, 5 without a GPU.
func run(args []string) int {
	own, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		return 1
	}
	r := &session{id: time.Now().UTC().Format("20060102T150405Z"), own: own}
	fs := flag.NewFlagSet("gpu", flag.ContinueOnError)
	fs.StringVar(&r.programs, "programs", filepath.Dir(own), "`folder` of camd, camsub, reader, baseline and driver.test")
	fs.StringVar(&r.library, "library", "", "the driver's library, a `file` (default the system's); that of the simulated driver tries the check without a GPU")
	fs.StringVar(&r.out, "o", "", "`folder` for the results (default results/gpu-TIME)")
	fs.BoolVar(&r.quick, "quick", false, "few frames and sizes: whether it works, not how fast")
	only := fs.String("only", "", "comma-separated `steps` of abi, correctness, faults, latency, upload, fanout")
	budget := fs.Duration("budget", 10*time.Minute, "time for all of it")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	wanted, err := pick(steps(), *only)
	if err != nil || fs.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "gpu: wrong command line:", err, fs.Args())
		return 2
	}
	if r.out == "" {
		r.out = filepath.Join("results", "gpu-"+r.id)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *budget)
	defer cancel()
	if err := r.open(); err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		return 1
	}
	defer r.close()
	if err := r.environment(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gpu: no GPU can be used:", err)
		return 5
	}
	return r.all(ctx, wanted)
}
