// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// benchMeta is what tests read of meta.json.
type benchMeta struct {
	Simulated bool
	Host      struct {
		GPU  string
		UUID string `json:"gpu_uuid"`
	}
	Phases []struct {
		Phase, Backend, Got          string
		UsableOn                     string `json:"usable_on"`
		NoGPU                        string `json:"no_gpu"`
		Received, Dropped, Published uint64
		Tapped                       int `json:"ready_from_shm"`
		Valid                        bool
		Unavailable                  string
		Problems                     []string
	}
}

func metaOf(t testing.TB, out string) (m benchMeta) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(out, "*", "meta.json"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("runs in %s: %v, error %v, want one", out, dirs, err)
	}
	b, err := os.ReadFile(dirs[0])
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// holds wants phases that are valid and whose counts add up.
func (m benchMeta) holds(t testing.TB, received uint64) {
	t.Helper()
	for _, p := range m.Phases {
		if !p.Valid || p.Got != p.Backend && !strings.HasPrefix(p.Backend, "floor_") || p.Received != received || p.Received+p.Dropped != p.Published {
			t.Errorf("%s by %s: %+v", p.Phase, p.Got, p)
		}
	}
}

// management puts a management library with the simulated GPU beside it where
// the loader finds it, and returns the environment for that.
func management(t testing.TB) []string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	cmd := exec.Command(cc, "-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), "../cudabuf/driver/nvml/testdata/fake.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return []string{"LD_LIBRARY_PATH=" + dir, "FAKE_NVML_UUID=" + sim.UUID(0)}
}

// TestBenchOnGPU has phases by shm and cuda end on the same GPU, with the same
// pixels there as the pattern drew.
func TestBenchOnGPU(t *testing.T) {
	t.Parallel()
	s := startSimulated(t, sim.Options{Delay: sim.Uniform, DelayMicros: 1000}, "test=pattern,320x240@100")
	s.env = append(s.env, management(t)...)
	beside := start(t, []with{withEnv(s.env...)}, built.camsub, "hz", "test/color", "--format", "json")
	s.subscribed(1)
	out := t.TempDir()
	p := s.camsub(t, 0, "bench", "test/color", "--phases", "shm,cuda", "--samples", "60", "--warmup", "5", "--touch", "--debug-pixel",
		"--load-period", "10ms", "--no-plot", "-o", out, "--compat", "zed")
	beside.interrupt()
	var other struct {
		Backend     string
		Frames      uint64
		Reconnects  uint64
		PathChanges uint64 `json:"path_changes"`
	}
	if err := json.Unmarshal([]byte(beside.out.String()), &other); err != nil || other.Backend != "shm" || other.Frames < 60 || other.Reconnects+other.PathChanges != 0 {
		t.Errorf("who subscribed before: %+v, %v", other, err)
	}
	m := metaOf(t, out)
	m.holds(t, 60)
	if !m.Simulated || !strings.HasPrefix(m.Host.GPU, "SIMULATED") || m.Host.UUID != sim.UUID(0) || len(m.Phases) != 2 ||
		m.Phases[0].UsableOn != "gpu" || m.Phases[1].UsableOn != "gpu" {
		t.Errorf("%+v", m)
	}
	for _, stream := range []string{p.out.String(), p.err.String()} {
		if !strings.Contains(stream, "SIMULATED GPU") {
			t.Errorf("not labelled: %s", stream)
		}
	}
	run := oneRun(t, out)
	pixels := 0
	for _, x := range run.samples {
		if usable, read := integer(t, x["usable_ns"]), integer(t, x["read_ns"]); usable < integer(t, x["ready_ns"]) || read < usable {
			t.Errorf("frame %s by %s was usable before it was ready, or read before that: %v", x["sequence"], x["backend"], x)
		}
		if x["pixel"] != "" && x["pixel"] != strings.Repeat("00", len(x["pixel"])/2) {
			pixels++
		}
	}
	if len(run.samples) != 120 || pixels != 120 {
		t.Errorf("%d samples, %d with a centre pixel", len(run.samples), pixels)
	}
	loads := 0
	for _, row := range run.rows {
		if row["metric"] == "gpu_load" && row["max"] == "37.00" || row["metric"] == "gpu_memory" && row["max"] == "10485760" && row["unit"] == "KiB" {
			loads++
		}
	}
	if loads != 4 {
		t.Errorf("%d rows of the GPU's load and memory, want 2 for each phase: %v", loads, run.rows)
	}
	if b, err := os.ReadFile(filepath.Join(out, "zed.csv")); err != nil || !strings.Contains(string(b), "\nCUDA Subscriber GPU Load, ") {
		t.Errorf("%q, %v", b, err)
	}
}

// TestBenchWithoutDriver leaves the phase cuda out with its reason, and keeps the
// others.
func TestBenchWithoutDriver(t *testing.T) {
	t.Parallel()
	none := t.TempDir()
	for set, reason := range map[string]string{"cuda.enabled=false": "policy", "cuda.library=" + none: "no_driver"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			d := &daemon{dir: dir, process: start(t, nil, built.camd, "run", "--runtime-dir", dir, "--set", set, "--camera", "test=pattern,320x240@100")}
			d.ready()
			t.Cleanup(func() { d.stop() })
			out := t.TempDir()
			p := start(t, []with{withEnv(gpu.EnvLibrary+"="+none, "CAMD_RUNTIME_DIR="+dir)}, built.camsub,
				"bench", "test/color", "--phases", "shm,cuda", "--samples", "30", "--warmup", "5", "--no-plot", "-o", out)
			if code := p.wait(); code != 5 {
				t.Errorf("exit code %d, want 5", code)
			}
			m := metaOf(t, out)
			if len(m.Phases) != 2 {
				t.Fatalf("%+v", m)
			}
			shm, cuda := m.Phases[0], m.Phases[1]
			if !shm.Valid || shm.Received != 30 || shm.UsableOn != "host" || !strings.Contains(shm.NoGPU, "NVIDIA driver") || m.Simulated {
				t.Errorf("%+v", shm)
			}
			if cuda.Valid || !strings.Contains(cuda.Unavailable, reason) || !strings.Contains(p.err.String(), "phase cuda: ") {
				t.Errorf("%+v: %s", cuda, p.err)
			}
		})
	}
}
