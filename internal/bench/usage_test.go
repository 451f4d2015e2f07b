// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	for text, want := range map[string][2]uint64{
		"cpu  10 20 30 400 50 6 7 8 9 1\ncpu0 1 1 1 1\n": {81, 531}, // guest time is user time
		"intr 5\ncpu 1 2 3 4\n":                          {6, 10},
		"cpu 1 2\n":                                      {0, 0},
		"cpu 1 x 3 4\n":                                  {0, 0},
		"":                                               {0, 0},
	} {
		if busy, total := parseStat([]byte(text)); busy != want[0] || total != want[1] {
			t.Errorf("%q: %d of %d, want %v", text, busy, total, want)
		}
	}
}

// TestClockOfAnotherProcess reads the processor time of this process as if it
// were another one.
func TestClockOfAnotherProcess(t *testing.T) {
	before := clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	u := readUsage(os.Getpid())
	after := clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	if before < 0 || u.PublisherNanos < before || u.PublisherNanos > after || u.SystemTotal == 0 {
		t.Errorf("%d is not between %d and %d; %d ticks", u.PublisherNanos, before, after, u.SystemTotal)
	}
	if u := readUsage(1 << 22); u.PublisherNanos != -1 {
		t.Errorf("a process that is not there used %d", u.PublisherNanos)
	}
}

func TestLoadsAreAveragedOverTheWindow(t *testing.T) {
	m := newLoadMeter(2)
	for i, busy := range []int64{0, 100, 300, 300, 700} {
		m.add(Usage{AtNanos: int64(i) * 1000, SubscriberNanos: busy, PublisherNanos: -1, SystemBusy: uint64(busy), SystemTotal: uint64(i) * 1000})
	}
	want := []int64{1000, 1500, 1000, 2000}
	for i := range want {
		if m.loads.Subscriber[i] != want[i] || m.loads.System[i] != want[i] {
			t.Errorf("loads %+v, want %v", m.loads, want)
			break
		}
	}
	if len(m.loads.Publisher) != 0 {
		t.Error("a load of a publisher that is not known")
	}
}
