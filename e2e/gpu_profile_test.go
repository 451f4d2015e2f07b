// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// pathResult is what scripts read of the path of camsub hz --format json.
type pathResult struct {
	Backend  negotiate.Backend    `json:"backend"`
	Rejected []negotiate.Rejected `json:"rejected"`
	GPU      string               `json:"gpu"`
	Verify   *struct{ Frames, Torn, Stale int }
}

// reason is why the frames do not come by cuda, "" if they do.
func (r pathResult) reason() negotiate.Reason {
	for _, x := range r.Rejected {
		if x.Backend == negotiate.BackendCUDA {
			return x.Reason
		}
	}
	return ""
}

// pathOf runs camsub hz with a GPU or without and returns how frames came.
func (s *simulated) pathOf(t *testing.T, more ...with) pathResult {
	t.Helper()
	p := start(t, append([]with{withEnv(s.env...)}, more...), built.camsub, "hz", "test/color", "--accept", "cuda,shm", "--verify", "--count", "5", "--format", "json")
	if code := p.wait(); code != 0 {
		t.Fatalf("camsub: exit code %d: %s", code, p.err)
	}
	var r pathResult
	if err := json.Unmarshal([]byte(p.out.String()), &r); err != nil {
		t.Fatal(err)
	}
	if r.Verify == nil || r.Verify.Frames < 5 || r.Verify.Torn+r.Verify.Stale != 0 {
		t.Errorf("frames: %+v", r.Verify)
	}
	return r
}

// cPathOf does so with the example in C: "shm no_driver".
func (s *simulated) cPathOf(t *testing.T, more ...with) string {
	t.Helper()
	p := start(t, append([]with{withEnv(s.env...)}, more...), inC(t), "test/color", "--accept", "cuda,shm", "--verify", "--count", "5", "--timeout-ms", "20000")
	if code := p.wait(); code != 0 {
		t.Fatalf("the reader in C: exit code %d: %s", code, p.err)
	}
	for line := range strings.Lines(p.out.String()) {
		if path, ok := strings.CutPrefix(line, "path "); ok {
			return strings.TrimSpace(path)
		}
	}
	return ""
}

// path holds how frames come to a program in Go and one in C.
func (s *simulated) path(t *testing.T, want negotiate.Reason, more ...with) {
	t.Helper()
	backend, wantC := negotiate.BackendCUDA, "cuda -"
	if want != "" {
		backend, wantC = negotiate.BackendSHM, "shm "+string(want)
	}
	if r := s.pathOf(t, more...); r.Backend != backend || r.reason() != want {
		t.Errorf("by %s, %q, want %s, %q: %+v", r.Backend, r.reason(), backend, want, r.Rejected)
	}
	if got := s.cPathOf(t, more...); got != wantC {
		t.Errorf("in C %q, want %q", got, wantC)
	}
}

// Whatever the machine is like, frames come by the best path that is left, and
// camsub, a program in C and camd status say why not by a better one.
func TestGPUProfiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options sim.Options
		old     bool
		path    negotiate.Reason // of subscribers
		daemon  negotiate.Reason // of camd status
		allowed []string
	}{
		"discrete":   {},
		"jetson":     {options: sim.Options{Profile: "jetson"}},
		"exclusive":  {options: sim.Options{Profile: "exclusive"}, path: negotiate.ReasonLimit},
		"no-ipc":     {options: sim.Options{Profile: "no-ipc"}, path: negotiate.ReasonVMMUnsupported, daemon: negotiate.ReasonVMMUnsupported},
		"no-vmm":     {options: sim.Options{Profile: "no-vmm"}, path: negotiate.ReasonVMMUnsupported, daemon: negotiate.ReasonVMMUnsupported},
		"wsl":        {options: sim.Options{Profile: "wsl"}, path: negotiate.ReasonVMMUnsupported, daemon: negotiate.ReasonVMMUnsupported},
		"pidns":      {options: sim.Options{Profile: "pidns"}, path: negotiate.ReasonVMMUnsupported},
		"no-driver":  {options: sim.Options{Profile: "no-driver"}, path: negotiate.ReasonNoDriver, daemon: negotiate.ReasonNoDriver},
		"mismatch":   {options: sim.Options{Profile: "mismatch"}, path: negotiate.ReasonDriverMismatch, daemon: negotiate.ReasonDriverMismatch},
		"stub":       {options: sim.Options{Profile: "stub"}, path: negotiate.ReasonNoDriver, daemon: negotiate.ReasonNoDriver},
		"not-ready":  {options: sim.Options{Profile: "not-ready"}, path: negotiate.ReasonNoDriver, daemon: negotiate.ReasonNoDriver},
		"old-driver": {options: sim.Options{Profile: "old-driver"}, old: true, path: negotiate.ReasonDriverMismatch, daemon: negotiate.ReasonDriverMismatch},
		"oom":        {options: sim.Options{Fail: "oom"}, path: negotiate.ReasonLimit},
		"little":     {options: sim.Options{Memory: 1 << 20}, path: negotiate.ReasonLimit},
		"two-gpus":   {options: sim.Options{Profile: "two-gpus"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			library := ""
			if c.old {
				library = sim.BuildOld(t)
			}
			s := startSimulatedWith(t, c.options, library, pixelCamera)
			s.path(t, c.path)
			st := s.status()
			if st.CUDA == nil || st.CUDA.Reason != c.daemon || (c.daemon != "") != (st.CUDA.Detail != "") || st.CUDA.Rings != 0 {
				t.Errorf("camd status says %+v, want the reason %q", st.CUDA, c.daemon)
			}
		})
	}
}

// Two GPUs, in whatever order each process sees them, or only one of them.
func TestTwoGPUs(t *testing.T) {
	t.Parallel()
	s := startSimulated(t, sim.Options{Profile: "two-gpus"}, pixelCamera, "--set", "cuda.device=1")
	for devices, want := range map[string]negotiate.Reason{"0,1": "", "1,0": "", "1": "", "0": negotiate.ReasonDifferentGPU} {
		t.Run(devices, func(t *testing.T) {
			s.path(t, want, withEnv("CUDASIM_DEVICES="+devices))
			if r := s.pathOf(t, withEnv("CUDASIM_DEVICES="+devices)); want == "" && r.GPU != sim.UUID(1) {
				t.Errorf("frames are on %s, want %s", r.GPU, sim.UUID(1))
			}
		})
	}
}

// A GPU that fails at run time, or stops to answer, costs the path, with the
// reason, and nothing else; camd goes on without it.
func TestGPUFailsAtRunTime(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]string{"lost": "pid:%d,op:1:719", "hangs": "pid:%d,hang", "event-hang": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profile := "discrete"
			if plan == "" { // from the start
				profile = name
			}
			s := startSimulated(t, sim.Options{Profile: profile}, pixelCamera)
			reader := start(t, []with{withEnv(s.env...)}, built.camsub, "hz", "test/color", "--accept", "cuda,shm", "--verify", "--format", "json")
			reader.awaitErr("by cuda")
			if plan != "" {
				s.subscriber(reader, 5)
				sim.Inject(t, s.run, fmt.Sprintf(plan, s.pid()))
			}
			reader.awaitErr("not cuda: gpu_lost")
			s.subscriber(reader, 5)
			if st := s.status(); st.CUDA.Reason != negotiate.ReasonGPULost || st.CUDA.Detail == "" {
				t.Errorf("camd status says %+v", st.CUDA)
			}
			s.path(t, negotiate.ReasonGPULost)
			reader.interrupt()
			if r := hzOf(t, reader); r.Verify.Torn+r.Verify.Stale != 0 || r.Reconnects != 1 {
				t.Errorf("%+v", r)
			}
			sim.Inject(t, s.run, "")
			s.killed = append(s.killed, s.pid()) // it can give nothing back
		})
	}
}

// Where there is no driver, camd and its subscribers have nothing of CUDA: no
// thread, no mapping, no memory, whether it was looked for or not.
func TestWithoutDriverNoCost(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "libcuda.so.1") // a file that is no library
	if err := os.WriteFile(broken, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	have := func(set string) (threads []string, maps int, r resources) {
		dir := newDir(t)
		d := &daemon{dir: dir, process: start(t, nil, built.camd, "run", "--runtime-dir", dir, "--set", set, "--camera", pixelCamera)}
		d.ready()
		p := d.camsub("hz", "test/color", "--accept", "cuda,shm", "--verify", "--cuda-library", broken)
		d.subscriber(p, 20)
		for _, pid := range []int{d.pid(), p.pid()} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
			if err != nil {
				t.Fatal(err)
			}
			maps += strings.Count(string(text), "libcuda") + strings.Count(string(text), "/dev/nvidia")
			for _, name := range threadNames(t, pid) {
				if strings.Contains(name, "cuda") || strings.Contains(name, "gpu") {
					threads = append(threads, name)
				}
			}
		}
		p.interrupt()
		r = settled(t, d.pid())
		d.stop()
		return threads, maps, r
	}
	threads, maps, off := have("cuda.enabled=false")
	if len(threads)+maps != 0 {
		t.Errorf("switched off: threads %v, %d mappings", threads, maps)
	}
	threads, maps, none := have("cuda.library=" + broken)
	if len(threads)+maps != 0 || none.fds != off.fds || !none.same(off) {
		t.Errorf("without a driver: threads %v, %d mappings, %v; switched off: %v", threads, maps, none, off)
	}
}

func threadNames(t *testing.T, pid int) (names []string) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil { // else it has ended
			names = append(names, strings.TrimSpace(string(text)))
		}
	}
	return names
}

// startSimulatedWith is startSimulated with another library, "" for the usual.
func startSimulatedWith(t testing.TB, o sim.Options, library, camera string, more ...string) *simulated {
	t.Helper()
	if library == "" {
		return startSimulated(t, o, camera, more...)
	}
	s := startSimulated(t, o, camera, append(more, "--set", "cuda.library="+library)...)
	s.env = append(s.env, gpu.EnvLibrary+"="+library)
	return s
}
