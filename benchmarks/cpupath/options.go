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
	"strings"
	"time"
)

// Options are what a run is asked to do.
type Options struct {
	Out      string        `json:"-"`
	Python   string        `json:"-"`
	Deploy   string        `json:"-"` // folder of router.py and router.json5
	Profiles string        `json:"-"`
	Router   []string      `json:"router,omitempty"` // settings above those of router.json5
	Sides    []string      `json:"sides"`
	Size     int           `json:"size_bytes"`
	Rate     float64       `json:"rate_hz"`
	Window   int           `json:"window"` // frames on their way, back to back
	Duration time.Duration `json:"duration_ns"`
	Repeats  int           `json:"repeats"`
	Seed     uint64        `json:"seed"`
	Soak     time.Duration `json:"soak_ns,omitempty"`
	Cameras  int           `json:"cameras,omitempty"` // of the soak
	Stopped  bool          `json:"stopped,omitempty"`
	Peer     bool          `json:"peer,omitempty"`
}

const maxCameras = 16

// parseOptions reads the command line. Help goes to stdout.
func parseOptions(args []string, stdout io.Writer) (Options, error) {
	o := Options{Size: 1920 * 1080 * 3}
	var names []string
	for _, s := range sides {
		names = append(names, s.Name)
	}
	f := flag.NewFlagSet("cpupath", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.Out, "o", "results", "`folder` in which a new one is made for the results")
	f.StringVar(&o.Python, "python", "python3", "`interpreter` that has eclipse-zenoh, for the router and its peers")
	f.StringVar(&o.Deploy, "deploy", "deploy/zenoh", "`folder` of router.py and router.json5")
	f.Func("router", "a setting of the router, `key=value`; may be given again", func(s string) error {
		o.Router = append(o.Router, s)
		return nil
	})
	only := f.String("sides", strings.Join(names, ","), "what to measure")
	f.IntVar(&o.Size, "size", o.Size, "`bytes` of a frame: of rgb8 in 1920x1080, 1280x720, 640x480 or 160x120")
	f.Float64Var(&o.Rate, "rate", 30, "frames per second of paced blocks and of -soak")
	f.IntVar(&o.Window, "window", 2, "frames that may be on their way, back to back")
	f.DurationVar(&o.Duration, "duration", 2*time.Second, "of each block")
	f.IntVar(&o.Repeats, "repeats", 4, "blocks of each kind and side")
	f.Uint64Var(&o.Seed, "seed", rand.Uint64N(1e6), "of the order of blocks")
	f.DurationVar(&o.Soak, "soak", 0, "count for so long what is missed, in place of the comparison")
	f.IntVar(&o.Cameras, "cameras", 1, "number of cameras of -soak")
	f.BoolVar(&o.Peer, "peer", false, "-soak with camd and subscribers as peers, not clients of the router")
	f.BoolVar(&o.Stopped, "stopped", false, "-soak with one more subscriber over Zenoh that stands still")
	f.StringVar(&o.Profiles, "profiles", "", "`folder` for CPU profiles of the processes of -soak")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stdout, "Usage: cpupath [flags]")
			f.SetOutput(stdout)
			f.PrintDefaults()
		}
		return o, err
	}
	o.Sides = strings.Split(*only, ",")
	for _, s := range o.Sides {
		if !slices.Contains(names, s) {
			return o, fmt.Errorf("-sides: no side is called %q: there are %s", s, strings.Join(names, ", "))
		}
	}
	_, err := rgb8(o.Size)
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case err != nil:
		return o, fmt.Errorf("-size: %w", err)
	case o.Rate <= 0 || o.Rate > 1000:
		return o, fmt.Errorf("-rate %v: must be above 0, at most 1000", o.Rate)
	case o.Window < 1 || o.Window > 64:
		return o, fmt.Errorf("-window %d: must be from 1 to 64", o.Window)
	case o.Duration <= 0 || o.Repeats < 1 || o.Soak < 0:
		return o, errors.New("-duration, -repeats: must be above 0")
	case o.Cameras < 1 || o.Cameras > maxCameras:
		return o, fmt.Errorf("-cameras %d: must be from 1 to %d", o.Cameras, maxCameras)
	}
	return o, nil
}
