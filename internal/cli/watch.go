// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// quietAfter is how long a stream may give no frames before its state is said.
const quietAfter = 5 * time.Second

// watch runs beside the loop, so that no timer is in the measured path: it
// ticks the meter once a second, ends the measurement after --timeout without
// a frame, and says what is known about a stream that stays silent.
func (r *runner) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	timeout := time.Duration(r.limits.timeout)
	// Without --timeout the timer is never started and its channel stays empty.
	deadline := time.NewTimer(time.Hour)
	deadline.Stop()
	defer deadline.Stop()
	if timeout > 0 {
		deadline.Reset(timeout)
	}
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			left := timeout - r.waited()
			if left <= 0 {
				cancel(fmt.Errorf("%w: no frame of %s for %v", ErrTimeout, r.stream, timeout))
				return
			}
			deadline.Reset(left)
		case <-ticker.C:
			if err := r.tickMeter(); err != nil {
				cancel(err)
				return
			}
			if r.waited() < quietAfter {
				said = ""
				continue
			}
			text, ended := r.silence(ctx)
			if text != said {
				said = text
				r.notes.say("%s", text)
			}
			if ended && r.untilEnd {
				cancel(errDone)
				return
			}
		}
	}
}

// topicInfo is what the subscription knows, nothing before there is one.
func (r *runner) topicInfo() negotiate.StreamInfo {
	r.mu.Lock()
	sub := r.sub
	r.mu.Unlock()
	if sub == nil {
		return negotiate.StreamInfo{}
	}
	return sub.Info()
}

func (r *runner) waited() time.Duration {
	since := r.waiting.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(r.now() - since)
}

// tickMeter prints outside the lock: a slow terminal must not hold up the loop.
func (r *runner) tickMeter() error {
	r.mu.Lock()
	if r.sub == nil {
		r.mu.Unlock()
		return nil
	}
	text := r.meter.tick(r.now())
	r.mu.Unlock()
	return r.print(text)
}

// silence says why a stream may give no frames, and whether its camera has come
// to its end. It asks the daemon, with a time limit of its own so that the
// watch stays alive; of a topic the subscription knows it.
func (r *runner) silence(ctx context.Context) (text string, ended bool) {
	if client.IsTopic(r.stream) {
		info := r.topicInfo()
		text = fmt.Sprintf("%s: no frame for %v", r.stream, quietAfter)
		switch {
		case info.Problem != "":
			text += ": " + info.Problem
		case info.Camera != "":
			text += ", though " + info.Camera + " publishes it"
		}
		return text, false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	info, ok := r.state(ctx)
	if !ok {
		return fmt.Sprintf("%s: no frame for %v, and its camd does not say why", r.stream, quietAfter), false
	}
	text = fmt.Sprintf("%s: no frame for %v, camera %s is %s", r.stream, quietAfter, info.Camera, info.State)
	if info.Problem != "" {
		text += ": " + info.Problem
	}
	return text, info.State == capture.StateEnded.String()
}
