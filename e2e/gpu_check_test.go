// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// TestGPUCheck builds the check that is prepared for machines with a GPU and
// runs it with a simulated one. Every line must say so, and no time may be in
// the results.
func TestGPUCheck(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("cc"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("no C compiler")
	}
	programs := t.TempDir()
	build := exec.Command("../benchmarks/gpu/run", "-build", programs)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, said)
	}
	out := filepath.Join(t.TempDir(), "results")
	p := start(t, nil, filepath.Join(programs, "gpu"), "-library", sim.Build(t), "-quick", "-only", "abi,faults,latency", "-o", out)
	if code := p.wait(); code != 0 {
		t.Fatalf("exit code %d; it said:\n%s%s", code, p.out, p.err)
	}
	for _, line := range strings.Split(strings.TrimSpace(p.out.String()), "\n") {
		if !strings.HasPrefix(line, "SIMULATED") {
			t.Errorf("a line does not say that it is simulated: %q", line)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "environment.json")); err != nil {
		t.Error(err)
	}
	rows := table(t, filepath.Join(out, "latency.csv"))
	systems := make(map[string]bool)
	for _, row := range rows {
		systems[row["system"]] = true
		for name, v := range row {
			if row["simulated"] != "true" || strings.HasSuffix(name, "_ns") && v != "" {
				t.Errorf("a row has figures of a simulation: %v", row)
				break
			}
		}
	}
	if len(systems) != 4 {
		t.Errorf("measured: %v, want camd by cuda and by shm, and two of the baseline", systems)
	}
	checks := table(t, filepath.Join(out, "checks.csv"))
	if last := checks[len(checks)-1]; last["case"] != "rules of the driver" || last["result"] != "ok" {
		t.Errorf("the last check is %v", last)
	}
}
