// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl

import (
	"strings"

	"github.com/seed-3c7e7623/camd/capture"
)

// What go4vl v0.5.0 says of single frames. It has no values for these errors, and
// keeps one error at a time, so that a loss may also go unsaid: the gap in the
// driver's numbers shows it all the same, without the reason.
const (
	textDamaged = "buffer error flag"
	textLate    = "frame dropped (consumer too slow)"
)

// losses is what go4vl said of frames that it did not deliver and that no gap in
// the driver's numbers has shown yet.
type losses struct{ damaged, late int }

// note reports whether err is about a single frame.
func (l *losses) note(err error) bool {
	switch text := err.Error(); {
	case strings.Contains(text, textDamaged):
		l.damaged++
	case strings.Contains(text, textLate):
		l.late++
	default:
		return false
	}
	return true
}

// share counts a gap of n frames by their reasons; what go4vl did not speak of is
// the device's.
func (l *losses) share(n int, drop func(int, capture.DropReason)) {
	for _, part := range []struct {
		of     *int
		reason capture.DropReason
	}{{&l.damaged, capture.DropDamaged}, {&l.late, capture.DropLate}} {
		if k := min(n, *part.of); k > 0 {
			*part.of -= k
			n -= k
			drop(k, part.reason)
		}
	}
	if n > 0 {
		drop(n, capture.DropDevice)
	}
}
