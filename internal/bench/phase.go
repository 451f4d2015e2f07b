// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Bounds and defaults of a phase.
const (
	DefaultSamples = 300
	DefaultWarmup  = 30
	MaxSamples     = 10_000_000 // 96 bytes of memory each
	DefaultTimeout = 10 * time.Second
)

// ErrTimeout: the stream gave no frame for too long.
var ErrTimeout = errors.New("no frame")

// Phase is what is to be measured: one stream by one backend.
type Phase struct {
	Name    string
	Stream  string
	Backend negotiate.Backend
	Options []client.Option
	Samples int
	Warmup  int
	Touch   bool // read every byte of each frame
	Pixel   bool // keep the centre pixel of each frame
	// PublisherPID is the process whose load counts as the publisher's; 0 =
	// the daemon, where it can be seen.
	PublisherPID int
	Timeout      time.Duration // without a frame; 0 = DefaultTimeout
	LoadPeriod   time.Duration // 0 = DefaultLoadPeriodMillis
	LoadWindow   int           // 0 = DefaultLoadWindow
	Live         *Live         // may be nil
	// NoTap leaves ready unknown by the backend cpu, which does not carry it.
	// Else a second subscription by shared memory tells it, on this host.
	NoTap bool
	// Upload has frames by shm and cpu uploaded to the subscriber's GPU, as those
	// by cuda are there. Touch is by the GPU then.
	Upload Upload
}

func (p Phase) withDefaults() Phase {
	if p.Timeout <= 0 {
		p.Timeout = DefaultTimeout
	}
	if p.LoadPeriod <= 0 {
		p.LoadPeriod = DefaultLoadPeriodMillis * time.Millisecond
	}
	if p.LoadWindow <= 0 {
		p.LoadWindow = DefaultLoadWindow
	}
	if p.Live == nil {
		p.Live = new(Live)
	}
	return p
}

// Run subscribes and measures until it has all samples, ctx is done, or the
// stream fails. The result is never nil; with an error, or when ctx is done, it
// has what was measured by then. A backend that cannot be had is no error but
// Result.Unavailable; an unknown stream and a missing daemon are errors of
// package client, and ErrTimeout is a stream without frames.
func (p Phase) Run(ctx context.Context, w World) (*Result, error) {
	p = p.withDefaults()
	r := &Result{Phase: p.Name, Asked: p.Backend, Warmup: p.Warmup, Touched: p.Touch, Started: time.Now()}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newWatcher(p, w, cancel)

	sub, err := p.subscribe(ctx, w, r, watch.event)
	// Who may not have memory of the GPU may have the stream all the same.
	if errors.Is(err, client.ErrNotAvailable) || p.Backend == negotiate.BackendCUDA && errors.Is(err, client.ErrPermission) {
		r.Unavailable = err.Error()
		return r, nil
	}
	if err != nil {
		r.Interrupted = true
		return r, ended(ctx, err)
	}
	defer sub.Close()

	samples := make([]Sample, p.Samples)
	p.Live.begin(samples)
	runtime.GC() // what was left over by what came before is not to be measured
	tap := p.startTap(ctx, w)
	stop := watch.start(ctx)
	l := loop{Phase: p, w: w, sub: sub, watch: watch, result: r, samples: samples, began: w.Now()}
	n, err := l.run(ctx)
	stop()

	r.Samples = samples[:n]
	r.Tapped = tap.fill(r.Samples)
	for i := range r.Samples {
		if s := &r.Samples[i]; s.ReadyNanos != 0 && s.UsableNanos < s.ReadyNanos-foreignNanos {
			l.foreign++
		}
	}
	r.Loads, r.Publisher = watch.loads.loads, watch.publisher
	r.Problems = append(watch.problems, l.problems()...)
	r.Interrupted = n < p.Samples
	if n > 0 {
		r.Elapsed = time.Duration(samples[n-1].UsableNanos - samples[0].UsableNanos)
	}
	if text := r.explainOther(); text != "" {
		r.Problems = append(r.Problems, text)
	}
	if err != nil {
		err = ended(ctx, err)
	}
	return r, err
}

// ended is nil for an end that somebody ordered, the cause of a context that was
// cancelled for a reason, else err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) || errors.Is(cause, errCameraEnded) {
		return nil
	}
	return cause
}

// loop is the measured path: between a frame's stamp and its release nothing
// allocates, prints or waits.
type loop struct {
	Phase
	w       World
	sub     Subscription
	watch   *watcher
	result  *Result
	samples []Sample
	began   int64

	geometry frame.Geometry
	resized  int    // frames of another geometry than the first one
	backward int    // sequences that did not grow
	foreign  int    // frames that were usable before they were ready
	switched string // the first change of backend
}

// foreignNanos is how much sooner than ready a frame may seem usable: clocks of
// two cores differ by less.
const foreignNanos = 1000

// run returns how many samples it took.
func (l *loop) run(ctx context.Context) (int, error) {
	warm, n := 0, 0
	for n < l.Samples {
		f, err := l.sub.Next(ctx)
		if err != nil {
			return n, err
		}
		l.watch.alive(l.w.Now())
		m := f.Meta()
		if warm == 0 && n == 0 && m.ReadyNanos != 0 && m.ReadyNanos < l.began {
			f.Release() // it lay there before: it waited for us
			continue
		}
		if warm < l.Warmup {
			if l.Touch {
				if err := touchAll(f); err != nil {
					f.Release()
					return n, err
				}
			}
			f.Release()
			if warm++; warm == l.Warmup {
				l.measureFrom()
			}
			continue
		}
		if n == 0 && l.Warmup == 0 {
			l.measureFrom()
		}
		err = l.take(&l.samples[n], f, m)
		f.Release()
		if err != nil {
			return n, err
		}
		l.compare(n)
		n++
		l.Live.count.Store(int64(n))
	}
	return n, nil
}

// measureFrom begins to look at loads and at what happens.
func (l *loop) measureFrom() {
	l.result.Path, l.result.Stream = l.sub.Path(), l.sub.Info()
	l.watch.measure(l.result.Path)
}

// take fills a sample while the frame is held.
func (l *loop) take(s *Sample, f Frame, m frame.Meta) error {
	s.Sequence, s.DriverSequence = m.Sequence, m.DriverSequence
	s.CaptureNanos, s.ReadyNanos, s.PublishNanos, s.UsableNanos = m.CaptureNanos, m.ReadyNanos, m.PublishNanos, f.HeldNanos()
	s.wallNanos = m.WallNanos
	if l.Touch {
		if err := touchAll(f); err != nil {
			return err
		}
		s.ReadNanos = l.w.Now()
	}
	g := f.Geometry()
	if l.Pixel {
		if err := s.centre(g, f); err != nil {
			return err
		}
	}
	if l.geometry == (frame.Geometry{}) {
		l.geometry = g
	}
	if g != l.geometry {
		l.resized++
	}
	s.Backend = l.sub.Path().Backend
	return nil
}

// compare holds a sample against the one before it.
func (l *loop) compare(n int) {
	s := &l.samples[n]
	if n == 0 {
		return
	}
	before := &l.samples[n-1]
	if s.Sequence <= before.Sequence {
		l.backward++
	}
	if s.Backend != before.Backend && l.switched == "" {
		l.switched = fmt.Sprintf("the backend changed from %s to %s after %d frames", before.Backend, s.Backend, n)
	}
}

func (l *loop) problems() []string {
	var out []string
	if l.switched != "" {
		out = append(out, l.switched)
	}
	if l.resized > 0 {
		out = append(out, fmt.Sprintf("%d frames of another size or format than %v", l.resized, l.geometry))
	}
	if l.backward > 0 {
		out = append(out, fmt.Sprintf("the sequence did not grow %d times", l.backward))
	}
	if l.foreign > 0 {
		out = append(out, fmt.Sprintf("%d frames were usable before they were ready: their stamps are of another clock", l.foreign))
	}
	return out
}
