// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// simulated is a host with a simulated GPU: the environment of its processes,
// and the run directory in which what they did wrong is found.
func simulated(t testing.TB, o sim.Options) (library string, env []string, dir string) {
	t.Helper()
	library = sim.Build(t)
	env, dir = sim.Env(t, o)
	return library, env, dir
}

// startGPU runs camd with a simulated GPU.
func startGPU(t testing.TB, library string, env []string, dir string, cameras ...string) *process {
	t.Helper()
	args := []string{"--set", "cuda.library=" + library}
	for _, c := range cameras {
		args = append(args, "--camera", c)
	}
	return startDaemon(t, env, dir, args...)
}

// ended stops camd and looks at what the processes of a run have left of the
// GPU. Those that were killed may have left what the driver takes back.
func ended(t testing.TB, d *process, run string, killed ...int) {
	t.Helper()
	d.signal(syscall.SIGTERM)
	if code := d.wait(); code != 0 {
		t.Errorf("camd: exit code %d", code)
	}
	sim.Clean(t, run)
	sim.NoLeaks(t, run, killed...)
	if n := sim.Memory(t, run); n != 0 {
		t.Errorf("%d bytes of device memory are left", n)
	}
}

// deviceArgs has the example take frames of this GPU and of nothing else.
func deviceArgs(library string, more ...string) []string {
	return append([]string{"--verify", "--require", "cuda", "--cuda-library", library}, more...)
}

// Readers take frames in device memory, wait for their copies or not, and give
// back only what is read.
func TestDeviceFramesAreWhole(t *testing.T) {
	for _, delay := range []sim.Delay{sim.Uniform, sim.Hold} {
		t.Run(string(delay), func(t *testing.T) {
			library, env, run := simulated(t, sim.Options{Delay: delay})
			dir := newDir(t)
			d := startGPU(t, library, env, dir, "test=pattern,320x240@100")
			var readers []*process
			for _, args := range [][]string{
				{"--count", "150"},
				{"--count", "150", "--async"},
				{"--count", "100", "--async", "--wake", "fd"},
				{"--count", "60", "--hold-ms", "20", "--wake", "fd"},
				{"--count", "100", "--async", "--credit", "1"},
			} {
				readers = append(readers, startReader(t, env, dir, deviceArgs(library, args...)...))
			}
			for i, p := range readers {
				if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), "path cuda -\n") {
					t.Errorf("reader %d: exit code %d", i, code)
				}
				if s := p.summary(); s.frames < 60 || s.torn+s.stale+s.reconnects > 0 {
					t.Errorf("reader %d: %+v", i, s)
				}
			}
			ended(t, d, run)
			for _, p := range sim.Processes(t, run) {
				if p.PID == readers[1].cmd.Process.Pid {
					countCalls(t, p.Calls)
				}
			}
		})
	}
}

// countCalls holds what a reader of 150 frames with --async asks of the driver:
// memory is imported once, and a frame costs one copy, which is the example's
// own, and one event.
func countCalls(t *testing.T, calls map[string]uint64) {
	t.Helper()
	const frames = 150
	for name, most := range map[string]uint64{
		"cuMemImportFromShareableHandle": 1, "cuMemMap": 1, "cuMemSetAccess": 1, "cuDevicePrimaryCtxRetain": 1,
		"cuEventCreate": 2, "cuEventRecord": frames, "cuMemcpyDtoHAsync_v2": frames + 1, "cuEventSynchronize": 2,
	} {
		if n := calls[name]; n > most || n == 0 && name != "cuEventSynchronize" {
			t.Errorf("%d calls of %s in %d frames, want at most %d", n, name, frames, most)
		}
	}
}

// What is right and wrong with frames on a GPU, and an end while work is under
// way.
func TestDeviceUse(t *testing.T) {
	library, env, run := simulated(t, sim.Options{Delay: sim.Uniform})
	dir := newDir(t)
	d := startGPU(t, library, env, dir, "test=pattern,96x64@100")
	reader := startReader(t, env, dir, deviceArgs(library, "--count", "1")...) // the camera delivers
	if code := reader.wait(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	p := start(t, env, programs(t).selftest, "device", dir, "test/color", library)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d: %s%s", code, p.out.String(), p.err.String())
	}
	ended(t, d, run)
}

func TestDeviceFormatChanges(t *testing.T) {
	library, env, run := simulated(t, sim.Options{Delay: sim.Uniform})
	dir := newDir(t)
	d := startGPU(t, library, env, dir, "test=pattern,320x240@100,fault.resize=300ms")
	p := startReader(t, env, dir, deviceArgs(library, "--print", "--async", "--count", "120")...)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	frames := p.frames()
	checkOrder(t, frames)
	if len(frames) != 120 || frames[119].epoch < frames[0].epoch+2 {
		t.Errorf("%d frames of few epochs", len(frames))
	}
	if s := p.summary(); s.torn+s.stale+s.reconnects > 0 {
		t.Errorf("%+v", s)
	}
	ended(t, d, run)
}

func TestDeviceDaemonKilled(t *testing.T) {
	library, env, run := simulated(t, sim.Options{Delay: sim.Uniform})
	dir := newDir(t)
	d := startGPU(t, library, env, dir, "test=pattern,320x240@100")
	lasting := startReader(t, env, dir, deviceArgs(library, "--print", "--async", "--reconnect")...)
	short := startReader(t, env, dir, deviceArgs(library, "--print", "--wake", "fd")...)
	victim := startReader(t, env, dir, deviceArgs(library, "--print", "--async")...)
	for _, p := range []*process{lasting, short, victim} {
		await(t, "frames", func() bool { return len(p.frames()) > 5 })
	}
	victim.signal(syscall.SIGKILL)
	<-victim.done
	n := len(lasting.frames())
	await(t, "frames after a reader was killed", func() bool { return len(lasting.frames()) > n+10 })
	d.signal(syscall.SIGKILL)
	<-d.done
	if code := short.wait(); code != exitNotFound {
		t.Errorf("exit code %d when the daemon was killed", code)
	}
	killed := []int{d.cmd.Process.Pid, victim.cmd.Process.Pid}
	d = startGPU(t, library, env, dir, "test=pattern,320x240@100")
	await(t, "frames of the second daemon", func() bool {
		f := lasting.frames()
		return f[len(f)-1].session != f[0].session
	})
	lasting.signal(syscall.SIGINT)
	if code := lasting.wait(); code != 0 {
		t.Errorf("exit code %d after a signal", code)
	}
	checkOrder(t, lasting.frames())
	if s := lasting.summary(); s.reconnects != 1 || s.torn+s.stale > 0 {
		t.Errorf("%+v", s)
	}
	ended(t, d, run, killed...)
}

// Whatever the GPU of a program is like, frames come, and it learns why not from
// there.
func TestDeviceReasons(t *testing.T) {
	library, env, run := simulated(t, sim.Options{Profile: "two-gpus"})
	dir := newDir(t)
	startGPU(t, library, env, dir, "test=pattern,64x48@60")
	for name, c := range map[string]struct {
		options sim.Options
		library string
		want    negotiate.Reason
	}{
		"no library":  {library: "/nowhere/libcuda.so.1", want: negotiate.ReasonNoDriver},
		"no GPU":      {options: sim.Options{Profile: "no-driver"}, want: negotiate.ReasonNoDriver},
		"stub":        {options: sim.Options{Profile: "stub"}, want: negotiate.ReasonNoDriver},
		"not ready":   {options: sim.Options{Profile: "not-ready"}, want: negotiate.ReasonNoDriver},
		"mismatch":    {options: sim.Options{Profile: "mismatch"}, want: negotiate.ReasonDriverMismatch},
		"no VMM":      {options: sim.Options{Profile: "two-gpus", NoVMM: true}, want: negotiate.ReasonVMMUnsupported},
		"old library": {library: "old", options: sim.Options{Profile: "two-gpus"}, want: negotiate.ReasonVMMUnsupported},
		"another GPU": {options: sim.Options{Profile: "two-gpus", Devices: "1"}, want: negotiate.ReasonDifferentGPU},
		"no room":     {options: sim.Options{Profile: "two-gpus", Fail: "cuMemMap:0:2"}, want: negotiate.ReasonLimit},
		"no import": {
			options: sim.Options{Profile: "two-gpus", Fail: "cuMemImportFromShareableHandle:0:999"}, want: negotiate.ReasonVMMUnsupported,
		},
		"no access": {options: sim.Options{Profile: "two-gpus", Fail: "cuMemSetAccess:0:800"}, want: negotiate.ReasonVMMUnsupported},
		"lost":      {options: sim.Options{Profile: "two-gpus", Fail: "op:1:719"}, want: negotiate.ReasonGPULost},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Dir = run
			lib := library
			switch {
			case c.library == "old":
				lib = sim.BuildOld(t)
			case c.library != "":
				lib = c.library
			}
			own, _ := sim.Env(t, c.options)
			p := startReader(t, own, dir, "--verify", "--count", "3", "--accept", "cuda,shm", "--cuda-library", lib)
			if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), "path shm "+string(c.want)+"\n") {
				t.Errorf("exit code %d, want the path shm because of %s: %s%s", code, c.want, p.out.String(), p.err.String())
			}
			p = startReader(t, own, dir, deviceArgs(lib)...)
			if code := p.wait(); code != exitNoPath || !strings.Contains(p.err.String(), string(c.want)) {
				t.Errorf("required: exit code %d, want the reason %s: %s", code, c.want, p.err.String())
			}
		})
	}
	sim.Clean(t, run)
}

// Descriptors of something else, and sizes that cannot be.
func TestDeviceMemoryThatLies(t *testing.T) {
	library, env, run := simulated(t, sim.Options{})
	for name, c := range map[string]struct {
		edit  func(d *negotiate.Device, fds []int)
		words string
	}{
		"memory of the host": {func(*negotiate.Device, []int) {}, "cuMemImportFromShareableHandle"},
		"a pipe":             {func(_ *negotiate.Device, fds []int) { fds[1] = pipeEnd(t) }, "cuMemImportFromShareableHandle"},
		"another GPU":        {func(d *negotiate.Device, _ []int) { d.UUID = sim.UUID(5) }, "different_gpu"},
		"another handle":     {func(d *negotiate.Device, _ []int) { d.Handle = "fabric" }, "vmm_unsupported"},
		"an odd size":        {func(d *negotiate.Device, _ []int) { d.Bytes += 4096 }, "multiples of"},
		"probe in the slots": {func(d *negotiate.Device, _ []int) { d.ProbeOffset = 64 }, "probe at 64"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(call *call) error {
				return call.offer(func(o *negotiate.Offer, fds []int) {
					o.Backend = negotiate.BackendCUDA
					o.Device = &negotiate.Device{UUID: sim.UUID(0), Handle: negotiate.HandleVMM, Bytes: 2 << 20, ProbeOffset: 2<<20 - 4096}
					c.edit(o.Device, fds)
				})
			})
			p := startReader(t, env, f.dir, deviceArgs(library)...)
			if code := p.wait(); code != exitNoPath && code != exitBad || !strings.Contains(p.err.String(), c.words) {
				t.Errorf("exit code %d: %s, want %q", code, p.err.String(), c.words)
			}
		})
	}
	sim.NoLeaks(t, run)
}

// A GPU that is lost while frames are on it ends the path, not the program.
func TestDeviceLost(t *testing.T) {
	library, env, run := simulated(t, sim.Options{})
	dir := newDir(t)
	startGPU(t, library, env, dir, "test=pattern,320x240@100")
	p := startReader(t, env, dir, "--verify", "--print", "--async", "--reconnect", "--accept", "cuda,shm", "--cuda-library", library)
	await(t, "frames", func() bool { return len(p.frames()) > 5 })
	sim.Inject(t, run, fmt.Sprintf("pid:%d,op:1:719", p.cmd.Process.Pid))
	await(t, "frames by another path", func() bool {
		_, after, again := strings.Cut(p.out.String(), "path shm gpu_lost\n")
		return again && strings.Count(after, "\n") > 5
	})
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if s := p.summary(); s.torn+s.stale > 0 || s.reconnects != 1 {
		t.Errorf("%+v", s)
	}
}
