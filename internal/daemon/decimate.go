// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"sync"

	"github.com/seed-3c7e7623/camd/capture"
)

// decimator leaves frames out so that, in the long run, no more than one a
// period passes: the time between stamps is credit, a frame that passes costs a
// period, and no more than two periods are kept, so that after a pause at most
// two frames pass together. The frame that is nearest to its time passes, be it
// early by slack: jitter makes no bursts. So n frames after the first take at
// least n periods, less slack, from its stamp.
type decimator struct {
	period int64 // ns; 0 = everything passes
	slack  int64 // ns
	credit int64 // ns, not below -slack
	last   int64 // newest stamp
	begun  bool
}

// expect fits slack to the nominal time from frame to frame (ns; 0 = not known).
func (d *decimator) expect(interval int64) { d.slack = min(interval, d.period) / 2 }

// pass reports whether the frame with this stamp (ns) passes. A stamp before the
// last one gives no credit.
func (d *decimator) pass(stamp int64) bool {
	if d.period == 0 {
		return true
	}
	if !d.begun {
		d.begun, d.last = true, stamp
		return true
	}
	if stamp > d.last {
		// The difference of stamps that are far apart is no number.
		if step := uint64(stamp) - uint64(d.last); step < uint64(3*d.period) {
			d.credit += int64(step)
		} else {
			d.credit += 3 * d.period
		}
		d.credit = min(d.credit, 2*d.period)
	}
	d.last = stamp
	if d.credit < d.period-d.slack {
		return false
	}
	d.credit -= d.period
	return true
}

// rarer is the decimator of a stream, or of several of one camera with the same
// rate: of a picture that goes out on all of them, all leave the same ones out.
type rarer struct {
	mu sync.Mutex
	decimator
	picture int64 // PublishNanos of the last one that went out on several
	passed  bool  // that one
}

// expect is that of the decimator.
func (r *rarer) expect(interval int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decimator.expect(interval)
}

// pass reports whether the picture with this stamp passes.
func (r *rarer) pass(st *capture.Stamp) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if st.PublishNanos != 0 && st.PublishNanos == r.picture {
		return r.passed
	}
	r.picture, r.passed = st.PublishNanos, r.decimator.pass(st.CaptureNanos)
	return r.passed
}
