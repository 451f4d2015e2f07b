// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import "time"

// set changes the state and tells who wants to know. problem "" keeps the last.
func (s *Supervisor) set(state State, problem string) {
	s.mu.Lock()
	changed := s.health.State != state
	if changed {
		s.health.State = state
		s.health.Since = time.Now()
	}
	if problem != "" {
		s.health.Problem = problem
	}
	s.mu.Unlock()
	if changed && s.OnChange != nil {
		s.OnChange(s.Health())
	}
}

func (s *Supervisor) state() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health.State
}

// lost notes a run that failed; the next one begins after pause.
func (s *Supervisor) lost(err error, pause time.Duration) {
	now := time.Now()
	if s.problemSince.IsZero() {
		s.problemSince, s.attempts = now, 1
	}
	s.set(StateLost, err.Error())
	log, skipped := s.lostLog.note(now, err.Error())
	if !log {
		return
	}
	s.announced = true
	s.Log.Warn("camera lost, will be tried again", "source", s.Source.Describe(), "err", err,
		"pause", pause, "attempts", s.attempts, "for", now.Sub(s.problemSince).Round(time.Millisecond), "not_logged", skipped)
}

// stalled notes that no frame came for idle.
func (s *Supervisor) stalled(r *run, idle time.Duration) {
	if s.problemSince.IsZero() {
		s.problemSince, s.attempts = time.Now().Add(-idle), 1
	}
	if s.state() != StateStalled {
		text := "no frame for " + idle.Round(time.Millisecond).String()
		if r.frames.Load() == 0 {
			text += " since it was opened"
		}
		s.set(StateStalled, text)
		if log, skipped := s.stallLog.note(time.Now(), ""); log {
			s.announced = true
			s.Log.Warn("camera stalled", "source", s.Source.Describe(), "idle", idle.Round(time.Millisecond),
				"frames", r.frames.Load(), "not_logged", skipped)
		}
	}
	r.waiting.Store(true)
	// A frame may have come between the look at the clock and the order to
	// report frames.
	if r.idle() < idle {
		select {
		case r.arrived <- struct{}{}:
		default:
		}
	}
}

// recovered notes that frames arrive.
func (s *Supervisor) recovered(r *run) {
	if s.state() == StateRunning {
		return
	}
	first := s.problemSince.IsZero()
	away := time.Since(s.problemSince).Round(time.Millisecond)
	attempts, announced := s.attempts, s.announced
	s.problemSince, s.attempts, s.announced = time.Time{}, 0, false
	s.set(StateRunning, "")
	switch {
	case first:
		s.Log.Info("camera running", "source", s.Source.Describe())
	case announced:
		s.Log.Info("camera running again", "source", s.Source.Describe(), "away", away, "attempts", attempts)
	}
}
