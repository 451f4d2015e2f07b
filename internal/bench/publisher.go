// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/daemon"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

const (
	sweepCamera = "sweep"
	sweepStream = "data"
	// SweepStream is the stream of a sweep's publisher.
	SweepStream = sweepCamera + "/" + sweepStream
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

// publishCamd is a daemon with one such camera, until ctx is done. ready is
// called with its directory.
func publishCamd(ctx context.Context, dir string, size int, spacing time.Duration, ready func(string)) error {
	g, err := PayloadGeometry(size)
	if err != nil {
		return err
	}
	source := &payloadSource{geometry: g, spacing: spacing, filler: newFiller()}
	d := &daemon.Daemon{
		Dir: dir, Log: slog.New(slog.DiscardHandler), Version: "sweep",
		Cameras: []capture.Spec{{
			Name: sweepCamera, Kind: "sweep", Options: map[string]string{"max_subscribers": "1", "credit": "1"},
		}},
		Sources: func(capture.Spec) (capture.Source, error) { return source, nil },
		Ready:   ready,
	}
	return d.Run(ctx)
}
