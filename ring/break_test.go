// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"testing"

	"github.com/seed-3c7e7623/camd/frame"
)

// A reader that comes late never sees the marked frame, but the newest one says
// which it was.
func TestBreakOutlivesItsFrame(t *testing.T) {
	rg := newRig(t, nil)
	_, v := rg.open(2, -1)
	rg.publish()
	if l := wantFrame(t, v, 1); l.Meta.BreakSequence != 0 {
		t.Errorf("break at %d before there was one", l.Meta.BreakSequence)
	} else {
		v.Release(l.Word)
	}
	slot, err := rg.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	rg.seq++
	rg.Publish(slot, &frame.Meta{Sequence: rg.seq, Bytes: 8, Flags: frame.Discontinuity})
	rg.publish()
	l := wantFrame(t, v, 3)
	if l.Meta.BreakSequence != 2 || l.Meta.Flags&frame.Discontinuity != 0 {
		t.Errorf("break at %d with flags %v, want 2 and no flag", l.Meta.BreakSequence, l.Meta.Flags)
	}
}
