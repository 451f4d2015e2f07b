// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package serve runs camd inside a program that brings sources of its own, of
// package go4vl or any other [capture.Source]: the same socket, memory, network
// and settings as the command camd, which subscribers cannot tell apart.
package serve

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/kinds"
	"github.com/seed-3c7e7623/camd/internal/config"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Camera is a source under the name by which subscribers know it: camera "front"
// has the stream "front/color".
type Camera struct {
	Name   string // [a-z0-9_-]+
	Source capture.Source
	// Options are those keys of a camera in camd.yaml that are not of its kind:
	// max_subscribers, credit, required, frame_id, topic and so on.
	Options map[string]string
}

// Settings of a daemon. The zero value has those of camd without a file.
type Settings struct {
	// Dir is the directory of the socket; "" = as the settings say, else the
	// usual one.
	Dir string
	// File is a configuration of camd (camd.yaml), "" = none. Its cameras are
	// served as well. Variables named CAMD_ count as for camd, but for log.level
	// and log.format: Log is the program's.
	File string
	// Set are further settings, "key=value" as after camd run --set.
	Set []string
	// Version of the program, for log and status.
	Version string
	Log     *slog.Logger // nil = slog.Default()
	// Ready, if set, is called once subscribers can connect.
	Ready func(dir string)
}

// kind is what such a camera is called among those of camd's own kinds.
const kind = "program"

// Run serves cameras until ctx is done, or until none of them can deliver any
// more. It returns nil after a clean end and after the end of every recording,
// else the error of a camera that failed for good, the only one first of all:
// [capture.ErrFormatRefused], [capture.ErrUnsupported] and so on. A single camera
// that is missing at the start is [capture.ErrDeviceNotFound]. Settings and
// options that make no sense are [capture.ErrConfig], or an error that names the
// place in the file.
//
// A source that does not end within a second after ctx is left behind, with the
// memory that it may still write into. One that panics ends the program.
func Run(ctx context.Context, s Settings, cameras ...Camera) error {
	in := config.Input{Environ: os.Environ(), Set: s.Set}
	if err := in.ReadFile(ctx, s.File); err != nil {
		return err
	}
	cfg, err := config.Load(in)
	if err != nil {
		return err
	}
	if err := cfg.CheckFiles(); err != nil {
		return err
	}
	log := s.Log
	if log == nil {
		log = slog.Default()
	}
	for _, w := range cfg.Warnings {
		log.Warn("configuration", "place", w.Where.String(), "err", w.Text)
	}
	own := make(map[string]capture.Source)
	specs := cfg.Cameras
	for _, c := range cameras {
		if err := capture.CheckName(c.Name); err != nil {
			return fmt.Errorf("%w: %w", capture.ErrConfig, err)
		}
		if c.Source == nil {
			return fmt.Errorf("%w: camera %s has no source", capture.ErrConfig, c.Name)
		}
		own[c.Name] = c.Source
		specs = append(specs, capture.Spec{Name: c.Name, Kind: kind, Options: maps.Clone(c.Options)})
	}
	if len(specs) == 0 {
		return fmt.Errorf("%w: there is no camera to serve", capture.ErrConfig)
	}
	dir := s.Dir
	if dir == "" {
		dir = string(cfg.RuntimeDir)
	}
	if dir, err = negotiate.DaemonDir(dir); err != nil {
		return err
	}
	network, err := cfg.Network()
	if err != nil {
		return err
	}
	d := &daemon.Daemon{
		Dir: dir, Cameras: specs, Network: network, GPU: cfg.CUDA.Daemon(), Log: log, Ready: s.Ready, Version: s.Version,
		Policy: negotiate.Policy{AllowUIDs: cfg.AllowUIDs, Group: negotiate.DefaultGroup},
		Sources: func(spec capture.Spec) (capture.Source, error) {
			if spec.Kind != kind {
				return kinds.New(spec)
			}
			// What is left here the daemon did not know.
			if err := capture.NewOptions(spec).Err(); err != nil {
				return nil, fmt.Errorf("camera %s: %w", spec.Name, err)
			}
			return own[spec.Name], nil
		},
	}
	return d.Run(ctx)
}
