// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/cudabuf/reason"
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
	delays := []sim.Delay{sim.Uniform}
	if soak {
		delays = append(delays, sim.Hold, sim.Heavy)
	}
	for _, delay := range delays {
		t.Run(string(delay), func(t *testing.T) {
			t.Parallel() // they mostly wait for the GPU
			library, env, run := simulated(t, sim.Options{Delay: delay, DelayMicros: 2000})
			dir := newDir(t)
			d := startGPU(t, library, env, dir, "test=pattern,320x240@100")
			var readers []*process
			for _, args := range [][]string{
				{"--count", "60"},
				{"--count", "100", "--async"},
				{"--count", "60", "--async", "--wake", "fd", "--credit", "1"},
				{"--count", "30", "--hold-ms", "20", "--wake", "fd"},
			} {
				readers = append(readers, startReader(t, env, dir, deviceArgs(library, args...)...))
			}
			for i, p := range readers {
				if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), "path cuda -\n") {
					t.Errorf("reader %d: exit code %d", i, code)
				}
				if s := p.summary(); s.frames < 30 || s.torn+s.stale+s.reconnects > 0 {
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

// countCalls holds what a reader of 100 frames with --async asks of the driver:
// memory is imported once, the context is had once for the client and once for
// the example, and a frame costs one copy, which is the example's own, and one
// event.
func countCalls(t *testing.T, calls map[string]uint64) {
	t.Helper()
	const frames = 100
	for name, most := range map[string]uint64{
		"cuMemImportFromShareableHandle": 1, "cuMemMap": 1, "cuMemSetAccess": 1, "cuDevicePrimaryCtxRetain": 2,
		"cuEventCreate": 2, "cuEventRecord": frames, "cuMemcpyDtoHAsync_v2": frames + 1,
	} {
		if n := calls[name]; n > most || n == 0 {
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

// libraryLike is a library that is to be the driver: a file, or one of a kind.
func libraryLike(t testing.TB, kind string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "libcuda.so.1")
	var err error
	switch kind {
	case "old":
		return sim.BuildOld(t)
	case "other":
		source := file + ".c"
		if err = os.WriteFile(source, []byte("int something_else;\n"), 0o600); err == nil {
			err = compile(compiler(t, "cc"), "-shared", "-fPIC", "-o", file, source)
		}
	case "cut":
		err = cutOff(sim.Build(t), file)
	case "pipe":
		err = unix.Mkfifo(file, 0o600)
	default:
		return kind
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// cutOff copies a library up to a little before the end of what a process maps
// of it.
func cutOff(library, to string) error {
	f, err := elf.Open(library)
	if err != nil {
		return err
	}
	defer f.Close()
	end := uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			end = max(end, p.Off+p.Filesz)
		}
	}
	whole, err := os.ReadFile(library)
	if err != nil {
		return err
	}
	return os.WriteFile(to, whole[:end-1], 0o600)
}

// The client in C has the words of the one in Go for every code of the driver.
func TestReasonsAreThoseOfTheOtherClient(t *testing.T) {
	for i, line := range strings.Split(strings.TrimSpace(output(t, "", programs(t).selftest, "reasons")), "\n") {
		for j, word := range strings.Fields(line) {
			err := &driver.Error{Call: []string{"cuMemMap", "cuMemImportFromShareableHandle"}[j], Code: driver.Result(i + 1)}
			if want := reason.Of(err); string(want) != word {
				t.Errorf("%v: %s, want %s", err, word, want)
			}
		}
	}
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
		words   string
	}{
		"no library":  {library: "/nowhere/libcuda.so.1", want: negotiate.ReasonNoDriver},
		"no GPU":      {options: sim.Options{Profile: "no-driver"}, want: negotiate.ReasonNoDriver},
		"stub":        {options: sim.Options{Profile: "stub"}, want: negotiate.ReasonNoDriver},
		"not ready":   {options: sim.Options{Profile: "not-ready"}, want: negotiate.ReasonNoDriver},
		"mismatch":    {options: sim.Options{Profile: "mismatch"}, want: negotiate.ReasonDriverMismatch},
		"no VMM":      {options: sim.Options{Profile: "two-gpus", NoVMM: true}, want: negotiate.ReasonVMMUnsupported},
		"exclusive":   {options: sim.Options{Profile: "two-gpus", Fail: "cuDevicePrimaryCtxRetain:0:46"}, want: negotiate.ReasonLimit},
		"old library": {library: "old", options: sim.Options{Profile: "two-gpus"}, want: negotiate.ReasonDriverMismatch, words: "update the driver"},
		"no driver":   {library: "other", want: negotiate.ReasonNoDriver, words: "is no CUDA driver"},
		"cut off":     {library: "cut", want: negotiate.ReasonNoDriver, words: "is damaged"},
		"a pipe":      {library: "pipe", want: negotiate.ReasonNoDriver, words: "no regular file"},
		"unnamed":     {options: sim.Options{Profile: "two-gpus", Fail: "cuDeviceGetUuid_v2:0:1"}, want: negotiate.ReasonGPUError, words: "CUDA_ERROR_INVALID_VALUE"},
		"another GPU": {options: sim.Options{Profile: "two-gpus", Devices: "1"}, want: negotiate.ReasonDifferentGPU},
		"no room":     {options: sim.Options{Profile: "two-gpus", Fail: "cuMemMap:0:2"}, want: negotiate.ReasonLimit},
		"no import": {
			options: sim.Options{Profile: "two-gpus", Fail: "cuMemImportFromShareableHandle:0:999"}, want: negotiate.ReasonGPUError, words: "CUDA_ERROR_UNKNOWN",
		},
		"no access": {options: sim.Options{Profile: "two-gpus", Fail: "cuMemSetAccess:0:801"}, want: negotiate.ReasonVMMUnsupported},
		"lost":      {options: sim.Options{Profile: "two-gpus", Fail: "op:1:719"}, want: negotiate.ReasonGPULost},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Dir = run
			lib := libraryLike(t, cmp.Or(c.library, library))
			own, _ := sim.Env(t, c.options)
			p := startReader(t, own, dir, "--verify", "--count", "3", "--accept", "cuda,shm", "--cuda-library", lib)
			if code := p.wait(); code != 0 || !strings.Contains(p.out.String(), "path shm "+string(c.want)+"\n") || !strings.Contains(p.err.String(), c.words) {
				t.Errorf("exit code %d, want the path shm because of %s ("+c.words+"): %s%s", code, c.want, p.out.String(), p.err.String())
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

// A GPU that is lost while frames are on it ends the path, not the program, and
// nobody writes to frames of which nothing tells whether they are being read.
func TestDeviceLost(t *testing.T) {
	library, env, run := simulated(t, sim.Options{Delay: sim.Uniform, DelayMicros: 20_000})
	dir := newDir(t)
	startGPU(t, library, env, dir, "test=pattern,320x240@100")
	p := startReader(t, env, dir, "--verify", "--print", "--async", "--reconnect", "--accept", "cuda,shm", "--cuda-library", library)
	await(t, "frames", func() bool { return len(p.frames()) > 5 })
	sim.Inject(t, run, fmt.Sprintf("pid:%d,op:1:719", p.cmd.Process.Pid))
	await(t, "frames by another path", func() bool {
		_, after, again := strings.Cut(p.out.String(), "path shm gpu_lost\n")
		return again && strings.Count(after, "\n") > 5
	})
	sim.Clean(t, run)
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if s := p.summary(); s.torn+s.stale > 0 || s.reconnects != 1 {
		t.Errorf("%+v", s)
	}
}

// Where the GPU of a program does not finish any more, the library comes back,
// and the example ends.
func TestDeviceHangs(t *testing.T) {
	t.Parallel() // it mostly waits
	library, env, run := simulated(t, sim.Options{})
	dir := newDir(t)
	startGPU(t, library, env, dir, "test=pattern,96x64@100")
	hang := func(p *process) { sim.Inject(t, run, fmt.Sprintf("pid:%d,hang", p.cmd.Process.Pid)) }

	p := startReader(t, env, dir, deviceArgs(library, "--print", "--timeout-ms", "200")...)
	await(t, "frames", func() bool { return len(p.frames()) > 5 })
	hang(p)
	if code := p.wait(); code != exitNothing || !strings.Contains(p.err.String(), "does not return") {
		t.Errorf("exit code %d of a reader that waits: %s", code, p.err.String())
	}

	p = startReader(t, env, dir, deviceArgs(library, "--print", "--timeout-ms", "0")...)
	await(t, "frames", func() bool { return len(p.frames()) > 5 })
	hang(p)
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d of a reader that was stopped", code)
	}

	for how, plan := range map[string]string{"hung": "hang", "lost": "op:1:719"} {
		p := start(t, env, programs(t).selftest, how, dir, "test/color", library)
		await(t, "a frame is taken", func() bool { return p.out.String() == "taken\n" || p.ended() })
		sim.Inject(t, run, fmt.Sprintf("pid:%d,%s", p.cmd.Process.Pid, plan))
		if _, err := p.stdin.Write([]byte("go on\n")); err != nil {
			t.Error(err)
		}
		if code := p.wait(); code != 0 {
			t.Errorf("%s: exit code %d: %s%s", how, code, p.out.String(), p.err.String())
		}
	}
}
