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

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/mjpeg"
	"github.com/seed-3c7e7623/camd/frame"
)

// Stream is the name of a device's stream. Of JPEG there is color/jpeg too.
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
//	encoding=NAME        what the stream shall carry; default the device's best.
//	                     One that the device lacks is decoded or converted, and
//	                     that is said; jpeg asks the device for that
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
	var seen pictures
	for {
		err := s.session(ctx, sink, stop.fd, seen)
		var other *mjpeg.SizeError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errSourceChanged):
			seen = pictures{}
			s.log().Info("the signal changed, asking again for its format", "device", s.target)
		case errors.As(err, &other) && !seen.vary:
			seen = pictures{width: other.Width, height: other.Height, vary: seen.width > 0}
			s.log().Warn("pictures are not of the size that was granted, beginning again with theirs", "device", s.target,
				"granted", fmt.Sprintf("%dx%d", other.Agreed.Width, other.Agreed.Height), "picture", fmt.Sprintf("%dx%d", other.Width, other.Height))
		default:
			return err
		}
	}
}

// pictures is what was seen of JPEG frames that do not keep to the size that
// the driver granted.
type pictures struct {
	width, height int  // 0 = as granted
	vary          bool // so that slots cannot be the driver's
}

// session is one opening of the device.
func (s *Source) session(ctx context.Context, sink capture.Sink, stopped int, seen pictures) error {
	d, err := s.openDevice()
	if err != nil {
		return err
	}
	r := &recorder{Source: s, d: d, seen: seen}
	defer r.close()
	if err := r.prepare(); err != nil {
		return err
	}
	if err := r.begin(sink); err != nil {
		return err
	}
	l := &loop{
		d: d, q: r.q, t: r.t, w: r.drops, log: s.log(), stopped: stopped, clock: r.format.Clock,
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
