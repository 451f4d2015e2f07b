// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/vladimirvivien/go4vl/device"
	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/capture"
	camd "github.com/seed-3c7e7623/camd/capture/v4l2"
)

// Stream is the name of a device's stream. Of JPEG there is color/jpeg too.
const Stream = "color"

const (
	// DefaultBuffers is go4vl's buffers where Options do not say.
	DefaultBuffers = 4
	leastBuffers   = 2
	mostBuffers    = 32 // VIDEO_MAX_FRAME
)

// Options is what a device is asked for. The zero value takes it as it is set.
type Options struct {
	// Format is the size and pixel format to ask for; what is 0 stays as the
	// device is set. A pixel format that the driver replaces by another is
	// [capture.ErrFormatRefused]; another size is taken and said.
	Format v4l2.PixFormat
	FPS    uint32 // frames per second; 0 = as it is set
	// Buffers is how many frames the driver may fill, and how many of go4vl's
	// copies may wait, 2 to 32; 0 = DefaultBuffers. When all wait go4vl drops
	// the newest frame.
	Buffers uint32
	// Strict refuses another size or rate than was asked for.
	Strict bool
	// Setup, if set, is called each time that the device was opened and its
	// format asked for, before it streams: for controls, inputs, timings. Its
	// error ends the run.
	Setup func(*device.Device) error
}

// Source captures from a go4vl device. It implements [capture.Source].
type Source struct {
	Log *slog.Logger // nil = slog.Default(); to be set before Run

	path    string
	options Options
	handed  *device.Device // that the program has opened; nil: each run opens path

	running sync.Mutex // of handed, which two runs must not use at a time

	opened sync.Mutex     // nobody closes it meanwhile
	dev    *device.Device // open now, nil between runs

	mu   sync.Mutex
	note string // what differs from what was asked
}

// New is a source that opens the device node at path for each run, so that a
// camera which was unplugged comes back. Options that make no sense are
// [capture.ErrConfig].
func New(path string, o Options) (*Source, error) {
	if o.Buffers == 0 {
		o.Buffers = DefaultBuffers
	}
	if path == "" || o.Buffers < leastBuffers || o.Buffers > mostBuffers {
		return nil, fmt.Errorf("%w: path %q, %d buffers: want the path of a device node and %d to %d buffers", capture.ErrConfig, path, o.Buffers, leastBuffers, mostBuffers)
	}
	return &Source{path: path, options: o}, nil
}

// FromDevice is a source that streams from a device which the program has opened
// and set up. The program closes it, after Run; until then it must not start or
// stop it, nor read its frames. Such a source ends for good with
// [capture.ErrUnsupported] when its device is gone, or when its stream ended by
// itself ([ErrUsedUp]): another one takes an open of the program's.
//
// The device delivers what it is set to, with as many buffers as it was opened
// with, of which go4vl's default, 2, is few.
func FromDevice(d *device.Device) *Source {
	return &Source{path: d.Name(), handed: d, dev: d}
}

// Describe implements [capture.Source]. Once the device is open it says what
// differs from what was asked.
func (s *Source) Describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := "go4vl " + s.path
	if s.note != "" {
		text += ": " + s.note
	}
	return text
}

// Do calls f with the device while it is open, and keeps it open meanwhile: for
// controls and questions to it while it streams. It fails with [ErrClosed] and
// the errors of f, which must not start, stop or close the device.
func (s *Source) Do(f func(*device.Device) error) error {
	s.opened.Lock()
	defer s.opened.Unlock()
	if s.dev == nil {
		return fmt.Errorf("%w: %s", ErrClosed, s.path)
	}
	return f(s.dev)
}

func (s *Source) log() *slog.Logger {
	if s.Log != nil {
		return s.Log
	}
	return slog.Default()
}

// Run implements [capture.Source].
func (s *Source) Run(ctx context.Context, sink capture.Sink) error {
	err := s.session(ctx, sink)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.handed != nil && (errors.Is(err, capture.ErrDeviceGone) || errors.Is(err, ErrUsedUp)):
		return fmt.Errorf("%w: %w: a device that was handed over open is not opened again, one that is given by its path is", capture.ErrUnsupported, err)
	}
	return err
}

// session is one opening of the device, or one use of the one handed over.
func (s *Source) session(ctx context.Context, sink capture.Sink) error {
	if s.handed != nil {
		// The run before may hang in the driver, given up.
		if !s.running.TryLock() {
			return fmt.Errorf("%w: another run of %s has not come to its end", camd.ErrBusy, s.path)
		}
		defer s.running.Unlock()
	}
	dev, err := s.open()
	if err != nil {
		return err
	}
	defer s.close(dev)
	if err := checkDescriptor(s.path, dev.Fd()); err != nil {
		return err
	}
	g, err := s.agree(dev)
	if err != nil {
		return err
	}
	t := &stream{dev: dev, handed: s.handed != nil, path: s.path}
	if err := t.reserve(); err != nil {
		return err
	}
	defer t.end()
	g.clock = t.clock()
	out, err := open(sink, g, s.log())
	if err != nil {
		return err
	}
	defer out.close()
	if err := t.start(); err != nil {
		return err
	}
	info := dev.Capability()
	s.log().Info("device opened", "device", s.path, "card", info.Card, "driver", info.Driver, "library", "go4vl",
		"granted", g.String(), "fourcc", g.code.String(), "step", g.geometry.Step, "buffers", dev.BufferCount(), "clock", g.clock.String(), "differs", s.differs())
	l := &loop{frames: t.frames, errs: t.errs, device: t, out: out, clock: g.clock}
	return l.run(ctx)
}

func (s *Source) differs() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.note
}

// open returns the device of a run. Whatever fails, nothing is left open.
func (s *Source) open() (*device.Device, error) {
	if s.handed != nil {
		return s.handed, nil
	}
	if err := check(s.path); err != nil {
		return nil, err
	}
	// The format is asked for afterwards: where that fails within Open, go4vl
	// forgets the descriptor.
	dev, err := device.Open(s.path, device.WithBufferSize(s.options.Buffers))
	if err != nil {
		return nil, explain("open", node(s.path), err)
	}
	s.opened.Lock()
	s.dev = dev
	s.opened.Unlock()
	return dev, nil
}

// close closes what open opened. Not by the device's own Close, which leaves the
// descriptor open when it believes that it streams and cannot stop.
func (s *Source) close(dev *device.Device) {
	if s.handed != nil {
		return
	}
	s.opened.Lock()
	defer s.opened.Unlock()
	if s.dev == dev { // else a later run has opened another one
		s.dev = nil
	}
	_ = v4l2.CloseDevice(dev.Fd())
}

// check opens the device for a moment, so that its refusals come with the error
// number, and before go4vl leaves the descriptor of a device that it will not
// have.
func check(path string) error {
	fd, err := v4l2.OpenDevice(path, openFlags, 0)
	if err != nil {
		return explain("open", node(path), err)
	}
	defer func() { _ = v4l2.CloseDevice(fd) }()
	if err := checkDescriptor(path, fd); err != nil {
		return err
	}
	caps, err := v4l2.GetCapability(fd)
	if err != nil {
		return fmt.Errorf("%w: %s does not answer as a video device does: %w", capture.ErrConfig, path, err)
	}
	if !caps.IsVideoCaptureSupported() || !caps.IsStreamingSupported() {
		return fmt.Errorf("%w: %s (%s) does not capture pictures in a way that go4vl knows (single-planar, streaming)", capture.ErrConfig, path, caps.Card)
	}
	if _, err := v4l2.GetPixFormat(fd); err != nil {
		return fmt.Errorf("%w: %s (%s) has no format of pictures: %w", capture.ErrConfig, path, caps.Card, err)
	}
	return nil
}
