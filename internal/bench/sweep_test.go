// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// sweepOf runs this test binary again as the processes of a sweep.
func sweepOf(t *testing.T, backends ...negotiate.Backend) *Sweep {
	t.Helper()
	t.Setenv(partVariable, "1")
	t.Setenv("TMPDIR", t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Sweep{
		Backends: backends, Sizes: []int{40_960}, Samples: 30, Warmup: 3, Spacing: time.Millisecond, Touch: true,
		Timeout: 20 * time.Second, Program: []string{self}, Stderr: os.Stderr,
	}
}

func TestSweep(t *testing.T) {
	s := sweepOf(t, negotiate.BackendSHM, FloorSHM, FloorTCP)
	var begun []string
	s.Begin = func(done, all int, name string) {
		if begun = append(begun, name); done != len(begun)-1 || all != 3 {
			t.Errorf("%d of %d", done, all)
		}
	}
	results := s.Run(context.Background())
	if len(results) != 3 || len(begun) != 3 {
		t.Fatalf("%d results of %d cells", len(results), len(begun))
	}
	for i, r := range results {
		if want := s.cells()[i]; r.Phase != want.name() || r.Size != want.size || r.Floor != isFloor(want.backend) {
			t.Errorf("result %d is %s of %d bytes, want %s", i, r.Phase, r.Size, want.name())
		}
		if !r.Valid() || r.Received() != 30 || r.Received()+r.Dropped() != r.Published() {
			t.Errorf("%s: %v %s, received %d, dropped %d, published %d", r.Phase, r.Problems, r.Unavailable, r.Received(), r.Dropped(), r.Published())
			continue
		}
		for _, m := range []Metric{ReadyToUsable, ReadyToRead} {
			if row, ok := find(r.Rows(), m); !ok || row.Dist.Count != 30 || row.Dist.Min <= 0 {
				t.Errorf("%s: %s is %+v", r.Phase, m, row)
			}
		}
		for j := range r.Samples {
			if x := &r.Samples[j]; x.ReadNanos < x.UsableNanos || x.UsableNanos < x.ReadyNanos {
				t.Errorf("%s: frame %d: ready %d, usable %d, read %d", r.Phase, x.Sequence, x.ReadyNanos, x.UsableNanos, x.ReadNanos)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}

func TestSweepSaysWhatCannotBeHad(t *testing.T) {
	s := sweepOf(t, negotiate.BackendCUDA)
	s.Sizes = []int{64}
	r := s.Run(context.Background())
	if len(r) != 1 || !strings.Contains(r[0].Unavailable, "not available") {
		t.Errorf("%+v", r)
	}
	s = sweepOf(t, FloorSHM)
	s.Program = []string{"/bin/false"}
	for _, r := range s.Run(context.Background()) {
		if r.Unavailable == "" || len(r.Samples) != 0 {
			t.Errorf("%s by a program that fails: %+v", r.Phase, r)
		}
	}
}

// TestSweepKeepsWhatItHas interrupts the second cell.
func TestSweepKeepsWhatItHas(t *testing.T) {
	s := sweepOf(t, FloorTCP)
	s.Samples = 1_000_000
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.Begin = func(int, int, string) { time.AfterFunc(300*time.Millisecond, cancel) }
	results := s.Run(ctx)
	if len(results) > 1 {
		t.Fatalf("%d results after an interrupt in the first cell", len(results))
	}
	for _, r := range results { // there is none if it had not begun to measure
		if !r.Interrupted || r.Unavailable != "" || r.Received()+r.Dropped() != r.Published() {
			t.Errorf("interrupted %v, unavailable %q, %d samples", r.Interrupted, r.Unavailable, len(r.Samples))
		}
	}
}

func TestPartWithoutSweep(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), partVariable+"=1")
	cmd.Stdin = strings.NewReader("nonsense\n")
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(string(out), "camsub sweep") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestPayloads(t *testing.T) {
	for _, n := range append([]int{1, 7, 65_535, 2_764_800}, DefaultSizes...) {
		if g, err := PayloadGeometry(n); err != nil || g.Size() != n {
			t.Errorf("%d bytes: %v, error %v", n, g, err)
		}
	}
	for _, n := range []int{0, -1, 1 << 40, 65_537, 1<<31 - 1} { // the last two are primes
		if _, err := PayloadGeometry(n); !errors.Is(err, ErrPayload) {
			t.Errorf("%d bytes: error %v", n, err)
		}
	}
}
