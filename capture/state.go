// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"time"
)

// State is how a camera fares, judged by the arrival of frames and not by what
// its driver or process claims.
type State int

// The states of a camera.
const (
	StateStarting State = iota // opened for the first time, no frame yet
	StateRunning               // frames arrive
	StateStalled               // open, but no frame for longer than the stall timeout
	StateLost                  // missing or failed; tried again after a pause
	StateFailed                // cannot work as configured; not tried again
	StateEnded                 // a recording that does not loop came to its end
	StateStopped               // stopped from outside
)

var stateNames = [...]string{"starting", "running", "stalled", "lost", "failed", "ended", "stopped"}

// String is the name of the state.
func (s State) String() string {
	if s >= 0 && int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", int(s))
}

// MarshalText writes the name of the state.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of a state.
func (s *State) UnmarshalText(text []byte) error {
	for i, n := range stateNames {
		if n == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("unknown camera state %q", shorten(string(text)))
}

// Health is a snapshot of how a camera fares.
type Health struct {
	State State
	Since time.Time // when State began
	// Problem is why State is not running, or the last reason why it was not;
	// "" if there never was one.
	Problem   string
	Restarts  uint64 // times that the source was run again
	Abandoned int    // runs that did not stop when told to and are still at large
	Frames    uint64 // published since the supervisor began
	// LastFrameNanos is CLOCK_MONOTONIC at which the newest frame was there; 0
	// before the first one.
	LastFrameNanos int64
}
