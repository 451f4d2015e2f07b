// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// change is one place of camd.c, and what a mistake there looks like.
type change struct{ from, to string }

// mutant builds the example with a mistake in the client.
func mutant(t testing.TB, changes ...change) string {
	t.Helper()
	cc := compiler(t, "cc")
	text, err := os.ReadFile("../camd.c")
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	for _, c := range changes {
		if strings.Count(source, c.from) != 1 {
			t.Fatalf("camd.c has %d times %q, want one", strings.Count(source, c.from), c.from)
		}
		source = strings.Replace(source, c.from, c.to, 1)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "camd.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "reader")
	if err := compile(cc, "-I.", "reader.c", filepath.Join(dir, "camd.c"), "-o", out); err != nil {
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
	for name, c := range map[string]change{
		"frames go back before the work on them is complete": {"done[i] = code == CU_SUCCESS;", "done[i] = true;"},
		"no event behind the work":                           {"code = cu.cuEventRecord(l->event, cuda);", "(void)cuda;"},
		"frames go back at once": {
			"l->state = SLOT_PENDING;\n\tsub->stats.held--;\n\tsub->stats.pending++;", "end_lease(sub, l);\n\treturn CAMD_OK;",
		},
		"a proof without device memory": {"sha256_add(&sum, probe, sizeof probe);", ""},
		"frames never go back":          {"atomic_store(at32(page, PAGE_HEAD), head + 1);", ""},
		"another slot":                  {"f->device = e->base + slot *", "f->device = e->base + (slot ^ 1) *"},
	} {
		t.Run(name, func(t *testing.T) {
			library, env, run := simulated(t, sim.Options{Delay: sim.Uniform, DelayMicros: 2000})
			reader := mutant(t, c)
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
