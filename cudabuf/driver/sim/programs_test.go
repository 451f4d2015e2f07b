// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

var compiled struct {
	once sync.Once
	path string
	out  []byte
	err  error
}

// program builds testdata/programs against the library, once.
func program(t *testing.T) string {
	t.Helper()
	library := sim.Build(t)
	compiled.once.Do(func() {
		var dir string
		if dir, compiled.err = os.MkdirTemp("", "cudasim-programs-"); compiled.err != nil {
			return
		}
		units, _ := filepath.Glob("testdata/programs/*.c")
		compiled.path = filepath.Join(dir, "program")
		args := append([]string{
			"-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", "-Wall", "-Wextra", "-Werror", "-Ilibcuda", "-o", compiled.path,
		}, units...)
		args = append(args, "-L"+filepath.Dir(library), "-l:libcuda.so.1", "-Wl,-rpath,"+filepath.Dir(library))
		compiled.out, compiled.err = exec.Command("cc", args...).CombinedOutput()
	})
	if compiled.err != nil {
		t.Fatalf("%v\n%s", compiled.err, compiled.out)
	}
	return compiled.path
}

func TestMain(m *testing.M) {
	code := m.Run()
	if compiled.path != "" {
		os.RemoveAll(filepath.Dir(compiled.path))
	}
	os.Exit(code)
}

// run runs one of the programs and gives the rules that it broke.
func run(t *testing.T, name string, o sim.Options) (rules []string, dir string) {
	t.Helper()
	path := program(t)
	env, dir := sim.Env(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, name)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s%v", err, out, sim.Reports(t, dir))
	}
	for _, r := range sim.Reports(t, dir) {
		if !slices.Contains(rules, r.Rule) {
			rules = append(rules, r.Rule)
		}
	}
	slices.Sort(rules)
	return rules, dir
}

// TestMistakes is the check of the simulation itself: each wrong program
// breaks its rule and no other.
func TestMistakes(t *testing.T) {
	slow := sim.Options{Delay: sim.Uniform, DelayMicros: 4000}
	for _, c := range []struct {
		program, rule string
		o             sim.Options
	}{
		{"no-init", "S1", sim.Options{}},
		{"no-context", "S2", sim.Options{}},
		{"no-context-on-thread", "S2", sim.Options{}},
		{"context-left-on-thread", "S3", sim.Options{}},
		{"context-released-twice", "S4", sim.Options{}},
		{"context-released-full", "S4", sim.Options{}},
		{"context-destroyed", "S4", sim.Options{}},
		{"copy-beyond", "S5", sim.Options{}},
		{"copy-to-nowhere", "S5", sim.Options{}},
		{"device-address-as-host", "S5", sim.Options{}},
		{"read-unwritten", "S6", sim.Options{}},
		{"pageable", "S7", sim.Options{}},
		{"source-reused-early", "S8", sim.Options{Delay: sim.Hold}},
		{"source-gone", "S8", sim.Options{Delay: sim.Hold}},
		{"registered-twice", "S9", sim.Options{}},
		{"not-registered", "S9", sim.Options{}},
		{"read-only-registered-as-writable", "S9", sim.Options{}},
		{"unregistered-while-queued", "S9", slow},
		{"host-freed-while-queued", "S9", slow},
		{"event-of-other-context", "S10", sim.Options{Profile: "two-gpus"}},
		{"interprocess-event-with-times", "S11", sim.Options{}},
		{"wait-never-recorded", "S12", sim.Options{}},
		{"query-never-recorded", "S12", sim.Options{}},
		{"destroyed-stream", "S15", sim.Options{}},
		{"destroyed-event", "S16", sim.Options{}},
		{"legacy-open-flags", "S20", sim.Options{}},
		{"unmapped-while-queued", "S24", sim.Options{}},
		{"freed-while-queued", "S24", sim.Options{}},
		{"freed-twice", "S26", sim.Options{}},
		{"freed-inside", "S26", sim.Options{}},
		{"freed-mapped", "S26", sim.Options{}},
		{"odd-size", "S27", sim.Options{}},
		{"map-offset", "S27", sim.Options{}},
		{"map-twice", "S27", sim.Options{}},
		{"map-unreserved", "S27", sim.Options{}},
		{"no-access", "S27", sim.Options{}},
		{"write-read-only", "S27", sim.Options{}},
		{"unmap-part", "S27", sim.Options{}},
		{"address-freed-mapped", "S27", sim.Options{}},
		{"released-twice", "S27", sim.Options{}},
		{"use-after-unmap", "S27", sim.Options{}},
		{"access-for-wrong-gpu", "S27", sim.Options{Profile: "two-gpus"}},
		{"import-other-file", "S28", sim.Options{}},
		{"import-closed", "S28", sim.Options{}},
		{"import-address-of-descriptor", "S28", sim.Options{}},
		{"export-left-open-over-exec", "S28", sim.Options{}},
		{"export-unfit", "S28", sim.Options{}},
		{"fork-after-init", "S34", sim.Options{}},
		{"call-in-callback", "S35", sim.Options{}},
		{"default-stream", "S37", sim.Options{}},
		{"blocking-stream", "S37", sim.Options{}},
		{"leak", "S38", sim.Options{}},
		{"old-form", "ABI", sim.Options{}},
		{"spinning-wait", "P28", sim.Options{}},
		{"missing-wait", "RACE", sim.Options{}},
		{"record-before-copy", "RACE", sim.Options{}},
		{"two-writers", "RACE", sim.Options{}},
		{"host-shared", "RACE", sim.Options{}},
		{"publish-before-completion", "RACE", sim.Options{}},
		{"release-before-completion", "RACE", sim.Options{}},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			rules, dir := run(t, c.program, c.o)
			if !slices.Equal(rules, []string{c.rule}) {
				t.Errorf("broke %v, want %s:\n%v", rules, c.rule, sim.Reports(t, dir))
			}
		})
	}
}

// TestRight holds that programs without a mistake are not blamed, however late
// everything is, and that nothing is left of them.
func TestRight(t *testing.T) {
	for _, o := range []sim.Options{
		{},
		{Delay: sim.Uniform, DelayMicros: 2000, Seed: 3},
		{Delay: sim.Heavy, DelayMicros: 2000, Seed: 4},
		{Delay: sim.Hold},
		{Profile: "jetson"},
	} {
		for _, name := range []string{"whole", "pitched", "registered", "other-process", "threads", "survives", "names"} {
			t.Run(name+"-"+string(o.Delay)+o.Profile, func(t *testing.T) {
				t.Parallel()
				_, dir := run(t, name, o)
				sim.Clean(t, dir)
				if n := sim.Memory(t, dir); n != 0 {
					t.Errorf("%d bytes of device memory left", n)
				}
				if name != "survives" {
					sim.NoLeaks(t, dir)
				}
			})
		}
	}
}

// TestBehaviour runs programs that check themselves, under conditions.
func TestBehaviour(t *testing.T) {
	for _, c := range []struct {
		program string
		o       sim.Options
	}{
		{"torn", sim.Options{Delay: sim.Uniform, DelayMicros: 4000}},
		{"reader-dies", sim.Options{}},
		{"legacy-handle-of-mapped", sim.Options{}},
		{"gpu-breaks", sim.Options{Fail: "op:2:719"}},
		{"limits", sim.Options{Extra: []string{"CUDASIM_MAX_EVENTS=3", "CUDASIM_MAX_STREAMS=2"}}},
		{"memory-full", sim.Options{Memory: 4 << 20}},
		{"third-allocation-fails", sim.Options{Fail: "cuMemCreate:3:2"}},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			_, dir := run(t, c.program, c.o)
			sim.Clean(t, dir)
		})
	}
}
