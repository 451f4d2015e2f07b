// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// change is one place of camd.c, and what a mistake there looks like.
type change struct{ from, to string }

// mutant builds a program, which consists of a file of clients/c and of the
// client, with a mistake in the latter.
func mutant(t testing.TB, program string, c change) string {
	t.Helper()
	cc := compiler(t, "cc")
	text, err := os.ReadFile("../camd.c")
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	if strings.Count(source, c.from) != 1 {
		t.Fatalf("camd.c has %d times %q, want one", strings.Count(source, c.from), c.from)
	}
	source = strings.Replace(source, c.from, c.to, 1)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "camd.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	// selftest.c contains camd.c: the one beside it.
	own, err := os.ReadFile(filepath.Join("..", program))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, program), own, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "program")
	args := []string{"-I.", filepath.Join(dir, program), "-o", out}
	if program == "reader.c" {
		args = append(args, filepath.Join(dir, "camd.c"))
	}
	if err := compile(cc, args...); err != nil {
		t.Fatal(err)
	}
	return out
}

// wrong reports whether something notices a mistake of a reader: the reader, or
// the driver.
func wrong(t testing.TB, p *process, run string) bool {
	t.Helper()
	await(t, "the end of the process, or a report", func() bool { return p.ended() || len(sim.Reports(t, run)) > 0 })
	if len(sim.Reports(t, run)) > 0 || p.wait() != 0 {
		return true
	}
	s := p.summary()
	return s.torn+s.stale > 0
}

// Each step that keeps a frame in device memory until it was read is there for a
// reason: without it, something is seen to go wrong.
func TestMistakesOnTheGPUAreSeen(t *testing.T) {
	mistakes := map[string]change{
		"frames go back before the work on them is complete": {"done[i] = code == CU_SUCCESS;", "done[i] = true;"},
		"another slot": {"f->device = e->base + slot *", "f->device = e->base + (slot ^ 1) *"},
	}
	if soak {
		maps.Copy(mistakes, map[string]change{
			"no event behind the work": {"code = cu.cuEventRecord(l->event, cuda);", "(void)cuda;"},
			"frames go back at once": {
				"l->state = SLOT_PENDING;\n\tsub->stats.held--;\n\tsub->stats.pending++;", "end_lease(sub, l);\n\treturn CAMD_OK;",
			},
			"a proof without device memory": {"sha256_add(&sum, probe, sizeof probe);", ""},
			"frames never go back":          {"atomic_store(at32(page, PAGE_HEAD), head + 1);", ""},
		})
	}
	for name, c := range mistakes {
		t.Run(name, func(t *testing.T) {
			library, env, run := simulated(t, sim.Options{Delay: sim.Uniform, DelayMicros: 2000})
			reader := mutant(t, "reader.c", c)
			dir := newDir(t)
			startGPU(t, library, env, dir, "test=pattern,96x64@200")
			for seed := range 10 {
				p := start(t, append(env, "CUDASIM_SEED="+strconv.Itoa(seed+1)), reader,
					append([]string{"test/color", "--runtime-dir", dir, "--timeout-ms", "1000", "--count", "50", "--async"}, deviceArgs(library)...)...)
				if wrong(t, p, run) {
					return
				}
			}
			t.Error("nothing was noticed in 500 frames")
		})
	}
}

// The end of a subscription waits for the work on its frames.
func TestEndWithoutWaitIsSeen(t *testing.T) {
	library, env, run := simulated(t, sim.Options{Delay: sim.Uniform})
	program := mutant(t, "selftest.c", change{"cu.cuEventQuery(s->leases[i].event) == CU_NOT_READY &&", "false &&"})
	dir := newDir(t)
	startGPU(t, library, env, dir, "test=pattern,96x64@100")
	if code := startReader(t, env, dir, deviceArgs(library, "--count", "1")...).wait(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	p := start(t, env, program, "device", dir, "test/color", library)
	await(t, "a report", func() bool { return len(sim.Reports(t, run)) > 0 || p.ended() })
	if len(sim.Reports(t, run)) == 0 && p.wait() == 0 {
		t.Error("nothing was noticed")
	}
}
