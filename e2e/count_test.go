// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// TestCounts holds the budget of system calls and copies: one wake-up for all
// readers by futex, one for each by pipe, none for who does not wait.
func TestCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		futex, pipe int
	}{
		{"eight by futex", 8, 0},
		{"eight by pipe", 0, 8},
		{"five and three", 5, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := startDaemon(t, "test=pattern,320x240@100")
			for range c.futex {
				d.reader().await(1)
			}
			for range c.pipe {
				d.reader("-wake", "pipe").await(1)
			}
			d.subscribed(c.futex + c.pipe)
			// In a document the wake-ups are the youngest numbers: those of the
			// first are taken off, those of the last belong to its frames or to
			// the one after.
			from := d.stream()
			to := d.advance(150)
			published := to.Published - from.Published + 1
			futex, pipe := to.Ring.FutexWakes-from.Ring.FutexWakes, to.Ring.PipeWakes-from.Ring.PipeWakes
			if futex > published || (c.futex == 0) != (futex == 0) {
				t.Errorf("%d futex wake-ups for %d frames and %d readers", futex, published, c.futex)
			}
			if pipe > published*uint64(c.pipe) || (c.pipe == 0) != (pipe == 0) {
				t.Errorf("%d pipe wake-ups for %d frames and %d readers", pipe, published, c.pipe)
			}
			if to.HostCopies == nil || *to.HostCopies != 0 {
				t.Errorf("host_copies is %v, want 0", to.HostCopies)
			}
		})
	}
}

// TestStoppedReaderCostsOneWake stops the only reader: it is woken once, and
// never again while it does not come.
func TestStoppedReaderCostsOneWake(t *testing.T) {
	t.Parallel()
	for _, wake := range []string{"futex", "pipe"} {
		t.Run(wake, func(t *testing.T) {
			t.Parallel()
			d := startDaemon(t, "test=pattern,320x240@100")
			r := d.reader("-wake", wake)
			r.await(5)
			r.stop()
			from := d.advance(2).Ring
			to := d.advance(100).Ring
			if got := to.FutexWakes + to.PipeWakes - from.FutexWakes - from.PipeWakes; got > 1 {
				t.Errorf("%d wake-ups of a stopped reader", got)
			}
		})
	}
}
