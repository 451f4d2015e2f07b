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

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Options are what a run is asked to do. Rates are in frames per second; 0 is
// back to back: the next frame when the reader acknowledged the previous.
type Options struct {
	Out      string               `json:"-"`
	Quick    bool                 `json:"quick"`
	Sizes    []int                `json:"sizes_bytes"`
	Rates    []float64            `json:"rates_hz"`
	Wakes    []negotiate.WakeKind `json:"wakes"`
	Readers  []int                `json:"readers"` // of the fan-out
	Duration time.Duration        `json:"duration_ns"`
	Repeats  int                  `json:"repeats"`
	Seed     uint64               `json:"seed"`
	// MinFrames is the least that a paced block has, however short.
	MinFrames int `json:"min_frames_per_block"`
}

const (
	fanoutRate = 60
	fanoutSize = 4000 // bytes: what readers do not read costs nothing after "ready"
	maxReaders = 16
	// maxFrames is how many frames a block can have; a longer one ends early.
	maxFrames = 1 << 18
)

// full and quick are the two sets of defaults.
var (
	full = Options{
		Sizes: []int{8, 64, 512, 4000, 40_000, 400_000, 4_000_000, 40_000_000},
		Rates: []float64{30, 60, 1000, 0}, Readers: []int{1, 2, 4, 8},
		Duration: 3 * time.Second, Repeats: 5, MinFrames: 20,
	}
	quick = Options{
		Quick: true,
		Sizes: []int{8, 4000, 4_000_000},
		Rates: []float64{60, 1000, 0}, Readers: []int{1, 8},
		Duration: 600 * time.Millisecond, Repeats: 3, MinFrames: 8,
	}
)

// parseOptions reads the command line. Help goes to stdout.
func parseOptions(args []string, stdout io.Writer) (Options, error) {
	o := full
	for _, a := range args {
		if a == "-quick" || a == "--quick" || a == "-quick=true" || a == "--quick=true" {
			o = quick
		}
	}
	o.Wakes = []negotiate.WakeKind{negotiate.WakeFutex, negotiate.WakePipe}
	fs := flag.NewFlagSet("handover", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.Out, "o", "results", "folder in which a new one is made for the results")
	fs.BoolVar(&o.Quick, "quick", o.Quick, "a run of about 20 s, to see that it works")
	fs.Func("sizes", "payloads in bytes (default "+join(o.Sizes, sizeFlag)+")", listInto(&o.Sizes, parseSize))
	fs.Func("rates", "frames per second, b2b = back to back (default "+join(o.Rates, rateFlag)+")", listInto(&o.Rates, parseRate))
	fs.Func("wake", "kinds of wake-up (default futex,pipe)", listInto(&o.Wakes, parseWake))
	fs.Func("readers", "numbers of readers in the fan-out, none = leave it out (default "+join(o.Readers, strconv.Itoa)+")", func(s string) error {
		if s == "none" {
			o.Readers = nil
			return nil
		}
		return listInto(&o.Readers, parseReaders)(s)
	})
	fs.DurationVar(&o.Duration, "duration", o.Duration, "time for each cell (one size, rate and wake-up), both sides and all repeats together")
	fs.IntVar(&o.Repeats, "repeats", o.Repeats, "pairs of blocks in each cell")
	fs.Uint64Var(&o.Seed, "seed", 0, "of the order of blocks; 0 = a new one")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, "usage: handover [flags]\n\nMeasures the hand-over of frames beside a bare wake-up.\n\n")
			fs.SetOutput(stdout)
			fs.PrintDefaults()
		}
		return Options{}, err
	}
	if fs.NArg() > 0 {
		return Options{}, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.Repeats < 1 || o.Duration <= 0 {
		return Options{}, fmt.Errorf("%d repeats in %v: both must be positive", o.Repeats, o.Duration)
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64N(1<<32) + 1
	}
	return o, nil
}

// block is how long one block of a cell takes, before MinFrames.
func (o Options) block() time.Duration { return o.Duration / time.Duration(2*o.Repeats) }

// listInto parses a comma-separated list without repetitions.
func listInto[T comparable](to *[]T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		var out []T
		for _, part := range strings.Split(text, ",") {
			v, err := parse(strings.TrimSpace(part))
			if err != nil {
				return err
			}
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
		*to = out
		return nil
	}
}

func parseSize(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("payload %q: want a number of bytes", s)
	}
	_, err = geometryOf(n)
	return n, err
}

// geometryOf lays out a frame of exactly size bytes: mono8, as wide as
// divides it, up to 8000 pixels.
func geometryOf(size int) (frame.Geometry, error) {
	for w := min(size, 8000); w > 0; w-- {
		if size%w == 0 && size/w <= frame.MaxSide {
			return frame.NewGeometry(frame.Mono8, w, size/w)
		}
	}
	return frame.Geometry{}, fmt.Errorf("no picture has a payload of %d bytes", size)
}

const backToBack = "b2b"

func parseRate(s string) (float64, error) {
	if s == backToBack {
		return 0, nil
	}
	r, err := strconv.ParseFloat(s, 64)
	if err != nil || !(r >= 1 && r <= 20_000) {
		return 0, fmt.Errorf("rate %q: want 1 to 20000, or %s", s, backToBack)
	}
	return r, nil
}

func parseWake(s string) (negotiate.WakeKind, error) {
	switch k := negotiate.WakeKind(s); k {
	case negotiate.WakeFutex, negotiate.WakePipe:
		return k, nil
	}
	return "", fmt.Errorf("wake-up %q: want futex or pipe", s)
}

func parseReaders(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxReaders {
		return 0, fmt.Errorf("readers %q: want 1 to %d", s, maxReaders)
	}
	return n, nil
}

func join[T any](list []T, text func(T) string) string {
	parts := make([]string, 0, len(list))
	for _, v := range list {
		parts = append(parts, text(v))
	}
	return strings.Join(parts, ",")
}

func sizeFlag(n int) string { return strconv.Itoa(n) }

func rateFlag(r float64) string {
	if r == 0 {
		return backToBack
	}
	return strconv.FormatFloat(r, 'g', -1, 64)
}
