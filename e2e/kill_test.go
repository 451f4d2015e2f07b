// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const killCamera = "test=pattern,320x240@120"

// seeded returns a source of random numbers whose seed is in the log.
func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestKillDaemon kills camd ten times at random moments.
func TestKillDaemon(t *testing.T) {
	t.Parallel()
	killDaemon(t, 10)
}

// TestSoakKillDaemon does so a thousand times.
func TestSoakKillDaemon(t *testing.T) {
	needSoak(t)
	killDaemon(t, 1000)
}

func killDaemon(t *testing.T, times int) {
	random := seeded(t)
	dir := newDir(t)
	d := launchDaemon(t, dir, killCamera)
	d.ready()
	futex, pipe := d.reader(), d.reader("-wake", "pipe")
	checked := d.camsub("hz", "test/color", "--verify", "--format", "json")
	everyone := func(d *daemon) {
		for _, p := range []*process{futex.process, pipe.process, checked} {
			d.subscriber(p, 10)
		}
	}
	everyone(d)
	camd := settled(t, d.pid())
	clients := map[*process]resources{}
	for _, p := range []*process{futex.process, pipe.process, checked} {
		clients[p] = settled(t, p.pid())
	}

	for round := range times {
		switch round % 3 {
		case 0: // with everyone in full run
			d.ready()
			everyone(d)
			d.advance(uint64(random.IntN(30)))
		case 1: // while they come back
			d.ready()
			pause(time.Duration(random.IntN(int(400 * time.Millisecond))))
		case 2: // while it starts
			pause(time.Duration(random.IntN(int(60 * time.Millisecond))))
		}
		d.kill()
		if names := slices.DeleteFunc(filesIn(t, dir), func(n string) bool { return n == "camd.sock" }); len(names) > 0 {
			t.Fatalf("killed camd left %v", names)
		}
		d = launchDaemon(t, dir, killCamera)
	}
	d.ready()
	everyone(d)

	if names := filesIn(t, dir); !slices.Equal(names, []string{"camd.sock"}) {
		t.Errorf("runtime directory has %v", names)
	}
	back(t, "camd", d.pid(), camd)
	back(t, "reader by futex", futex.pid(), clients[futex.process])
	back(t, "reader by pipe", pipe.pid(), clients[pipe.process])
	back(t, "camsub", checked.pid(), clients[checked])
	for _, r := range []reader{futex, pipe} {
		_, _, reconnects := r.end()
		// Rounds in which camd was killed while it started may have no session.
		if sessions := checkOrder(t, r.frames()); sessions < times/3+1 || reconnects < uint64(sessions-1) {
			t.Errorf("frames of %d sessions after %d kills, %d reconnects", sessions, times, reconnects)
		}
	}
	checked.interrupt()
	if r := hzOf(t, checked); r.Verify.Torn != 0 || r.Verify.Stale != 0 || r.Reconnects == 0 {
		t.Errorf("camsub through %d kills: %+v, %+v", times, r, r.Verify)
	}
	noNames(t)
	d.stop()
}

// noNames checks that shared memory has no name that could stay behind.
func noNames(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir("/dev/shm")
	if err != nil {
		return // no such place, no such name
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "camd") {
			t.Errorf("/dev/shm has %s", e.Name())
		}
	}
}

// TestKillSubscriber kills subscribers ten times at random moments.
func TestKillSubscriber(t *testing.T) {
	t.Parallel()
	killSubscriber(t, 10)
}

// TestSoakKillSubscriber does so a thousand times.
func TestSoakKillSubscriber(t *testing.T) {
	needSoak(t)
	killSubscriber(t, 1000)
}

func killSubscriber(t *testing.T, times int) {
	random := seeded(t)
	d := startDaemon(t, killCamera)
	good := d.reader()
	d.subscriber(good.process, 10)
	base := settled(t, d.pid())
	for round := range times {
		args := []string{"hz", "test/color", "--wake", []string{"futex", "pipe"}[random.IntN(2)]}
		if random.IntN(2) == 0 {
			args = append(args, "--hold", "forever")
		}
		// Several at a time, so that they die in every state of each other.
		var victims []*process
		for range 1 + random.IntN(4) {
			victims = append(victims, d.camsub(args...))
		}
		if round%2 == 0 {
			d.subscriber(victims[0], uint64(1+random.IntN(20)))
		}
		pause(time.Duration(random.IntN(int(50 * time.Millisecond))))
		for _, v := range victims {
			v.kill()
		}
	}
	d.subscribed(1)
	back(t, "camd", d.pid(), base)
	s := d.stream()
	b, ok := s.subscriber(good.pid())
	if !ok || b.Skipped != 0 {
		t.Errorf("the other subscriber: listed %v, skipped %d", ok, b.Skipped)
	}
	b.balanced(t)
	if s.Dropped["no_slot"] != 0 {
		t.Errorf("%d frames found no slot", s.Dropped["no_slot"])
	}
	if _, _, reconnects := good.end(); reconnects != 0 {
		t.Errorf("the other subscriber connected %d times again", reconnects)
	}
	d.subscribed(0)
	eventually(t, "every slot is back", func() (bool, string) {
		r := d.stream().Ring
		return r.Leased == 0 && r.Free >= r.Slots-2, fmt.Sprintf("%d leased, %d of %d free", r.Leased, r.Free, r.Slots)
	})
	noNames(t)
}
