// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// cell is one of the combinations in which frames reach readers on the GPU.
type cell struct {
	readers int
	inC     bool
	delay   sim.Delay
	micros  int
	seed    uint64
	rounds  int // of kills
	frames  int // that each reader takes in a round
}

func (c cell) String() string {
	language := "Go"
	if c.inC {
		language = "C"
	}
	return fmt.Sprintf("%d in %s, %s, seed %d", c.readers, language, c.delay, c.seed)
}

// Whatever the delays of the GPU, and whoever is killed or stands still: readers
// in Go and C get whole frames of the right number, in order, at take and at
// release; camd and a reader by shared memory beside them do not notice; and
// nothing is left.
func TestGPUMatrix(t *testing.T) {
	for i, n := range []int{1, 4, 8} {
		for j, inC := range []bool{false, true} {
			c := cell{
				readers: n, inC: inC, delay: []sim.Delay{sim.Uniform, sim.Heavy, sim.Hold}[(i+j)%3], micros: 1000,
				seed: uint64(10*i + j), rounds: 2, frames: 15,
			}
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				c.run(t)
			})
		}
	}
}

// TestSoakGPUMatrix does so for thousands of frames each, with other seeds each
// time.
func TestSoakGPUMatrix(t *testing.T) {
	needSoak(t)
	random := seeded(t)
	for _, delay := range []sim.Delay{sim.None, sim.Uniform, sim.Heavy, sim.Hold} {
		for _, n := range []int{1, 4, 8} {
			for _, inC := range []bool{false, true} {
				c := cell{readers: n, inC: inC, delay: delay, micros: 2000, seed: random.Uint64N(1 << 30), rounds: 25, frames: 50}
				t.Run(c.String(), c.run)
			}
		}
	}
}

func (c cell) run(t *testing.T) {
	random := rand.New(rand.NewPCG(c.seed, 1))
	s := startSimulated(t, sim.Options{Delay: c.delay, DelayMicros: c.micros, Seed: c.seed + 1}, pixelCamera+",max_subscribers=10")
	host := s.daemon.camsub("hz", "test/color", "--verify", "--format", "json", "--accept", "shm")
	var readers []gpuReader
	for i := range c.readers {
		readers = append(readers, s.gpuReader(c.inC, c.seed+uint64(i)))
	}
	total, slowest := 0, time.Duration(0)
	for round := range c.rounds {
		for _, r := range readers {
			r.more(c.frames)
		}
		s.subscriber(host, 1)
		c.undisturbed(t, s, host, readers, random)
		if round%2 == 1 { // of camd
			s.reboot()
			continue
		}
		i := random.IntN(len(readers))
		pause(time.Duration(random.IntN(20)) * time.Millisecond)
		slowest = max(slowest, s.killReader(readers[i]))
		total += len(readers[i].taken())
		readers[i] = s.gpuReader(c.inC, random.Uint64N(1000))
	}
	for _, r := range readers {
		r.more(c.frames)
		total += r.finish()
	}
	host.interrupt()
	if h := hzOf(t, host); h.Verify.Torn+h.Verify.Stale != 0 || h.Verify.Frames == 0 {
		t.Errorf("the reader by shared memory: %+v", h.Verify)
	}
	s.emptied()
	t.Logf("%d frames on the GPU; leases of a killed reader are seen back after at most %v", total, slowest.Round(time.Millisecond))
}

// undisturbed has one of the readers stand still: camd goes on, and nothing is
// kept from who reads by shared memory.
func (c cell) undisturbed(t *testing.T, s *simulated, host *process, readers []gpuReader, random *rand.Rand) {
	t.Helper()
	stopped := readers[random.IntN(len(readers))]
	stopped.stop()
	from := s.stream()
	to := s.advance(20)
	stopped.signal(syscall.SIGCONT)
	before, _ := from.subscriber(host.pid())
	after, ok := to.subscriber(host.pid())
	if !ok || after.Skipped != 0 || after.Granted <= before.Granted {
		t.Errorf("the reader by shared memory: listed %v, %+v, then %+v", ok, before, after)
	}
	if len(readers) > 1 && to.DeviceRing.Frames <= from.DeviceRing.Frames {
		t.Errorf("no frames came to the GPU: %+v, then %+v", from.DeviceRing, to.DeviceRing)
	}
	if to.DeviceRing.NoSlot+to.DeviceRing.Errors != 0 || to.Dropped["no_slot"] != 0 {
		t.Errorf("device ring %+v, the camera dropped %v", to.DeviceRing, to.Dropped)
	}
}

// killReader kills a reader and waits until what it held is back. It returns
// how long that took to be seen.
func (s *simulated) killReader(r gpuReader) time.Duration {
	s.t.Helper()
	s.killed = append(s.killed, r.pid())
	began := time.Now()
	r.kill()
	eventually(s.t, "the leases of a killed reader are back", func() (bool, string) {
		st := s.stream()
		_, there := st.subscriber(r.pid())
		leased := 0
		for _, b := range st.Subscribers {
			if b.Backend == "cuda" {
				leased += b.Credit + 1
			}
		}
		return !there && (st.DeviceRing == nil || st.DeviceRing.Leased <= leased), fmt.Sprintf("listed %v, %+v", there, st.DeviceRing)
	})
	return time.Since(began)
}

// emptied waits until nothing is on the GPU any more.
func (s *simulated) emptied() {
	s.t.Helper()
	eventually(s.t, "nothing is left on the GPU", func() (bool, string) {
		n, st := sim.Memory(s.t, s.run), s.stream()
		leased := st.DeviceRing != nil && st.DeviceRing.Leased != 0
		return n == 0 && !leased && st.Ring.Leased == 0, fmt.Sprintf("%d bytes, %+v, host ring %+v", n, st.DeviceRing, st.Ring)
	})
}
