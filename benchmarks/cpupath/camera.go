// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/daemon"
)

const streamName = "color"

func (j job) cameraName(i int) string { return fmt.Sprint(j.Camera, i) }

func (j job) stream(i int) string { return j.cameraName(i) + "/" + streamName }

// source is a camera that sends what it is told to. It implements
// capture.Source.
type source struct {
	geometry frame.Geometry
	writer   chan capture.Writer
}

// Describe implements capture.Source.
func (s *source) Describe() string { return "frames of the benchmark" }

// Run implements capture.Source.
func (s *source) Run(ctx context.Context, sink capture.Sink) error {
	// A long interval keeps the supervisor from taking pauses for stalls.
	w, err := sink.Open(streamName, capture.Format{
		Geometry: s.geometry, Clock: frame.ClockMonotonic, Interval: time.Hour, Held: 1,
	})
	if err != nil {
		return err
	}
	s.writer <- w
	<-ctx.Done()
	return ctx.Err()
}

// rgb8 is a picture of rgb8 with so many bytes: 1080p, or any other that has
// them.
func rgb8(size int) (frame.Geometry, error) {
	for _, side := range [][2]int{{1920, 1080}, {1280, 720}, {640, 480}, {160, 120}} {
		if 3*side[0]*side[1] == size {
			return frame.NewGeometry(frame.RGB8, side[0], side[1])
		}
	}
	return frame.Geometry{}, fmt.Errorf("no picture of rgb8 has %d bytes", size)
}

// publishCamd is a whole daemon with a camera for each number of readers.
func publishCamd(ctx context.Context, j job) error {
	g, err := rgb8(j.Size)
	if err != nil {
		return err
	}
	network := j.network()
	network.Connect.ExitOnFailure = false
	d := &daemon.Daemon{
		Dir: j.Dir, Log: slog.New(slog.DiscardHandler), Version: "cpupath", Network: &daemon.Network{Zenoh: network},
	}
	sources := map[string]*source{}
	for i := range j.Readers {
		name := j.cameraName(i)
		sources[name] = &source{geometry: g, writer: make(chan capture.Writer, 1)}
		d.Cameras = append(d.Cameras, capture.Spec{
			Name: name, Kind: "benchmark", Options: map[string]string{"max_subscribers": strconv.Itoa(2), "credit": "1"},
		})
	}
	d.Sources = func(s capture.Spec) (capture.Source, error) { return sources[s.Name], nil }
	ready := make(chan struct{})
	d.Ready = func(string) { close(ready) }
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(run) }()
	select {
	case <-ready:
	case err := <-ended:
		return errors.Join(err, errors.New("the daemon ended"))
	}
	var publishers []*publisher
	fd := 3
	for i, readers := range j.Readers {
		var descriptors []int
		for range readers {
			descriptors = append(descriptors, fd)
			fd++
		}
		p := newPublisher(sendCamd(<-sources[j.cameraName(i)].writer), descriptors)
		p.counts = func() topic { return topicOf(d.Status(), j.stream(i)) }
		publishers = append(publishers, p)
	}
	fmt.Println("ready")
	err = serve(ctx, func(ctx context.Context, o order) ([]report, error) {
		reports, errs := make([]report, len(publishers)), make([]error, len(publishers))
		var wait sync.WaitGroup
		for i, p := range publishers {
			wait.Go(func() { reports[i], errs[i] = p.block(ctx, o) })
		}
		wait.Wait()
		return reports, errors.Join(errs...)
	})
	cancel()
	return errors.Join(err, <-ended)
}

func sendCamd(w capture.Writer) sender {
	f := newFiller()
	return func(number uint64, fill bool) error {
		slot, err := w.Acquire()
		if errors.Is(err, capture.ErrNoSlot) {
			return errNoRoom
		}
		if err != nil {
			return err
		}
		if fill {
			f.fill(slot.Data)
		}
		at := stamp(slot.Data, number)
		w.Commit(slot, capture.Stamp{DriverSequence: number, CaptureNanos: at})
		return nil
	}
}

// topicOf is what camd counted of the pictures of a stream.
func topicOf(s daemon.Status, stream string) topic {
	for _, x := range s.Streams {
		if x.Name != stream {
			continue
		}
		for _, t := range x.Topics {
			if t.Topic == x.Topic {
				return topic{t.Frames, t.Replaced, t.Copies, t.Conversions}
			}
		}
	}
	return topic{}
}
