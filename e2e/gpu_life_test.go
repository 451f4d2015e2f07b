// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// Readers on the GPU that are killed give back what they held; camera, device ring
// and the reader that stays notice nothing, and what was theirs on the GPU is gone.
func TestKilledReadersOnGPU(t *testing.T) {
	t.Parallel()
	s := startSimulated(t, sim.Options{Delay: sim.Uniform, DelayMicros: 1000}, "test=pattern,160x120@120")
	stays := start(t, []with{withEnv(s.env...)}, built.camsub, "hz", "test/color", "--require", "cuda", "--verify", "--duration", "1h")
	stays.awaitErr("by cuda")
	var killed []int
	for i := range 10 {
		p := start(t, []with{withEnv(s.env...)}, built.camsub, "hz", "test/color", "--require", "cuda", "--hold", fmt.Sprintf("%dms", 20*i+1), "--duration", "1h")
		p.awaitErr("by cuda")
		killed = append(killed, p.pid())
		p.kill()
	}
	eventually(t, "leases and places are back", func() (bool, string) {
		st := s.status().Streams[0]
		return len(st.Subscribers) == 1 && st.DeviceRing.Leased <= 3, fmt.Sprintf("%d subscribers, %+v", len(st.Subscribers), st.DeviceRing)
	})
	eventually(t, "only the ring is left on the GPU", func() (bool, string) {
		n, want := sim.Memory(t, s.run), s.status().CUDA.RingBytes
		return n == want, fmt.Sprintf("%d bytes, the ring has %d", n, want)
	})
	if st := s.status().Streams[0]; st.DeviceRing.NoSlot != 0 || st.DeviceRing.Errors != 0 || st.Dropped["no_slot"] != 0 {
		t.Errorf("device ring %+v, the camera dropped %v", st.DeviceRing, st.Dropped)
	}
	stays.interrupt()
	if code := stays.wait(); code != 0 || !strings.Contains(stays.err.String(), " 0 torn, 0 stale") {
		t.Errorf("the reader that stayed: exit code %d\n%s", code, stays.err)
	}
	s.killed = killed
}

// A camd that is killed takes everything on the GPU with it; its readers go on
// with the next one.
func TestKilledDaemonWithGPU(t *testing.T) {
	t.Parallel()
	s := startSimulated(t, sim.Options{Delay: sim.Uniform, DelayMicros: 1000}, "test=pattern,160x120@60")
	reader := start(t, []with{withEnv(s.env...)}, built.camsub, "hz", "test/color", "--require", "cuda", "--verify", "--duration", "1h")
	reader.awaitErr("by cuda")
	for range 3 {
		s.reboot()
		eventually(t, "the reader is back on the GPU", func() (bool, string) {
			st := s.status().Streams[0]
			return len(st.Subscribers) == 1 && st.DeviceRing != nil && st.DeviceRing.Frames > 10, fmt.Sprintf("%d subscribers, %+v", len(st.Subscribers), st.DeviceRing)
		})
	}
	reader.interrupt()
	if code := reader.wait(); code != 0 || !strings.Contains(reader.err.String(), " 0 torn, 0 stale") {
		t.Errorf("reader: exit code %d\n%s", code, reader.err)
	}
	s.emptied()
}

// Another user gets device memory only where it is listed, and reads by shared
// memory otherwise, with the reason.
func TestOtherUserOnGPU(t *testing.T) {
	t.Parallel()
	needRoot(t)
	library := openLibrary(t)
	for name, c := range map[string]struct {
		more []string
		path string
	}{
		"not listed": {nil, "by shm (futex), 160x120 bgra8; not cuda: policy"},
		"listed":     {[]string{"--set", fmt.Sprintf("cuda.users=%d", nobody)}, "by cuda (futex, on SIMULATED"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSimulated(t, sim.Options{}, "test=pattern,160x120@30", append(c.more, "--allow-uid", fmt.Sprint(nobody))...)
			if err := os.Chmod(s.dir, 0o711); err != nil {
				t.Fatal(err)
			}
			env := append(s.env, gpu.EnvLibrary+"="+library)
			expect(t, []with{withEnv(env...), withUser(nobody)}, 0, []string{c.path}, built.camsub, "hz", "test/color", "--accept", "cuda,shm", "--verify", "--count", "10")
			st := s.status()
			if c.more == nil && (st.CUDA.Rings != 0 || st.Streams[0].DeviceRing != nil) {
				t.Errorf("memory on the GPU for somebody who may not have it: %+v", st.CUDA)
			}
		})
	}
}
