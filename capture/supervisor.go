// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// ErrAbandoned reports that a source did not stop in time. What it held of the
// sink's memory must stay mapped, because the source may still write there.
var ErrAbandoned = errors.New("source did not stop")

// Defaults of the [Supervisor]'s parameters.
const (
	DefaultStallTimeout = 2 * time.Second
	DefaultStartTimeout = 10 * time.Second
	DefaultRetryFirst   = 100 * time.Millisecond
	DefaultRetryMax     = 5 * time.Second
	DefaultWellAfter    = 10 * time.Second
	DefaultStopTimeout  = 900 * time.Millisecond
)

// maxAbandoned is how many runs of one source may be at large before it is not
// run again until one of them comes home.
const maxAbandoned = 3

// Supervisor runs one source into one sink for as long as its context lives:
// it watches that frames arrive, runs the source again after failures with
// growing pauses, says in the log what happens, and stops it in time even if
// it does not listen. Set the exported fields, then call Run once.
type Supervisor struct {
	Name   string // of the camera, for the log
	Source Source
	Sink   Sink
	Log    *slog.Logger // nil = slog.Default()

	// StallTimeout without a frame makes a camera stalled; three frame
	// intervals if these are longer.
	StallTimeout time.Duration
	// StartTimeout is the same before the first frame of a run.
	StartTimeout time.Duration
	// RestartAfter without a frame stops a stalled source and runs it again;
	// 0 = never, it may come back by itself.
	RestartAfter time.Duration
	RetryFirst   time.Duration // pause after the first failure; each further one doubles it
	RetryMax     time.Duration // longest pause
	WellAfter    time.Duration // a run that gave frames for so long begins with RetryFirst again
	StopTimeout  time.Duration // given to a source to stop; then it is abandoned
	// OnChange, if set, is called from Run's goroutine after each change of state.
	OnChange func(Health)

	once      sync.Once
	guard     *guard
	abandoned atomic.Int64
	home      chan struct{} // signalled when an abandoned run returns

	mu     sync.Mutex
	health Health

	// Used by Run's goroutine alone.
	problemSince time.Time
	attempts     int  // runs since the problem began
	announced    bool // the problem is in the log
	lostLog      repeats
	stallLog     repeats
}

func (s *Supervisor) init() {
	s.once.Do(func() {
		def := func(d *time.Duration, v time.Duration) {
			if *d <= 0 {
				*d = v
			}
		}
		def(&s.StallTimeout, DefaultStallTimeout)
		def(&s.StartTimeout, max(DefaultStartTimeout, s.StallTimeout))
		def(&s.RetryFirst, DefaultRetryFirst)
		def(&s.RetryMax, max(DefaultRetryMax, s.RetryFirst))
		def(&s.WellAfter, DefaultWellAfter)
		def(&s.StopTimeout, DefaultStopTimeout)
		if s.Log == nil {
			s.Log = slog.Default()
		}
		s.Log = s.Log.With("camera", s.Name)
		s.lostLog.window, s.stallLog.window = time.Minute, time.Minute
		s.home = make(chan struct{}, 1)
		s.guard = newGuard(s.Sink)
		s.health.Since = time.Now()
	})
}

// Health is how the camera fares now. It may be called at any time.
func (s *Supervisor) Health() Health {
	s.init()
	s.mu.Lock()
	h := s.health
	s.mu.Unlock()
	h.Abandoned = int(s.abandoned.Load())
	h.Frames = s.guard.frames.Load()
	h.LastFrameNanos = s.guard.lastFrame.Load()
	return h
}

// Run supervises until ctx is done or the source says that trying again is of
// no use. It returns nil after a stop, the source's error if that is
// [ErrEndOfStream], [ErrFormatRefused], [ErrConfig] or [ErrUnsupported], and
// [ErrAbandoned] if a run of the source is still at large. Afterwards the sink
// is not called any more.
func (s *Supervisor) Run(ctx context.Context) error {
	s.init()
	defer s.guard.close()
	err := s.supervise(ctx)
	if n := s.abandoned.Load(); n > 0 {
		return errors.Join(err, fmt.Errorf("camera %s: %w: %d of its runs ignore the order", s.Name, ErrAbandoned, n))
	}
	return err
}

func (s *Supervisor) supervise(ctx context.Context) error {
	pause := s.RetryFirst
	for {
		r, err := s.runOnce(ctx)
		switch {
		case ctx.Err() != nil:
			s.set(StateStopped, "")
			return nil
		case errors.Is(err, ErrEndOfStream):
			s.set(StateEnded, err.Error())
			s.Log.Info("camera ended", "err", err)
			return err
		case errors.Is(err, ErrFormatRefused), errors.Is(err, ErrConfig), errors.Is(err, ErrUnsupported):
			s.set(StateFailed, err.Error())
			s.Log.Error("camera failed, not tried again", "source", s.Source.Describe(), "err", err)
			return err
		}
		if s.ranWell(r) {
			pause = s.RetryFirst
		}
		s.lost(err, pause)
		if !s.pause(ctx, pause) {
			s.set(StateStopped, "")
			return nil
		}
		pause = min(2*pause, s.RetryMax)
		s.mu.Lock()
		s.health.Restarts++
		s.mu.Unlock()
	}
}

func (s *Supervisor) ranWell(r *run) bool {
	began := r.began.Load()
	return began != 0 && time.Duration(r.arrival.Load()-began) >= s.WellAfter
}

// pause waits between runs, and for abandoned runs if there are too many. It
// reports false when ctx is done.
func (s *Supervisor) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	}
	for s.abandoned.Load() >= maxAbandoned {
		select {
		case <-ctx.Done():
			return false
		case <-s.home:
		}
	}
	return ctx.Err() == nil
}

// errStalled ends a run that was stopped because no frames came.
var errStalled = errors.New("stalled")

// runOnce runs the source until it returns or has to be stopped.
func (s *Supervisor) runOnce(ctx context.Context) (*run, error) {
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := s.guard.begin()
	done := make(chan error, 1)
	go func() { done <- s.Source.Run(runCtx, r) }()
	s.attempts++

	err, returned := s.watch(ctx, r, done)
	if !returned {
		cancel()
		reason := err
		err, returned = s.await(done)
		if !returned {
			s.abandon(r, done)
			return r, reason
		}
		if reason != nil && !permanent(err) {
			err = reason
		}
	} else if r.frames.Load() > 0 {
		s.recovered(r) // frames may have come and gone before watch looked
	}
	if n := s.guard.finish(r); n > 0 {
		s.Log.Debug("source left slots behind", "slots", n)
	}
	if err == nil {
		err = errors.New("source ended without saying why")
	}
	return r, err
}

func permanent(err error) bool {
	return errors.Is(err, ErrEndOfStream) || errors.Is(err, ErrFormatRefused) || errors.Is(err, ErrConfig) || errors.Is(err, ErrUnsupported)
}

// watch looks after a run. It returns the run's error and true, or false if
// the run has to be stopped, with the reason (nil: ctx is done).
func (s *Supervisor) watch(ctx context.Context, r *run, done <-chan error) (error, bool) {
	timer := time.NewTimer(s.timeout(r))
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err, true
		case <-ctx.Done():
			return nil, false
		case <-r.arrived:
			r.waiting.Store(false)
			s.recovered(r)
			timer.Reset(s.timeout(r))
		case <-timer.C:
			idle, timeout := r.idle(), s.timeout(r)
			if idle < timeout {
				timer.Reset(timeout - idle)
				continue
			}
			if s.RestartAfter > 0 && idle >= s.RestartAfter {
				s.stalled(r, idle)
				return fmt.Errorf("%w: no frame for %v", errStalled, idle.Round(time.Millisecond)), false
			}
			s.stalled(r, idle)
			if s.RestartAfter > 0 {
				timer.Reset(s.RestartAfter - idle)
			}
		}
	}
}

// timeout is how long the run may go without a sign of life.
func (s *Supervisor) timeout(r *run) time.Duration {
	d := max(s.StallTimeout, 3*time.Duration(r.interval.Load()))
	if r.frames.Load() == 0 {
		d = max(d, s.StartTimeout)
	}
	return d
}

// await gives a run that was told to stop its time.
func (s *Supervisor) await(done <-chan error) (error, bool) {
	t := time.NewTimer(s.StopTimeout)
	defer t.Stop()
	select {
	case err := <-done:
		return err, true
	case <-t.C:
		return nil, false
	}
}

// abandon leaves a run behind that does not return. Its goroutine ends with it.
func (s *Supervisor) abandon(r *run, done <-chan error) {
	s.guard.abandon(r)
	n := s.abandoned.Add(1)
	s.Log.Error("source does not stop, abandoned", "source", s.Source.Describe(), "waited", s.StopTimeout, "abandoned", n)
	go func() {
		err := <-done
		s.guard.finish(r)
		s.abandoned.Add(-1)
		s.Log.Info("abandoned source came back", "err", err)
		select {
		case s.home <- struct{}{}:
		default:
		}
	}()
}
