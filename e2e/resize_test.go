// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// TestChangeOfSize changes the size of a stream under its readers, again and
// again: they go over without connecting anew, and what they hold stays.
func TestChangeOfSize(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=pattern,320x240@60,fault.resize=700ms")
	verified := d.camsub("hz", "test/color", "--verify", "--format", "json")
	futex, pipe := d.reader(), d.reader("-wake", "pipe")
	base := settled(t, d.pid())

	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	sub := subscribe(t, ctx, d, client.WithCredit(3))
	var kept client.Frame
	sizes := map[int]bool{}
	epochs := uint64(0)
	for last := uint64(0); epochs < 5; {
		f, err := sub.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sizes[f.Geometry().Width] = true
		if e := f.Epoch(); e != last {
			if last != 0 && f.Meta().Flags&frame.Discontinuity == 0 {
				t.Errorf("first frame of epoch %d is not marked as a discontinuity", e)
			}
			epochs, last = epochs+1, e
		}
		if err := pattern.VerifyNumber(f.Geometry(), f.Data(), f.Meta().DriverSequence); err != nil {
			t.Errorf("epoch %d: %v", f.Epoch(), err)
		}
		if epochs == 1 && kept == (client.Frame{}) {
			kept = f // of the first epoch, to the end
			continue
		}
		f.Release()
	}
	if len(sizes) != 2 {
		t.Errorf("%d sizes were seen, want 2", len(sizes))
	}
	if err := kept.Valid(); err != nil {
		t.Errorf("frame of an epoch that is over: %v", err)
	}
	if err := pattern.VerifyNumber(kept.Geometry(), kept.Data(), kept.Meta().DriverSequence); err != nil {
		t.Errorf("frame of an epoch that is over: %v", err)
	}
	kept.Release()
	if st := sub.Stats(); st.Reconnects != 0 {
		t.Errorf("%d reconnects", st.Reconnects)
	}
	if err := sub.Close(); err != nil {
		t.Error(err)
	}

	back(t, "camd", d.pid(), resources{fds: base.fds, rings: base.rings, anonymous: base.anonymous})
	for _, r := range []reader{futex, pipe} {
		var frames []taken
		eventually(t, "reader is in its fifth epoch", func() (bool, string) {
			frames = r.frames()
			first, last := frames[0].epoch, frames[len(frames)-1].epoch
			return last >= first+4, fmt.Sprintf("from %d to %d", first, last)
		})
		if checkOrder(t, frames) != 1 {
			t.Error("more than one session")
		}
		if _, _, reconnects := r.end(); reconnects != 0 {
			t.Errorf("%d reconnects", reconnects)
		}
	}
	verified.interrupt()
	if r := hzOf(t, verified); r.Verify.Torn != 0 || r.Verify.Stale != 0 || r.Reconnects != 0 {
		t.Errorf("camsub through %d epochs: %+v, %+v", epochs, r, r.Verify)
	}
}

// TestStoppedThroughChanges has a reader stopped, and another that never reads
// its socket, while the size changes many times. Neither is cut off; what is
// said to them in between keeps the memory of one ring at most.
func TestStoppedThroughChanges(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "test=pattern,320x240@100,fault.resize=100ms")
	r := d.reader()
	r.await(5)
	deaf := attach(t, d.dir, negotiate.WakeFutex)
	r.stop()
	before := r.frames()
	from := d.stream().Epoch
	eventually(t, "twenty more epochs", func() (bool, string) {
		e := d.stream().Epoch
		return e >= from+20, fmt.Sprint(e - from)
	})
	reached := d.stream().Epoch
	r.signal(syscall.SIGCONT)
	eventually(t, "reader is in the newest epochs", func() (bool, string) {
		frames := r.frames()
		last := frames[len(frames)-1].epoch
		return last >= reached, fmt.Sprintf("from %d to %d, wanted %d", before[len(before)-1].epoch, last, reached)
	})
	checkOrder(t, r.frames())
	if _, _, reconnects := r.end(); reconnects != 0 {
		t.Errorf("%d reconnects", reconnects)
	}
	if n := deaf.queued(); n != 1 {
		t.Errorf("%d messages lie in the queue of a client that does not read, want 1", n)
	}
	if !strings.Contains(lineWith(d.statusText(), "e2e.test["), "test/color") {
		t.Error("the client that does not read is not a subscriber any more")
	}
}
