// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// gpuHelper is a program that works on frames on the GPU. It subscribes once for
// each argument, and has the frames by the backend that this names. Its work is
// to copy them.
func gpuHelper(accept []string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	dev, err := gpu.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	var subs []*gpu.Subscription
	for _, a := range accept {
		sub, err := dev.Subscribe(ctx, "test/color", client.WithAccept(negotiate.Backend(a)))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sub.Close()) }()
		subs = append(subs, sub)
	}
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	for range 20 {
		for _, sub := range subs {
			if err := gpuFrame(ctx, dev, sub, stream); err != nil {
				return err
			}
		}
	}
	for _, sub := range subs {
		c := sub.Counts()
		fmt.Printf("by %s: %d in place, %d registered, %d staged\n", sub.Path().Backend, c.InPlace, c.Registered, c.Staged)
	}
	return nil
}

// gpuFrame has work of the GPU copy a frame, which must be whole then.
func gpuFrame(ctx context.Context, dev *gpu.Device, sub *gpu.Subscription, stream gpu.Stream) error {
	f, err := sub.Next(ctx)
	if err != nil {
		return err
	}
	g, m := f.Geometry(), f.Meta()
	v, err := f.OnDevice(stream)
	if err != nil {
		return err
	}
	var copied []byte
	err = dev.Do(func(t *driver.Thread) (err error) {
		if copied, err = t.HostAlloc(v.Bytes); err != nil {
			return err
		}
		return t.DtoH(copied, v.Ptr, stream)
	})
	if err != nil {
		return err
	}
	// Given back before the work is done: that is waited for.
	if err := errors.Join(f.Release(), dev.Synchronize(stream)); err != nil {
		return err
	}
	n, err := pattern.Verify(g, copied)
	if err == nil && m.DriverSequence != 0 && n != m.DriverSequence {
		err = fmt.Errorf("the pattern of frame %d in frame %d", n, m.DriverSequence)
	}
	return errors.Join(err, dev.Do(func(t *driver.Thread) error { return t.HostFree(copied) }))
}

// simulated is a camd with a simulated GPU, and what its clients need for it.
type simulated struct {
	*daemon
	env  []string
	run  string   // directory of the simulated driver
	args []string // of camd

	killed    []int // processes that could give nothing back
	leftAlone bool  // camd is not stopped at the end
}

func startSimulated(t testing.TB, o sim.Options, camera string, more ...string) *simulated {
	t.Helper()
	library := sim.Build(t)
	env, run := sim.Env(t, o)
	s := &simulated{run: run}
	t.Cleanup(func() {
		sim.Clean(t, run)
		sim.NoLeaks(t, run, s.killed...)
		if n := sim.Memory(t, run); n != 0 {
			t.Errorf("%d bytes of device memory are left", n)
		}
	})
	s.daemon = &daemon{dir: newDir(t)}
	s.args = append([]string{"run", "--runtime-dir", s.dir, "--set", "cuda.library=" + library, "--camera", camera}, more...)
	s.env = append(env, gpu.EnvLibrary+"="+library, "CAMD_RUNTIME_DIR="+s.dir)
	s.boot(t)
	return s
}

// boot starts camd.
func (s *simulated) boot(t testing.TB) {
	t.Helper()
	d := &daemon{dir: s.dir, process: start(t, []with{withEnv(s.env...)}, built.camd, s.args...)}
	s.daemon = d
	d.ready()
	t.Cleanup(func() {
		if d == s.daemon && !s.leftAlone { // else it was killed
			d.stop()
		}
	})
}

// reboot kills camd and starts it anew.
func (s *simulated) reboot() {
	s.t.Helper()
	s.killed = append(s.killed, s.pid())
	s.kill()
	s.boot(s.t)
}

// camsub runs camsub to its end and wants this exit code.
func (s *simulated) camsub(t *testing.T, code int, args ...string) *process {
	t.Helper()
	p := start(t, []with{withEnv(s.env...)}, built.camsub, args...)
	if got := p.wait(); got != code {
		t.Fatalf("exit code %d, want %d; it said:\n%s%s", got, code, p.out, p.err)
	}
	return p
}

func TestSubscribersOnGPU(t *testing.T) {
	t.Parallel()
	s := startSimulated(t, sim.Options{Delay: sim.Uniform, DelayMicros: 2000}, "test=pattern,320x240@60,fault.resize=700ms")
	both := []string{"--accept", "cuda,shm"}
	t.Run("verified", func(t *testing.T) {
		p := s.camsub(t, 0, "hz", "test/color", "--verify", "--count", "120", "--require", "cuda", "--format", "json")
		var r struct {
			Backend, GPU string
			Name         string `json:"gpu_name"`
			Verify       struct{ Frames, Torn, Stale int }
		}
		if err := json.Unmarshal([]byte(p.out.String()), &r); err != nil {
			t.Fatal(err)
		}
		if r.Backend != "cuda" || r.GPU != sim.UUID(0) || !strings.HasPrefix(r.Name, "SIMULATED") || r.Verify.Frames < 120 || r.Verify.Torn+r.Verify.Stale != 0 {
			t.Errorf("%+v", r)
		}
		if !strings.Contains(p.err.String(), "by cuda (futex, on SIMULATED") {
			t.Errorf("it said %q", p.err)
		}
	})
	for _, command := range [][]string{
		{"latency", "test/color", "--count", "30"},
		{"bw", "test/color", "--count", "30"},
		{"delay", "test/color", "--count", "30"},
		{"echo", "test/color", "--once"},
	} {
		t.Run(command[0], func(t *testing.T) {
			p := s.camsub(t, 0, append(command, "--require", "cuda")...)
			if p.out.String() == "" || !strings.Contains(p.err.String(), "by cuda") {
				t.Errorf("it said %q", p.err)
			}
		})
	}
	t.Run("pictures", func(t *testing.T) {
		dir := t.TempDir()
		s.camsub(t, 0, "snapshot", "test/color", "--require", "cuda", "--verify", "-o", filepath.Join(dir, "x.png"))
		b, err := os.ReadFile(filepath.Join(dir, "x.png"))
		if err != nil || !bytes.HasPrefix(b, []byte("\x89PNG")) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
		p := s.camsub(t, 0, "cat", "test/color", "--require", "cuda", "--count", "1", "--format", "raw")
		// The size changes: it is one of two.
		if n := len(p.out.String()); n != 320*240*4 && n != 160*120*4 {
			t.Errorf("%d bytes of a frame", n)
		}
	})
	for name, tc := range map[string]struct {
		args []string
		env  string
		code int
		says string
	}{
		"no driver":           {append(both, "--cuda-library", "/nonexistent"), "", 0, "by shm (futex), 320x240 bgra8; not cuda: no_driver"},
		"no driver, required": {[]string{"--require", "cuda", "--cuda-library", "/nonexistent"}, "", 5, "no_driver"},
		"mismatch":            {both, "CUDASIM_PROFILE=mismatch", 0, "not cuda: driver_mismatch"},
		"no VMM":              {both, "CUDASIM_VMM=0", 0, "not cuda: vmm_unsupported"},
		"out of memory":       {both, "CUDASIM_FAIL=cuMemMap:0:2", 0, "not cuda: limit"},
	} {
		t.Run(name, func(t *testing.T) {
			r := *s
			r.env = append(append([]string{}, s.env...), tc.env)
			p := r.camsub(t, tc.code, append([]string{"hz", "test/color", "--count", "5"}, tc.args...)...)
			said := strings.ReplaceAll(p.err.String(), "160x120", "320x240")
			if !strings.Contains(said, tc.says) {
				t.Errorf("it said %q, want %q", said, tc.says)
			}
		})
	}
}

// A program that works on the GPU does so by every path, also when the daemon has
// no GPU.
func TestWorkOnGPUByEveryPath(t *testing.T) {
	t.Parallel()
	s := startSimulated(t, sim.Options{Delay: sim.Heavy, DelayMicros: 500}, "test=pattern,320x240@60")
	var at string
	s.zenoh("camd listens", func(z *zenohStatus) bool {
		if z == nil || len(z.Listening) == 0 {
			return false
		}
		at = z.Listening[0]
		return true
	})
	connect := fmt.Sprintf(`ZENOH_CONFIG_OVERRIDE=scouting/multicast/enabled=false;connect/endpoints=["%s"]`, at)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	says := map[string]string{
		"cuda": "by cuda: 20 in place, 0 registered, 0 staged\n",
		"shm":  "by shm: 0 in place, 20 registered, 0 staged\n",
		"cpu":  "by cpu: 0 in place, 0 registered, 20 staged\n",
	}
	for _, accept := range [][]string{{"cuda"}, {"shm"}, {"cpu"}, {"cuda", "shm", "cpu", "cuda"}} {
		t.Run(strings.Join(accept, " "), func(t *testing.T) {
			want := ""
			for _, a := range accept {
				want += says[a]
			}
			p := start(t, []with{withEnv(s.env...), withEnv(connect, helperVariable+"=1")}, self, append([]string{"gpu"}, accept...)...)
			if code := p.wait(); code != 0 || p.out.String() != want {
				t.Errorf("exit code %d, it said %q, want %q; %s", code, p.out, want, p.err)
			}
		})
	}
}
