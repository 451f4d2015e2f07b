// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/daemon"
)

const (
	cameraName = "bench"
	streamName = "data"
	fullName   = cameraName + "/" + streamName
)

// source is a camera that publishes when it is told to. It implements
// capture.Source.
type source struct {
	geometry frame.Geometry
	opened   chan struct{}
	jobs     chan func(capture.Writer)
}

// Describe implements capture.Source.
func (s *source) Describe() string { return "benchmark" }

// Run implements capture.Source. Blocks of the floor run here too, so that both
// sides have the same thread conditions.
func (s *source) Run(ctx context.Context, sink capture.Sink) error {
	// A long interval keeps the supervisor from taking pauses for stalls.
	w, err := sink.Open(streamName, capture.Format{
		Geometry: s.geometry, Clock: frame.ClockMonotonic, Interval: time.Hour, Held: 1,
	})
	if err != nil {
		return err
	}
	close(s.opened)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case job := <-s.jobs:
			job(w)
		}
	}
}

// host is a daemon with one camera, in this process.
type host struct {
	d      *daemon.Daemon
	dir    string
	source *source
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // of the daemon, after ended
}

// startHost runs camd with a ring for readers of frames of size bytes.
func startHost(size, readers int) (_ *host, err error) {
	g, err := geometryOf(size)
	if err != nil {
		return nil, err
	}
	h := &host{
		source: &source{geometry: g, opened: make(chan struct{}), jobs: make(chan func(capture.Writer))},
		ended:  make(chan struct{}),
	}
	if h.dir, err = os.MkdirTemp("", "camd-handover-"); err != nil {
		return nil, err
	}
	h.d = &daemon.Daemon{
		Dir: h.dir, Log: slog.New(slog.DiscardHandler), Version: "benchmark",
		Cameras: []capture.Spec{{
			Name: cameraName, Kind: "benchmark",
			Options: map[string]string{"max_subscribers": strconv.Itoa(readers), "credit": "1"},
		}},
		Sources: func(capture.Spec) (capture.Source, error) { return h.source, nil },
	}
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(context.Background())
	ready := make(chan struct{})
	h.d.Ready = func(string) { close(ready) }
	go func() {
		defer close(h.ended)
		h.err = h.d.Run(ctx)
	}()
	for _, c := range []chan struct{}{ready, h.source.opened} {
		select {
		case <-c:
		case <-h.ended:
			return nil, errors.Join(h.err, h.stop())
		}
	}
	return h, nil
}

// do runs a job on the source's goroutine and waits for it.
func (h *host) do(job func(capture.Writer)) error {
	finished := make(chan struct{})
	select {
	case h.source.jobs <- func(w capture.Writer) { defer close(finished); job(w) }:
	case <-h.ended:
		return fmt.Errorf("daemon ended: %w", h.err)
	}
	<-finished
	return nil
}

// wakes are the wake-up system calls of the ring so far.
func (h *host) wakes() (futex, pipe uint64) {
	for _, s := range h.d.Status().Streams {
		if s.Ring != nil {
			futex += s.Ring.FutexWakes
			pipe += s.Ring.PipeWakes
		}
	}
	return futex, pipe
}

func (h *host) stop() error {
	h.cancel()
	<-h.ended
	return os.RemoveAll(h.dir)
}
