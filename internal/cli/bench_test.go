// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/internal/bench"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// benchArgs are arguments of bench, which writes below out and draws nothing: a
// bubble of synctest cannot wait for another program.
func benchArgs(out string, args ...string) []string {
	return append([]string{"bench", "test/color", "-o", out, "--no-plot", "--samples", "50", "--warmup", "5"}, args...)
}

// onlyRun is the run that was written below out.
func onlyRun(t *testing.T, out string) (*bench.Stored, string) {
	t.Helper()
	runs, err := bench.LoadRuns(out)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, error %v, want 1", len(runs), err)
	}
	return runs[0], filepath.Join(out, runs[0].Meta.RunID)
}

func TestBench(t *testing.T) {
	out := t.TempDir()
	code, stdout, stderr := newFake(t).run(t, benchArgs(out, "--compat", "zed")...)
	if code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	run, dir := onlyRun(t, out)
	mustContain(t, "stdout", stdout, "ready_to_usable", "publish_to_usable", "capture_to_usable", "period", "subscriber_cpu")
	mustContain(t, "stderr", stderr, "camsub: test/color by shm: 50 frames after 5 to warm up\n", "camsub: written to "+dir+"\n")
	if k := (bench.Key{Phase: "shm", Metric: bench.ReadyToUsable}); run.Rows[k].Count != 50 || len(run.Times[k]) != 50 {
		t.Errorf("%+v and %d times, want 50", run.Rows[k], len(run.Times[k]))
	}
	p := run.Meta.Phases[0]
	if !p.Valid || p.Received+p.Dropped != p.Published || p.Received != 50 || run.Meta.Stream != "test/color" || run.Meta.Interrupted {
		t.Errorf("%+v", run.Meta)
	}
	if b, err := os.ReadFile(filepath.Join(out, bench.ZEDFile)); err != nil || strings.Count(string(b), "\n") < 3 {
		t.Errorf("%s: %q, error %v", bench.ZEDFile, b, err)
	}
}

func TestBenchFormats(t *testing.T) {
	out := t.TempDir()
	code, stdout, _ := newFake(t).run(t, benchArgs(out, "--format", "csv")...)
	_, dir := onlyRun(t, out)
	rows, err := os.ReadFile(filepath.Join(dir, bench.RowsFile))
	if code != 0 || err != nil || stdout != string(rows) {
		t.Errorf("exit %d, error %v: stdout is not %s:\n%s", code, err, bench.RowsFile, stdout)
	}
	code, stdout, _ = newFake(t).run(t, benchArgs(t.TempDir(), "--format", "json")...)
	var doc bench.Summary
	if err := json.Unmarshal([]byte(stdout), &doc); code != 0 || err != nil || len(doc.Rows) != 7 || doc.Stream != "test/color" {
		t.Errorf("exit %d, error %v, %d rows", code, err, len(doc.Rows))
	}
}

func TestBenchLines(t *testing.T) {
	code, stdout, _ := newFake(t).run(t, benchArgs(t.TempDir(), "--lines", "--debug-pixel")...)
	if n := strings.Count(stdout, "pixel 00 00 00 00\n"); code != 0 || n != 50 {
		t.Errorf("exit %d, %d lines of frames, want 50:\n%s", code, n, stdout)
	}
	mustContain(t, "stdout", stdout, "shm 6: ready 45.0 µs, publish 30.0 µs, capture 5000.0 µs, pixel 00 00 00 00\n")
}

// TestBenchPhases has no backend cpu: its phase is left out, the other one kept.
func TestBenchPhases(t *testing.T) {
	s := newFake(t)
	w := s.world()
	subscribe, n := w.subscribe, 0
	w.subscribe = func(ctx context.Context, stream string, opts ...client.Option) (subscription, error) {
		if n++; n == 1 {
			return nil, fmt.Errorf("%w: cpu: not_offered", client.ErrNotAvailable)
		}
		return subscribe(ctx, stream, opts...)
	}
	out := t.TempDir()
	code, stdout, stderr := runWorld(t, w, benchArgs(out, "--phases", "cpu,shm")...)
	if code != ExitUnavailable {
		t.Errorf("exit %d, want %d", code, ExitUnavailable)
	}
	mustContain(t, "stdout", stdout, "cpu: not measured: backend not available: cpu: not_offered")
	mustContain(t, "stderr", stderr, "camsub: phase cpu: backend not available: cpu: not_offered\n")
	run, _ := onlyRun(t, out)
	if p := run.Meta.Phases; len(p) != 2 || p[0].Valid || p[0].Unavailable == "" || !p[1].Valid || p[1].Received != 50 {
		t.Errorf("%+v", p)
	}
}

func TestBenchThatIsSpoilt(t *testing.T) {
	s := newFake(t)
	s.change = func(n int, _ *fakeFrame) {
		if n == 30 {
			s.path.Backend = negotiate.BackendCPU
		}
	}
	out := t.TempDir()
	code, stdout, stderr := s.run(t, benchArgs(out)...)
	if code != ExitFailure {
		t.Errorf("exit %d, want %d", code, ExitFailure)
	}
	mustContain(t, "stdout", stdout, "shm: NOT VALID: the backend changed from shm to cpu after 25 frames")
	mustContain(t, "stderr", stderr, "phase shm is not valid")
	if run, _ := onlyRun(t, out); run.Meta.Phases[0].Valid || run.Meta.Phases[0].Other[negotiate.BackendCPU] != 25 {
		t.Errorf("%+v", run.Meta.Phases)
	}
}

func TestBenchKeepsWhatItHas(t *testing.T) {
	t.Run("Ctrl-C", func(t *testing.T) {
		out := t.TempDir()
		code, _, stderr := newFake(t).runContext(t, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			stop := time.AfterFunc(256*time.Millisecond, cancel)
			return ctx, func() { stop.Stop(); cancel() }
		}, benchArgs(out, "--phases", "shm,cpu")...)
		run, _ := onlyRun(t, out)
		if p := run.Meta.Phases; code != 0 || len(p) != 1 || p[0].Received != 20 || !p[0].Interrupted || !run.Meta.Interrupted {
			t.Errorf("exit %d, phases %+v: %s", code, p, stderr)
		}
	})
	t.Run("silence", func(t *testing.T) {
		s := newFake(t)
		s.frames = 30
		out := t.TempDir()
		code, _, stderr := s.run(t, benchArgs(out, "--timeout", "2s")...)
		mustContain(t, "stderr", stderr, "camsub: timeout: no frame of test/color for 2s\n")
		if run, _ := onlyRun(t, out); code != ExitTimeout || run.Meta.Phases[0].Received != 25 {
			t.Errorf("exit %d, %+v", code, run.Meta.Phases)
		}
	})
}

func TestBenchThatCannotBegin(t *testing.T) {
	t.Run("unknown stream", func(t *testing.T) {
		s := newFake(t)
		s.refused = fmt.Errorf("%w %q", client.ErrUnknownStream, "test/color")
		out := t.TempDir()
		code, _, stderr := s.run(t, benchArgs(out)...)
		mustContain(t, "stderr", stderr, "known are: clip/color, test/color")
		if left, err := os.ReadDir(out); code != ExitNotFound || err != nil || len(left) != 0 {
			t.Errorf("exit %d, %d folders left, error %v", code, len(left), err)
		}
	})
	t.Run("nowhere to write", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		s := newFake(t)
		if code, _, _ := s.run(t, benchArgs(filepath.Join(file, "x"))...); code != ExitFailure || s.taken != 0 {
			t.Errorf("exit %d after %d frames", code, s.taken)
		}
	})
}

func TestBenchUsage(t *testing.T) {
	for _, args := range [][]string{
		{"bench"},
		{"bench", "test/color", "--phases", "shm,shm"},
		{"bench", "test/color", "--phases", "floor_shm"},
		{"bench", "test/color", "--samples", "0"},
		{"bench", "test/color", "--warmup", "-1"},
		{"bench", "test/color", "--load-period", "5ms"},
		{"bench", "test/color", "--load-period", "2s"},
		{"bench", "test/color", "--load-window", "101"},
		{"bench", "test/color", "--compat", "dora"},
		{"bench", "test/color", "-o", ""},
		{"sweep", "test/color"},
		{"sweep", "--sizes", "8,8"},
		{"sweep", "--sizes", "65537"},
		{"sweep", "--sizes", "x"},
		{"sweep", "--spacing", "-1ms"},
		{"sweep", "--backends", "tcp"},
		{"compare", "a"},
		{"compare", "a", "b", "c"},
	} {
		if code, stdout, stderr := newFake(t).run(t, args...); code != ExitUsage || stdout != "" {
			t.Errorf("%v: exit %d, want %d; stdout %q, stderr %q", args, code, ExitUsage, stdout, stderr)
		}
	}
}

func TestCompare(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, out := range []string{a, a, b, b} {
		if code, _, stderr := newFake(t).run(t, benchArgs(out)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	code, stdout, stderr := newFake(t).run(t, "compare", a, b)
	if code != 0 || stderr != "" {
		t.Errorf("exit %d: %s", code, stderr)
	}
	mustContain(t, "stdout", stdout, "ready_to_usable", "2, 2 runs", "95 % interval")
	code, stdout, _ = newFake(t).run(t, "compare", a, b, "--format", "csv")
	if rows := strings.Split(stdout, "\n"); code != 0 || rows[0] != strings.Join(bench.CompareHeader, ",") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	if code, _, stderr := newFake(t).run(t, "compare", a, t.TempDir()); code != ExitFailure || !strings.Contains(stderr, "no results of a run in ") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
