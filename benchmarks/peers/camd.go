// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/bench"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

const (
	cameraName = "peers"
	streamName = "data"
	fullName   = cameraName + "/" + streamName
)

// stampSource is a camera that stamps its pictures. It implements
// capture.Source.
type stampSource struct {
	p        *publication
	geometry frame.Geometry
	over     chan error
}

// Describe implements capture.Source.
func (s *stampSource) Describe() string { return "payloads" }

// Run implements capture.Source.
func (s *stampSource) Run(ctx context.Context, sink capture.Sink) error {
	// A long interval keeps the supervisor from taking pauses for stalls.
	w, err := sink.Open(streamName, capture.Format{
		Geometry: s.geometry, Clock: frame.ClockMonotonic, Interval: time.Hour, Held: 1,
	})
	if err != nil {
		return err
	}
	number := uint64(0)
	err = s.p.each(ctx, func() (int64, error) {
		slot, err := w.Acquire()
		if err != nil {
			return 0, err
		}
		s.p.fill(slot.Data)
		number++
		stamp := putStamp(slot.Data)
		w.Commit(slot, capture.Stamp{DriverSequence: number, CaptureNanos: stamp})
		return stamp, nil
	})
	s.over <- err
	<-ctx.Done() // a camera that comes to its end is another matter
	return ctx.Err()
}

// camdAddress is the daemon's directory and, behind a blank, the endpoint of a
// Zenoh router if there is one.
func camdAddress(address string) (dir string, network *config.Config) {
	dir, router, ok := strings.Cut(address, " ")
	if !ok {
		return dir, nil
	}
	network = config.Client(router)
	network.Connect.ExitOnFailure = false
	return dir, network
}

// publishCamd is a whole daemon with one such camera.
func publishCamd(ctx context.Context, p *publication) error {
	g, err := bench.PayloadGeometry(p.Size)
	if err != nil {
		return err
	}
	dir, network := camdAddress(p.Address)
	source := &stampSource{p: p, geometry: g, over: make(chan error, 1)}
	d := &daemon.Daemon{
		Dir: dir, Log: slog.New(slog.DiscardHandler), Version: "peers",
		Cameras: []capture.Spec{{
			Name: cameraName, Kind: "payloads", Options: map[string]string{"max_subscribers": "1", "credit": "1"},
		}},
		Sources: func(capture.Spec) (capture.Source, error) { return source, nil },
		Ready:   func(string) { p.ready() },
	}
	if network != nil {
		d.Network = &daemon.Network{Zenoh: network}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	select {
	case err := <-ended:
		return errors.Join(err, errors.New("the daemon ended"))
	case err := <-source.over:
		cancel()
		return errors.Join(err, <-ended)
	}
}

// subscribeCamd is a program like any other.
func subscribeCamd(ctx context.Context, r *reception) error {
	dir, network := camdAddress(r.Address)
	backend := negotiate.Backend(strings.TrimPrefix(r.Variant, "camd_"))
	opts := []client.Option{
		client.WithRuntimeDir(dir), client.WithAccept(backend), client.WithCredit(1), client.WithName("peers"),
		client.WithLogger(slog.New(slog.DiscardHandler)),
	}
	if network != nil {
		opts = append(opts, client.WithZenoh(network))
	}
	sub, err := client.Subscribe(ctx, fullName, opts...)
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		f, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		usable := linux.Monotonic()
		if b := sub.Path().Backend; b != backend {
			f.Release()
			return fmt.Errorf("frames come by %s, not by %s", b, backend)
		}
		done, err := r.take(f.Data(), usable)
		f.Release()
		if done || err != nil {
			return err
		}
	}
}
