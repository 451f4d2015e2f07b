// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import "time"

// repeats decides which of many like events are worth a line in the log: the
// first, every change of text, and then one a window that says how many were
// left out.
type repeats struct {
	window  time.Duration
	text    string
	logged  time.Time
	skipped int
}

// note reports whether an event of this text at time now is to be logged, and
// how many were left out since the last one that was.
func (r *repeats) note(now time.Time, text string) (log bool, skipped int) {
	const changes = time.Second // even changing texts come no faster than this
	pause := r.window
	if text != r.text {
		pause = changes
	}
	if !r.logged.IsZero() && now.Sub(r.logged) < pause {
		r.skipped++
		return false, 0
	}
	skipped = r.skipped
	r.text, r.logged, r.skipped = text, now, 0
	return true, skipped
}
