// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"github.com/seed-3c7e7623/camd/frame"
)

// origin is what tells a frame from others of the same camera, whichever way it
// came: sequence numbers do not, since those over Zenoh are of the publisher.
type origin struct {
	boot      string // of the host, "" if that is not known
	wall      int64  // time of the header, CLOCK_REALTIME in nanoseconds
	monotonic int64  // the same by this host's CLOCK_MONOTONIC
}

// origin is that of a frame in shared memory, which is on this host.
func (e *epoch) origin(m *frame.Meta) origin {
	o := origin{boot: here().boot, wall: e.info.Stamp.HeaderNanos(m), monotonic: m.CaptureNanos}
	if o.wall != m.WallNanos {
		o.monotonic = m.PublishNanos
	}
	return o
}

// origin is that of a message.
func (r *topicRoute) origin(m *frame.Meta) origin {
	return origin{boot: r.target.at.boot, wall: m.WallNanos, monotonic: m.CaptureNanos}
}

// newer reports whether a frame is newer than the last one, which came by another
// way if the way has changed since. Where the clocks cannot be compared, or do
// not say, it is. That the header is older is not enough: the system clock may
// have been set meanwhile. mu is held.
func (s *Subscription) newer(o origin) bool {
	if s.crossed && o.boot != "" && o.boot == s.last.boot && o.wall != 0 &&
		o.wall <= s.last.wall && o.monotonic <= s.last.monotonic+int64(stepSlack) {
		return false
	}
	s.crossed = false
	return true
}
