// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/backend/local"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/kinds"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// Defaults of a camera's limits.
const (
	DefaultMaxSubscribers = 8
	DefaultCredit         = 2
	DefaultEvictAfter     = 5 * time.Second

	// minForceAfter leaves a reader the time to hear that it is evicted.
	minForceAfter = 100 * time.Millisecond
)

// limits are the options of a camera that the daemon itself understands.
type limits struct {
	subscribers int           // max_subscribers
	credit      int           // credit of a subscriber that does not say
	slots       int           // 0 = so many that readers cannot starve the source
	evictAfter  time.Duration // held so long under pressure: evicted
	required    bool          // the daemon ends if the device is missing
}

// takeLimits parses and removes the daemon's options from spec.
func takeLimits(spec *capture.Spec) (limits, error) {
	o := takeOptions(spec, func(key string) bool {
		return slices.Contains([]string{"max_subscribers", "credit", "slots", "evict_after", "required"}, key)
	})
	l := readLimits(o)
	return l, o.Err()
}

// takeOptions moves the options that are the daemon's out of spec. Others are
// the source's, to be judged there.
func takeOptions(spec *capture.Spec, own func(key string) bool) *capture.Options {
	mine := *spec
	mine.Options, spec.Options = make(map[string]string), maps.Clone(spec.Options)
	for key, value := range spec.Options {
		if own(key) {
			mine.Options[key] = value
			delete(spec.Options, key)
		}
	}
	return capture.NewOptions(mine)
}

func readLimits(o *capture.Options) limits {
	return limits{
		subscribers: int(o.Int("max_subscribers", DefaultMaxSubscribers, 1, 64)),
		credit:      int(o.Int("credit", DefaultCredit, 1, ring.MaxCredit)),
		slots:       int(o.Int("slots", 0, 0, ring.MaxSlots)),
		evictAfter:  o.Duration("evict_after", DefaultEvictAfter),
		required:    o.Bool("required", false),
	}
}

// camera is one source with its supervisor and streams. It implements
// capture.Sink.
type camera struct {
	d      *Daemon
	spec   capture.Spec
	limits limits
	output outputs
	source capture.Source
	super  *capture.Supervisor
	log    *slog.Logger
	life   context.Context // from start to Remove or the end of the daemon
	cancel context.CancelCauseFunc
	ended  chan struct{} // the source is over, its streams stay
	err    error         // of the supervisor, after ended
	done   chan struct{} // the streams are over as well
	// missing gets the error of the first run if the device was not there.
	missing chan error

	mu      sync.Mutex
	streams []*stream
}

// restartAfter is how long a stalled source may stay so before it is run anew.
const restartAfter = 30 * time.Second

// firstRun reports a device that is missing when the source first runs. Later
// ones are the supervisor's to wait for.
type firstRun struct {
	capture.Source
	missing chan<- error
	once    sync.Once
}

// Run implements capture.Source.
func (f *firstRun) Run(ctx context.Context, sink capture.Sink) error {
	err := f.Source.Run(ctx, sink)
	f.once.Do(func() {
		if errors.Is(err, capture.ErrDeviceNotFound) {
			f.missing <- err
		}
	})
	return err
}

// forceAfter is how long an evicted subscriber may keep its frames from the
// source. Beside evictAfter it is the rest of an outage that one can cause.
func (l limits) forceAfter() time.Duration {
	if l.evictAfter == 0 {
		return local.DefaultForceAfter
	}
	return min(max(l.evictAfter, minForceAfter), local.DefaultForceAfter)
}

// memory is how many slots a stream's ring has, with a source that holds some
// of them, and how many of these all subscribers together may reserve. As long
// as nobody chose the number of slots, the source is never without one.
//
// local slots are for a reader in the daemon. If a number that was chosen has no
// room for these beside one subscriber, the ring is tight: then nobody here may
// hold a slot for long.
func (l limits) memory(held, local int) (slots, budget int, tight bool) {
	budget = l.subscribers * (l.credit + 1)
	if l.slots > 0 {
		tight = l.slots < ring.SlotsFor(held, 1, l.credit)+local
		return l.slots, budget, tight
	}
	slots = min(ring.SlotsFor(held, l.subscribers, l.credit)+local, ring.MaxSlots)
	return slots, min(budget, slots-ring.SlotsFor(held, 0, 0)-local), false
}

func newCamera(d *Daemon, spec capture.Spec) (*camera, error) {
	l, err := takeLimits(&spec)
	out, outErr := takeOutputs(&spec)
	if outErr == nil {
		outErr = d.Network.check(spec.Name, out)
	}
	if err = errors.Join(err, outErr); err != nil {
		return nil, fmt.Errorf("camera %s: %w", spec.Name, err)
	}
	newSource := d.Sources
	if newSource == nil {
		newSource = kinds.New
	}
	source, err := newSource(spec)
	if err != nil {
		return nil, err
	}
	c := &camera{
		d: d, spec: spec, limits: l, output: out, source: source,
		log:   d.log.With("camera", spec.Name),
		ended: make(chan struct{}), done: make(chan struct{}), missing: make(chan error, 1),
	}
	c.super = &capture.Supervisor{
		Name: spec.Name, Source: &firstRun{Source: source, missing: c.missing}, Sink: c, Log: d.log,
		RestartAfter: restartAfter,
	}
	return c, nil
}

// run supervises until ctx is done. A camera that comes to its end before keeps
// its streams: subscribers stay connected, and late ones see the last frame.
func (c *camera) run(ctx context.Context) {
	defer close(c.done)
	c.err = c.super.Run(ctx)
	close(c.ended)
	c.d.cameraEnded()
	<-ctx.Done()
	for _, s := range c.all() {
		s.close()
	}
}

// Open implements capture.Sink.
func (c *camera) Open(name string, f capture.Format) (capture.Writer, error) {
	// A program's own source may say anything; nobody could ask for some of it.
	if err := capture.CheckStream(name); err != nil {
		return nil, fmt.Errorf("%w: %w", capture.ErrConfig, err)
	}
	if n := len(c.spec.Name) + len(name) + 1; n > negotiate.MaxName {
		return nil, fmt.Errorf("%w: stream name %q has %d bytes with its camera's, at most %d are allowed", capture.ErrConfig, name, n, negotiate.MaxName)
	}
	return c.stream(name).open(f)
}

func (c *camera) stream(name string) *stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	full := c.spec.Name + "/" + name
	for _, s := range c.streams {
		if s.name == full {
			return s
		}
	}
	s := newStream(c, name)
	c.share(s)
	c.streams = append(c.streams, s)
	c.d.announcer.renew()
	return s
}

func (c *camera) health() capture.Health { return c.super.Health() }

// describe is the part of StreamInfo that comes from the camera.
func (c *camera) describe(h capture.Health) negotiate.StreamInfo {
	i := negotiate.StreamInfo{
		Camera: c.spec.Name, Source: c.source.Describe(), State: h.State.String(), Host: c.d.host,
	}
	if !h.Since.IsZero() {
		i.StateSince = h.Since.UnixMilli()
	}
	if h.State != capture.StateRunning {
		i.Problem = h.Problem
	}
	return i
}

// all is a snapshot of the streams.
func (c *camera) all() []*stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.streams)
}

// find returns the stream called by its full name, nil if the camera has none
// such (yet).
func (c *camera) find(full string) *stream {
	for _, s := range c.all() {
		if s.name == full {
			return s
		}
	}
	return nil
}

// placeholder stands for the stream of a camera that has not delivered yet, so
// that it can be seen and waited for.
func (c *camera) placeholder() negotiate.StreamInfo {
	i := c.describe(c.health())
	i.Name = c.spec.Name + "/color"
	return i
}
