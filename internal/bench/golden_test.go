// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", path, got, want)
	}
}

var goldenTime = time.Date(2026, 11, 30, 10, 15, 0, 0, time.UTC)

// made is a result with n samples, whose latencies grow with slow.
func made(t *testing.T, name string, asked negotiate.Backend, n int, slow int64) *Result {
	t.Helper()
	g, err := frame.NewGeometry(frame.BGRA8, 1280, 720)
	if err != nil {
		t.Fatal(err)
	}
	r := &Result{
		Phase: name, Asked: asked, Warmup: 10, Touched: true, Started: goldenTime, Elapsed: 1500 * time.Millisecond,
		Path: client.Path{
			Backend: asked, Wake: negotiate.WakeFutex,
			Rejected: []negotiate.Rejected{{Backend: negotiate.BackendCUDA, Reason: negotiate.ReasonNotOffered}},
		},
		Stream:    negotiate.StreamInfo{Name: "front/color", Geometry: g, IntervalNS: 33_333_333, Clock: "monotonic"},
		Publisher: Publisher{PID: 12, Version: "1.2.3", Subscribers: 2},
		Loads:     Loads{Subscriber: []int64{150, 170, 160}, Publisher: []int64{800, 812}, System: []int64{2500, 2600, 2700}},
	}
	seq := uint64(100)
	for i := range n {
		seq++
		if i == n/2 {
			seq += 3 // a gap
		}
		ready := 1_000_000_000 + int64(seq)*33_333_333
		r.Samples = append(r.Samples, Sample{
			Sequence: seq, DriverSequence: seq - 90, CaptureNanos: ready - 5_000_000, ReadyNanos: ready, PublishNanos: ready + 700,
			UsableNanos: ready + slow*(20_000+int64(i*i%17)*1000), ReadNanos: ready + slow*(90_000+int64(i%5)*1000),
			Backend: asked, Pixel: [pixelBytes]byte{0, 0x40, 0x80, 0xff}, PixelLen: 4,
		})
	}
	return r
}

// madeRun is a run that ends in the state of a given machine and time.
func madeRun(command string, results ...*Result) *Run {
	run := NewRun(command, Program{Version: "1.2.3", Commit: "0123456789abcdef", Go: "go1.26.0"}, map[string]any{"samples": 40, "touch": true})
	for _, r := range results {
		run.Add(r)
	}
	run.End(false)
	m := &run.Meta
	m.Started, m.Ended = goldenTime, goldenTime.Add(3*time.Second)
	m.Host = Host{
		Kernel: "6.1.0-18-amd64", Arch: "amd64", CPU: "Some CPU @ 2.00GHz", Cores: 8, Governor: "performance",
		GPU: "Some GPU", GPUDriver: "550.54", ClockSource: "tsc", LoadBefore: "0.10 0.20 0.30 1/100 1", LoadAfter: "0.20 0.20 0.30 1/100 2",
	}
	return run
}

// benchRun has two good phases, one with frames by another backend, and one that
// could not be had.
func benchRun(t *testing.T) *Run {
	mixed := made(t, "cuda", negotiate.BackendCUDA, 40, 3)
	for i := range mixed.Samples[:4] {
		mixed.Samples[i].Backend = negotiate.BackendCPU
	}
	mixed.Path.Backend = negotiate.BackendCPU
	mixed.Problems = []string{mixed.explainOther()}
	none := &Result{Phase: "cpu2", Asked: negotiate.BackendCPU, Unavailable: "backend not available: cpu: not_offered", Started: goldenTime}
	return madeRun(commandBench, made(t, "shm", negotiate.BackendSHM, 40, 1), made(t, "cpu", negotiate.BackendCPU, 40, 20), mixed, none)
}

func sweepRun(t *testing.T) *Run {
	var results []*Result
	for _, size := range []int{8, 4096, 4_096_000} {
		for _, b := range []negotiate.Backend{negotiate.BackendSHM, FloorSHM, negotiate.BackendCPU, FloorTCP} {
			slow := int64(1)
			if b == negotiate.BackendCPU || b == FloorTCP {
				slow = int64(2 + size/4000)
			}
			r := made(t, cell{size, b}.name(), b, 40, slow)
			r.Size, r.Floor = size, isFloor(b)
			r.Stream = negotiate.StreamInfo{Name: SweepStream}
			if r.Floor {
				r.Path.Wake, r.Path.Rejected = "", nil
				for i := range r.Samples {
					r.Samples[i].PublishNanos, r.Samples[i].CaptureNanos = 0, 0
				}
			}
			results = append(results, r)
		}
	}
	return madeRun(commandSweep, results...)
}

// gpuRun has phases that ended on a GPU, which is a simulated one, and one that
// could not.
func gpuRun(t *testing.T) *Run {
	var results []*Result
	for i, b := range []negotiate.Backend{negotiate.BackendCUDA, negotiate.BackendSHM, negotiate.BackendCPU} {
		r := made(t, string(b), b, 40, int64(1+i*5))
		r.Path.Rejected = nil
		if b == negotiate.BackendCPU {
			r.NoGPU = "no usable GPU: no CUDA driver"
		} else {
			r.GPU = &GPUInfo{Name: "SIMULATED discrete GPU", UUID: "GPU-43554441-5349-4d00-8000-000000000000", Driver: "580.65.06", CUDA: "13.0"}
			r.Loads.GPU, r.Loads.GPUMemory = []int64{3700, 3800}, []int64{10 << 20, 11 << 20}
		}
		results = append(results, r)
	}
	run := madeRun(commandBench)
	run.Meta.Host.GPU, run.Meta.Host.GPUDriver = "", ""
	for _, r := range results {
		run.Add(r)
	}
	return run
}

// TestFiles holds every file of a run, and reads it back.
func TestFiles(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *Run{"bench": benchRun, "sweep": sweepRun, "gpu": gpuRun} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			f, err := NewFolder(out, name, goldenTime)
			if err != nil {
				t.Fatal(err)
			}
			run := make(t)
			if err := f.Write(run); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(f.Path)
			if err != nil || len(entries) != 3 {
				t.Errorf("%d files, error %v, want 3", len(entries), err)
			}
			for _, e := range entries {
				b, err := os.ReadFile(filepath.Join(f.Path, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				golden(t, name+"/"+e.Name(), b)
			}
			stored, err := LoadRuns(out)
			if err != nil || len(stored) != 1 {
				t.Fatalf("%d runs, error %v", len(stored), err)
			}
			for _, r := range run.Results {
				for _, row := range r.Rows() {
					k := Key{r.Phase, row.Metric}
					got := stored[0].Rows[k]
					if got.Count != row.Dist.Count || got.Unit != row.Unit {
						t.Errorf("%v was read as %+v, written as %+v", k, got, row.Dist)
					}
					if row.Unit == Nanoseconds && len(stored[0].Times[k]) != int(row.Dist.Count) {
						t.Errorf("%v: %d times in samples.csv, %d in latency.csv", k, len(stored[0].Times[k]), row.Dist.Count)
					}
				}
			}
		})
	}
}

func TestTexts(t *testing.T) {
	golden(t, "bench.txt", []byte(Table(benchRun(t))+"\n"))
	golden(t, "sweep.txt", []byte(SweepTable(sweepRun(t))+"\n"))
	golden(t, "gpu.txt", []byte(Table(gpuRun(t))+"\n"))
	var lines string
	r := benchRun(t).Results[0]
	for i := range r.Samples[:3] {
		lines += r.Samples[i].line("shm")
	}
	golden(t, "lines.txt", []byte(lines))
	var doc bytes.Buffer
	if err := writeJSON(&doc, benchRun(t).Summary()); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench.json", doc.Bytes())
}

func TestCompatibleRows(t *testing.T) {
	for _, tc := range []struct {
		name string
		add  func(out string, run *Run) error
		run  *Run
	}{{ZEDFile, AppendZED, benchRun(t)}, {DoraFile, AppendDora, sweepRun(t)}} {
		out := t.TempDir()
		for range 2 { // the second run adds to the first, under one header
			if err := tc.add(out, tc.run); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(filepath.Join(out, tc.name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, tc.name, b)
	}
}

func TestComparisonTexts(t *testing.T) {
	store := func(out string, n int, slow int64) string {
		for range n {
			f, err := NewFolder(out, "bench", goldenTime)
			if err == nil {
				err = f.Write(madeRun(commandBench, made(t, "shm", negotiate.BackendSHM, 400, slow)))
			}
			if err != nil {
				t.Fatal(err)
			}
			slow++
		}
		return out
	}
	load := func(dir string) []*Stored {
		s, err := LoadRuns(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := load(store(t.TempDir(), 1, 1)), load(store(t.TempDir(), 1, 2))
	golden(t, "compare-batches.txt", []byte(CompareTable(Compare(a, b))+"\n"))
	a, b = load(store(t.TempDir(), 3, 1)), load(store(t.TempDir(), 3, 5))
	differences := Compare(a, b)
	golden(t, "compare-runs.txt", []byte(CompareTable(differences)+"\n"))
	var rows, doc bytes.Buffer
	if err := WriteComparison(&rows, differences); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.csv", rows.Bytes())
	if err := writeJSON(&doc, differences); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.json", doc.Bytes())
}
