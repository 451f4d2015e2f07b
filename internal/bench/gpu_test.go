// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/internal/dl"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// onSimulator has processes of the test find a simulated GPU.
func onSimulator(t *testing.T, o sim.Options) {
	t.Helper()
	if !dl.Available {
		t.Skip("built without libraries")
	}
	library := sim.Build(t)
	dir := sim.Setenv(t, o)
	t.Setenv(gpu.EnvLibrary, library)
	t.Cleanup(func() {
		sim.Clean(t, dir)
		sim.NoLeaks(t, dir)
		if n := sim.Memory(t, dir); n != 0 {
			t.Errorf("%d bytes of device memory are left", n)
		}
	})
}

// Every backend ends on the GPU, where the payload is complete and is read; a
// floor does not.
func TestSweepOnGPU(t *testing.T) {
	onSimulator(t, sim.Options{Delay: sim.Uniform, DelayMicros: 500})
	s := sweepOf(t, negotiate.BackendCUDA, negotiate.BackendSHM, FloorSHM)
	s.Upload = UploadIfCan
	results := s.Run(context.Background())
	if len(results) != 3 {
		t.Fatalf("%d results", len(results))
	}
	run := NewRun(commandSweep, Program{}, nil)
	for _, r := range results {
		run.Add(r)
		if !r.Valid() || r.Received() != 30 || r.Received()+r.Dropped() != r.Published() || r.Path.Backend != r.Asked {
			t.Errorf("%s by %s: %v %s, received %d, dropped %d, published %d",
				r.Phase, r.Path.Backend, r.Problems, r.Unavailable, r.Received(), r.Dropped(), r.Published())
			continue
		}
		for i := range r.Samples {
			if x := &r.Samples[i]; x.UsableNanos < x.ReadyNanos || x.ReadNanos < x.UsableNanos {
				t.Errorf("%s: frame %d: ready %d, usable %d, read %d", r.Phase, x.Sequence, x.ReadyNanos, x.UsableNanos, x.ReadNanos)
			}
		}
		if onGPU := r.GPU != nil && r.GPU.Simulated() && r.GPU.UUID == sim.UUID(0); onGPU == r.Floor {
			t.Errorf("%s ended on %v", r.Phase, r.GPU)
		}
	}
	run.End(false)
	if m := run.Meta; !m.Simulated || !strings.HasPrefix(m.Host.GPU, "SIMULATED") || m.Phases[0].UsableOn != "gpu" || m.Phases[2].UsableOn != "" {
		t.Errorf("%+v", m)
	}
	if text := SweepTable(run); !strings.Contains(text, simulatedText) || !strings.Contains(text, "floors end in host memory") {
		t.Error(text)
	}
}

// Without a GPU cuda is left out with the reason, and the others are measured to
// host memory, or left out too where that was forbidden.
func TestSweepWithoutGPU(t *testing.T) {
	t.Setenv(gpu.EnvLibrary, t.TempDir())
	s := sweepOf(t, negotiate.BackendCUDA, negotiate.BackendSHM)
	s.Upload = UploadIfCan
	r := s.Run(context.Background())
	reason := negotiate.ReasonNoDriver
	if !dl.Available {
		reason = negotiate.ReasonBuiltWithoutDL
	}
	if !strings.Contains(r[0].Unavailable, string(reason)) {
		t.Errorf("cuda: %q", r[0].Unavailable)
	}
	if !r[1].Valid() || r[1].Received() != 30 || r[1].GPU != nil || !strings.Contains(r[1].NoGPU, gpu.ErrUnavailable.Error()) {
		t.Errorf("shm: %v, %d frames, %q %q", r[1].Problems, r[1].Received(), r[1].Unavailable, r[1].NoGPU)
	}
	s.Upload = UploadAlways
	for _, r := range s.Run(context.Background()) {
		if r.Unavailable == "" || r.Received() != 0 {
			t.Errorf("%s was measured", r.Phase)
		}
	}
}

// The load of a GPU is averaged over the window, and is a row only where it is
// told.
func TestGPULoads(t *testing.T) {
	m := newLoadMeter(2)
	for i, told := range []bool{true, true, true, false, true} {
		m.add(Usage{AtNanos: int64(i+1) * 1e8, GPU: GPUUsage{Told: told, Load: int64(i) * 1000, Memory: int64(i) << 20}})
	}
	if want := []int64{1000, 1500, 2000, 4000}; !slices.Equal(m.loads.GPU, want) {
		t.Errorf("load %v, want %v", m.loads.GPU, want)
	}
	r := &Result{Phase: "shm", Loads: m.loads}
	row, ok := find(r.Rows(), GPUMemory)
	if f := row.fields("run"); !ok || f[3] != "KiB" || f[4] != "4" || f[12] != "4194304" {
		t.Errorf("%v", f)
	}
	if _, ok := find((&Result{}).Rows(), GPULoad); ok {
		t.Error("a row of a load that nobody told")
	}
}
