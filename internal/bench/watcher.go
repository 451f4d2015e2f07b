// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/client"
)

// errCameraEnded ends a phase whose camera has come to its end.
var errCameraEnded = errors.New("the camera has come to its end")

// watcher runs beside the loop of a phase, so that no timer is in the measured
// path: it samples loads, looks at the clocks, and ends the phase after the
// timeout.
type watcher struct {
	phase  Phase
	w      World
	cancel context.CancelCauseFunc
	step   *stepWatch
	loads  *loadMeter
	last   atomic.Int64 // when the newest frame came

	mu        sync.Mutex
	measuring bool
	path      client.Path
	problems  []string

	publisher Publisher // of the goroutine
	found     bool
}

func newWatcher(p Phase, w World, cancel context.CancelCauseFunc) *watcher {
	return &watcher{phase: p, w: w, cancel: cancel, step: newStepWatch(w.Clocks), loads: newLoadMeter(p.LoadWindow)}
}

func (v *watcher) alive(now int64) { v.last.Store(now) }

// measure begins to count what happens; path is that of the frames to come.
func (v *watcher) measure(path client.Path) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.measuring, v.path = true, path
}

// event is called by the client.
func (v *watcher) event(e client.Event) {
	if e.Kind == client.EventEnded {
		v.cancel(errCameraEnded)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.measuring || e.Kind == client.EventWaiting {
		return
	}
	text := e.Text
	if text == "" {
		text = string(e.Kind)
	}
	v.problems = append(v.problems, fmt.Sprintf("%s: %s", e.Kind, text))
}

func (v *watcher) problem(text string) {
	if text == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.problems = append(v.problems, text)
}

// start looks every LoadPeriod. The returned function ends that and takes a
// last look.
func (v *watcher) start(ctx context.Context) (stop func()) {
	v.alive(v.w.Now())
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(v.phase.LoadPeriod)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				v.tick(ctx)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
		v.look()
	}
}

func (v *watcher) tick(ctx context.Context) {
	if quiet := time.Duration(v.w.Now() - v.last.Load()); quiet >= v.phase.Timeout {
		v.cancel(fmt.Errorf("%w of %s for %v", ErrTimeout, v.phase.Stream, v.phase.Timeout))
		return
	}
	v.mu.Lock()
	measuring, path := v.measuring, v.path
	v.mu.Unlock()
	if !measuring {
		return
	}
	if !v.found {
		v.found = true
		v.publisher = v.w.Publisher(ctx, v.phase.Stream, path)
		if v.phase.PublisherPID != 0 {
			v.publisher.PID = v.phase.PublisherPID
		}
	}
	v.look()
}

// look reads loads and clocks.
func (v *watcher) look() {
	v.problem(v.step.look())
	if v.found {
		v.loads.add(v.w.Usage(v.publisher.PID))
	}
}
