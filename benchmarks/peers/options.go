// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/internal/bench"
)

// Options are what a run is asked to do. They stay the same when it is resumed.
type Options struct {
	Peers   []string      `json:"peers"`
	Sizes   []int         `json:"sizes_bytes"`
	Samples int           `json:"samples"`
	Warmup  int           `json:"warmup"`
	Spacing time.Duration `json:"spacing_ns"`
	Repeats int           `json:"repeats"`
	Seed    uint64        `json:"seed"` // of the order of cells
}

// settings are what one call of the command is asked to do.
type settings struct {
	Options
	Out     string
	Machine string
	Resume  string        // folder of a run that is to go on
	For     time.Duration // no cell begins later; 0 = until all are there
	Note    string        // for meta.json
	Setup   bool          // set up and measure nothing
	List    bool
}

const (
	maxSamples = 100_000
	maxRepeats = 1000
)

const usage = `Usage: benchmarks/peers/run [flags]

Move the same payloads through camd and its peers, and write the times to a new
folder. What a peer needs is put under .cache; one that cannot be set up is left
out, and the reason is kept.

`

// parseSettings reads the command line. Help goes to stdout.
func parseSettings(args []string, stdout io.Writer) (settings, error) {
	s := settings{Options: Options{Sizes: bench.DefaultSizes, Seed: rand.Uint64N(1e6)}}
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	only := f.String("only", "", "comma-separated `peers`; default all")
	sizes := f.String("sizes", "", "comma-separated payloads in `bytes`")
	f.IntVar(&s.Samples, "samples", bench.DefaultSweepSamples, "payloads that are measured in a cell")
	f.IntVar(&s.Warmup, "warmup", bench.DefaultSweepWarmup, "payloads before them")
	f.DurationVar(&s.Spacing, "spacing", bench.DefaultSpacing, "pause between two payloads")
	f.IntVar(&s.Repeats, "repeats", 5, "cells of each peer and payload")
	f.Uint64Var(&s.Seed, "seed", s.Seed, "of the order of cells")
	f.StringVar(&s.Out, "o", "benchmarks/results", "`folder` in which a new one is made")
	f.StringVar(&s.Machine, "machine", "", "what the new folder is called after the date; default: processor and cores")
	f.StringVar(&s.Resume, "resume", "", "go on with the run in this `folder`, with its options")
	f.DurationVar(&s.For, "for", 0, "begin no cell later than this after the first; 0 = no limit")
	f.StringVar(&s.Note, "note", "", "a `remark` for meta.json, on what the machine did besides for example")
	f.BoolVar(&s.Setup, "setup", false, "set up the peers and measure nothing")
	f.BoolVar(&s.List, "list", false, "list the peers")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, usage)
			f.SetOutput(stdout)
			f.PrintDefaults()
		}
		return settings{}, err
	}
	if f.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	var err error
	if *sizes != "" {
		if s.Sizes, err = parseSizes(*sizes); err != nil {
			return settings{}, err
		}
	}
	if s.Peers, err = parsePeers(*only); err != nil {
		return settings{}, err
	}
	return s, s.check()
}

func parseSizes(text string) ([]int, error) {
	var out []int
	for _, t := range strings.Split(text, ",") {
		n, err := strconv.Atoi(t)
		if err != nil || n < stampBytes {
			return nil, fmt.Errorf("-sizes: %q: must be a whole number from %d on", t, stampBytes)
		}
		if _, err := bench.PayloadGeometry(n); err != nil {
			return nil, fmt.Errorf("-sizes: %w", err)
		}
		out = append(out, n)
	}
	return out, nil
}

func parsePeers(text string) ([]string, error) {
	var all []string
	for _, p := range peers {
		all = append(all, p.Name)
	}
	if text == "" {
		return all, nil
	}
	out := strings.Split(text, ",")
	for _, name := range out {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("-only: no peer is called %q: there are %s", name, strings.Join(all, ", "))
		}
	}
	return out, nil
}

func (o Options) check() error {
	for _, v := range []struct {
		name           string
		n, least, most int
	}{
		{"samples", o.Samples, 1, maxSamples},
		{"warmup", o.Warmup, 0, maxSamples},
		{"repeats", o.Repeats, 1, maxRepeats},
		{"spacing", int(o.Spacing.Milliseconds()), 0, int(bench.MaxSpacing.Milliseconds())},
	} {
		if v.n < v.least || v.n > v.most {
			return fmt.Errorf("-%s: must be from %d to %d", v.name, v.least, v.most)
		}
	}
	return nil
}
