// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/client"
	clientgpu "github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

const (
	sweepCamera = "sweep"
	sweepStream = "data"
	// SweepStream is the stream of a sweep's publisher.
	SweepStream = sweepCamera + "/" + sweepStream
	// sweepDomain keeps the payloads out of the way of the robot's own topics.
	sweepDomain = 213
)

// payloadSource is a camera that fills and publishes a payload, pauses, and
// does so again. It implements capture.Source.
type payloadSource struct {
	geometry frame.Geometry
	spacing  time.Duration // from the end of a hand-over to the begin of the next filling
	filler   *filler
}

// Describe implements capture.Source.
func (s *payloadSource) Describe() string { return "sweep" }

// Run implements capture.Source.
func (s *payloadSource) Run(ctx context.Context, sink capture.Sink) error {
	// A long interval keeps the supervisor from taking pauses for stalls.
	w, err := sink.Open(sweepStream, capture.Format{
		Geometry: s.geometry, Clock: frame.ClockMonotonic, Interval: time.Hour, Held: 1,
	})
	if err != nil {
		return err
	}
	for number := uint64(1); ; number++ {
		slot, err := w.Acquire()
		switch {
		case errors.Is(err, capture.ErrNoSlot):
			w.Drop(1, capture.DropNoSlot)
		case err != nil:
			return err
		default:
			at := linux.Monotonic()
			s.filler.fill(slot.Data)
			w.Commit(slot, capture.Stamp{DriverSequence: number, CaptureNanos: at})
		}
		if err := pace.Until(ctx, linux.Monotonic()+int64(s.spacing)); err != nil {
			return err
		}
	}
}

// publishCamd is a daemon with one such camera, until ctx is done. ready is called
// with its directory.
func (p part) publishCamd(ctx context.Context, ready func(string)) error {
	g, err := PayloadGeometry(p.Size)
	if err != nil {
		return err
	}
	source := &payloadSource{geometry: g, spacing: p.Spacing, filler: newFiller()}
	var network *daemon.Network
	if p.Backend == negotiate.BackendCPU {
		c, err := p.zenoh()
		if err != nil {
			return err
		}
		c.Connect.ExitOnFailure = false
		network = &daemon.Network{Zenoh: c, Domain: sweepDomain}
	}
	var gpu *daemon.GPU
	if p.Backend == negotiate.BackendCUDA {
		gpu = &daemon.GPU{Options: cuda.Options{Library: cmp.Or(p.Library, os.Getenv(clientgpu.EnvLibrary)), Device: p.Device}}
	}
	d := &daemon.Daemon{
		Dir: p.Dir, Network: network, GPU: gpu, Log: slog.New(slog.DiscardHandler), Version: "sweep",
		Cameras: []capture.Spec{{
			Name: sweepCamera, Kind: "sweep", Options: map[string]string{"max_subscribers": "1", "credit": strconv.Itoa(p.credit())},
		}},
		Sources: func(capture.Spec) (capture.Source, error) { return source, nil },
		Ready:   ready,
	}
	return d.Run(ctx)
}

// zenoh is the configuration of both sides of a cell by cpu: that of the
// environment, with the endpoints that were given.
func (p part) zenoh() (*config.Config, error) {
	c, err := config.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	if len(p.Connect) > 0 {
		c.Connect.Endpoints = p.Connect
	}
	if len(c.Connect.Endpoints) == 0 {
		c.Connect.Endpoints = []string{client.DefaultRouter}
	}
	return c, nil
}
