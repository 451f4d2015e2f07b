// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
)

// Stream is the name of the only stream of a device.
const Stream = "color"

const (
	memoryAuto     = "auto"
	memoryNameUser = "userptr"
	memoryNameMap  = "mmap"

	defaultBuffers = 4
)

// Source captures from a device. It implements [capture.Source].
type Source struct {
	Log *slog.Logger // nil = slog.Default()

	name     string // of the camera
	target   string
	wish     wish
	strict   bool
	memory   string
	buffers  int
	input    string
	controls map[string]string

	root string // of the file system, "/"
	open func(path string) (kernel, error)

	mu   sync.Mutex
	seen *Node // the camera that was opened first: it is looked for again
	note string
}

// New reads the options of kind "v4l2":
//
//	encoding=NAME        what the stream shall carry; default the device's best
//	strict=true          refuses a size or rate other than asked, else it is said
//	memory=auto|userptr|mmap
//	                     auto lets the driver write into shared memory and copies
//	                     only where it cannot
//	buffers=N            with the driver, 2 to 32; default 4
//	input=N|NAME         connector of a grabber
//	control.NAME=VALUE   a setting of the camera, by the name that v4l2-ctl or
//	                     camd formats show; older names work too
//
// Target is a device node, or a link below /dev/v4l/by-id or by-path, which is
// understood where udev did not make it too; without one it is the first camera
// of the host. What makes no sense is [capture.ErrConfig].
func New(spec capture.Spec) (*Source, error) {
	o := capture.NewOptions(spec)
	s := &Source{
		name: spec.Name, target: spec.Target, root: "/", open: openNode,
		wish:    wish{width: spec.Width, height: spec.Height, rate: spec.Rate},
		strict:  o.Bool("strict", false),
		memory:  o.Choice("memory", memoryAuto, memoryAuto, memoryNameUser, memoryNameMap),
		buffers: int(o.Int("buffers", defaultBuffers, leastQueued, mostBuffers)),
		input:   o.String("input", ""),
	}
	if text := o.String("encoding", ""); text != "" {
		var err error
		if s.wish.encoding, err = frame.ParseEncoding(text); err != nil {
			o.Refuse("option encoding: %w", err)
		}
	}
	s.controls = o.Prefix("control.")
	if err := o.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Describe implements [capture.Source]. Once the device is open it says what
// differs from what was asked.
func (s *Source) Describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSpace("v4l2 " + s.target)
	if s.note != "" {
		text += ": " + s.note
	}
	return text
}

func (s *Source) log() *slog.Logger {
	l := s.Log
	if l == nil {
		l = slog.Default()
	}
	return l.With("camera", s.name)
}

// Run implements [capture.Source].
func (s *Source) Run(ctx context.Context, sink capture.Sink) error {
	// The thread waits in poll(2) most of the time.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stop, err := newStopper(ctx)
	if err != nil {
		return err
	}
	defer stop.close()
	for {
		err := s.session(ctx, sink, stop.fd)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, errSourceChanged) {
			return err
		}
		s.log().Info("the signal changed, asking again for its format", "device", s.target)
	}
}

// session is one opening of the device.
func (s *Source) session(ctx context.Context, sink capture.Sink, stopped int) error {
	d, err := s.openDevice()
	if err != nil {
		return err
	}
	r := &recorder{Source: s, d: d}
	defer r.close()
	if err := r.prepare(); err != nil {
		return err
	}
	if err := r.begin(sink); err != nil {
		return err
	}
	l := &loop{
		d: d, q: r.q, t: r.t, w: r.w, log: s.log(), stopped: stopped, clock: r.format.Clock,
		patient: max(3*time.Second, 10*r.grant.interval),
	}
	return l.run(ctx)
}

func (s *Source) openDevice() (*Device, error) {
	s.mu.Lock()
	seen := s.seen
	s.mu.Unlock()
	n, err := find(s.root, s.target, seen)
	if err != nil {
		return nil, err
	}
	d, err := open(n.Path, s.open)
	if err != nil {
		return nil, err
	}
	if !d.Info.Capture {
		_ = d.Close()
		what := "does not capture pictures"
		if d.Info.Metadata {
			what = "delivers only metadata of a camera's pictures"
		}
		return nil, fmt.Errorf("%w: %s (%s) %s: camd devices shows which nodes do", capture.ErrConfig, d.Path, d.Info.Card, what)
	}
	if seen != nil && seen.Path != n.Path {
		s.log().Info("the camera has another node now", "device", n.Path, "before", seen.Path, "card", d.Info.Card, "serial", n.Serial)
	}
	s.mu.Lock()
	s.seen = &n
	s.mu.Unlock()
	return d, nil
}

// recorder is what one session builds up, and takes down again.
type recorder struct {
	*Source
	d      *Device
	grant  grant
	format capture.Format
	q      *queue
	t      transfer
	w      capture.Writer
}

// close ends everything in the order in which it cannot hurt: the driver may
// write into the slots until its node is closed.
func (r *recorder) close() {
	if r.q != nil {
		_ = r.q.streamOff()
		if r.t != nil {
			r.t.detach()
		}
		r.q.free()
		r.q.pinner.Unpin()
	}
	_ = r.d.Close()
	if r.t != nil {
		r.t.finish()
	}
}

// prepare agrees with the driver on what will be delivered.
func (r *recorder) prepare() error {
	if err := r.d.selectInput(r.input); err != nil {
		return err
	}
	offered, err := r.d.Formats()
	if err != nil {
		return err
	}
	g, err := r.d.negotiate(r.wish, offered)
	if err != nil {
		return fmt.Errorf("%s: %w", r.d.Info.Card, err)
	}
	r.grant = g
	differs := g.differs(r.wish)
	if differs != "" && r.strict {
		return fmt.Errorf("%w: %s grants %s (strict=true; it offers %s)", capture.ErrFormatRefused, r.d.Info.Card, differs, sizesText(offered, g.code))
	}
	for _, w := range g.warnings {
		r.log().Warn("driver contradicts itself", "device", r.d.Path, "driver", r.d.Info.Driver, "problem", w)
	}
	r.mu.Lock()
	r.note = differs
	r.mu.Unlock()
	return r.d.applyControls(r.controls, r.log())
}

// sizesText lists the sizes of one pixel format.
func sizesText(offered []PixelFormat, code frame.FourCC) string {
	var parts []string
	for _, f := range offered {
		if f.FourCC != code {
			continue
		}
		for _, s := range f.Sizes {
			text := s.String()
			for i, r := range s.Rates {
				if i == 0 {
					text += " @"
				} else {
					text += ","
				}
				text += rateText(r.Max)
			}
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "sizes that the driver does not tell"
	}
	return strings.Join(parts, "; ")
}

// begin makes the buffers and starts the stream.
func (r *recorder) begin(sink capture.Sink) error {
	r.q = newQueue(r.d, r.grant.planes)
	if err := r.request(); err != nil {
		return err
	}
	r.format = capture.Format{
		Geometry: r.grant.geometry, Interval: r.grant.interval, Clock: r.clock(),
		Held: r.buffers,
	}
	if r.q.memory == memoryUserptr {
		r.format.MinSlotBytes = r.grant.slotBytes()
	}
	var err error
	if r.w, err = sink.Open(Stream, r.format); err != nil {
		return err
	}
	if r.q.memory == memoryUserptr {
		r.t = newInPlace(r.q, r.w, r.buffers)
		if err := r.t.start(); err != nil {
			if r.memory == memoryNameUser || !(errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EFAULT) || errors.Is(err, unix.ENOMEM)) {
				return err
			}
			r.log().Warn("driver does not take shared memory, frames are copied", "device", r.d.Path, "err", err)
			if err := r.replaceByCopies(); err != nil {
				return err
			}
		}
	}
	if r.q.memory == memoryMmap {
		r.t = newCopied(r.q, r.w)
		if err := r.t.start(); err != nil {
			return err
		}
	}
	if err := r.q.streamOn(); err != nil {
		return err
	}
	info := r.d.Info
	r.log().Info("device opened", "device", r.d.Path, "card", info.Card, "driver", info.Driver,
		"asked", r.wish.String(), "granted", r.grant.String(), "fourcc", r.grant.code.String(), "step", r.grant.geometry.Step,
		"memory", r.t.String(), "buffers", r.q.granted, "clock", r.format.Clock.String(), "differs", r.note)
	return nil
}

// errNoBuffers: the driver accepts a request and grants nothing.
var errNoBuffers = errors.New("the driver grants no buffers")

// request asks for buffers, in the memory that the user and the driver allow.
func (r *recorder) request() error {
	if r.memory != memoryNameMap {
		err := r.grant.inPlace()
		if err == nil {
			// All that there can be, so that every slot has a buffer of its own.
			err = r.q.request(memoryUserptr, mostBuffers)
		}
		if err == nil && r.q.granted == 0 {
			err = errNoBuffers
		}
		switch {
		case err == nil:
			return nil
		case !absent(err) && !errors.Is(err, errLayout) && !errors.Is(err, errNoBuffers):
			return explain("VIDIOC_REQBUFS", r.d.Path, err)
		}
		if r.memory == memoryNameUser {
			return fmt.Errorf("%w: %s cannot write into shared memory (memory=userptr): %w", capture.ErrUnsupported, r.d.Path, err)
		}
		r.log().Info("driver cannot write into shared memory, frames are copied", "device", r.d.Path, "driver", r.d.Info.Driver, "reason", err)
	}
	return r.requestMapped()
}

func (r *recorder) requestMapped() error {
	if err := r.q.request(memoryMmap, r.buffers); err != nil {
		return explain("VIDIOC_REQBUFS", r.d.Path, err)
	}
	if r.q.granted == 0 {
		return fmt.Errorf("%s: %w", r.d.Path, errNoBuffers)
	}
	return nil
}

func (r *recorder) replaceByCopies() error {
	r.q.free()
	r.t.finish()
	r.t = nil
	return r.requestMapped()
}

// clock asks the driver which clock its stamps are of.
func (r *recorder) clock() frame.Clock {
	if err := r.q.query(0); err == nil && r.q.buf.Flags&bufFlagTimestampMask == bufFlagMonotonic {
		return frame.ClockMonotonic
	}
	return frame.ClockArrival
}
