// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bufio"
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

const gpu0 = "SIMULATED GPU 0, ends in 00, integrated 0, vmm 1, fd 1\n"

func TestProfiles(t *testing.T) {
	for _, c := range []struct {
		name string
		o    sim.Options
		want string
	}{
		{"discrete", sim.Options{}, "init 0\n" + gpu0 + "context 0\ncreate 0\nexport 0\nimport 0\n"},
		{"jetson", sim.Options{Profile: "jetson"}, "init 0\nSIMULATED integrated GPU 0, ends in 00, integrated 1, vmm 1, fd 1\ncontext 0\ncreate 0\nexport 0\nimport 0\nlegacy open 1\n"},
		{"jetson-without-vmm", sim.Options{Profile: "jetson", NoVMM: true}, "init 0\nSIMULATED integrated GPU 0, ends in 00, integrated 1, vmm 0, fd 0\ncontext 0\ncreate 801\nlegacy open 1\n"},
		{"no-ipc", sim.Options{Profile: "no-ipc"}, "init 0\nSIMULATED GPU 0, ends in 00, integrated 0, vmm 1, fd 0\ncontext 0\ncreate 801\n"},
		{"wsl", sim.Options{Profile: "wsl"}, "init 0\n" + gpu0 + "context 0\ncreate 0\nexport 801\n"},
		{"pidns", sim.Options{Profile: "pidns"}, "init 0\n" + gpu0 + "context 0\ncreate 0\nexport 0\nimport 201\n"},
		{"no-driver", sim.Options{Profile: "no-driver"}, "init 100\n"},
		{"mismatch", sim.Options{Profile: "mismatch"}, "init 803\n"},
		{"stub", sim.Options{Profile: "stub"}, "init 34\n"},
		{"not-ready", sim.Options{Profile: "not-ready"}, "init 802\n"},
		{"none-visible", sim.Options{Devices: "7"}, "init 100\n"},
		{
			"other-order",
			sim.Options{Profile: "two-gpus", Devices: "1,0"},
			"init 0\nSIMULATED GPU 1, ends in 01, integrated 0, vmm 1, fd 1\n" + gpu0 + "context 0\ncreate 0\nexport 0\nimport 0\n",
		},
		{"by-uuid", sim.Options{Profile: "two-gpus", Devices: sim.UUID(1)}, "init 0\nSIMULATED GPU 1, ends in 01, integrated 0, vmm 1, fd 1\ncontext 0\ncreate 0\nexport 0\nimport 0\n"},
		{"no-room", sim.Options{Fail: "oom"}, "init 0\n" + gpu0 + "context 0\ncreate 2\n"},
		{"failing-call", sim.Options{Fail: "cuMemImportFromShareableHandle:0:999"}, "init 0\n" + gpu0 + "context 0\ncreate 0\nexport 0\nimport 999\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env, dir := sim.Env(t, c.o)
			cmd := exec.Command(program(t), "machine")
			cmd.Env = append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != c.want {
				t.Errorf("%v, got:\n%swant:\n%s", err, out, c.want)
			}
			sim.Clean(t, dir)
		})
	}
}

func TestExclusive(t *testing.T) {
	env, dir := sim.Env(t, sim.Options{Profile: "exclusive"})
	cmd := exec.Command(program(t), "exclusive")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if want := "init 0\n" + gpu0 + "context 46\ninit 0\n" + gpu0 + "context 0\ncreate 0\nexport 0\nimport 0\n"; err != nil || string(out) != want {
		t.Errorf("%v, got:\n%swant:\n%s", err, out, want)
	}
	sim.Clean(t, dir)
}

// TestInjected gives plans to programs that run.
func TestInjected(t *testing.T) {
	for _, c := range []struct {
		program string
		plans   []string // after each line that the program says
		want    []string
	}{
		{"goes-on", []string{"lost:719"}, []string{"running", "ended 719"}},
		{"goes-on", []string{"op:3:700"}, []string{"running", "ended 700"}},
		{"hangs", []string{"hang", "", ""}, []string{"running", "hangs", "ended"}},
		{"fills", []string{"oom"}, []string{"running", "ended 2"}},
		{"fills", []string{"cuMemCreate:5+:304"}, []string{"running", "ended 304"}},
	} {
		t.Run(c.program+" "+c.plans[0], func(t *testing.T) {
			t.Parallel()
			env, dir := sim.Env(t, sim.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, program(t), c.program)
			cmd.Env = append(os.Environ(), env...)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var said []string
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if len(said) < len(c.plans) {
					sim.Inject(t, dir, c.plans[len(said)])
				}
				said = append(said, lines.Text())
			}
			if err := cmd.Wait(); err != nil || !slices.Equal(said, c.want) {
				t.Errorf("said %q: %v, want %q", said, err, c.want)
			}
			sim.Clean(t, dir)
		})
	}
}

// TestUnbound asks threads whether they have a context.
func TestUnbound(t *testing.T) {
	if rules, dir := run(t, "unbound", sim.Options{}); !slices.Equal(rules, []string{"S3"}) || len(sim.Reports(t, dir)) != 1 {
		t.Errorf("reports %v", sim.Reports(t, dir))
	}
}

// TestCounts holds what is told of processes: calls, and what dead ones had.
func TestCounts(t *testing.T) {
	_, dir := run(t, "goes-on", sim.Options{Fail: "op:6:719"})
	all := sim.Processes(t, dir)
	if len(all) != 1 {
		t.Fatalf("%d processes", len(all))
	}
	p := all[0]
	if p.Alive || p.Calls["cuMemsetD8Async"] != 6 || p.Calls["cuMemCreate"] != 1 || p.Streams != 1 || p.Handles != 1 || p.Contexts != 1 {
		t.Errorf("got %+v", p)
	}
	if want := "1 contexts, 1 streams, 1 handles of memory, 1 reservations of addresses, 1 mappings, 1 pieces of device memory"; p.Leaks() != want {
		t.Errorf("leaks: %s", p.Leaks())
	}
	if n := sim.Memory(t, dir); n != 0 {
		t.Errorf("a dead process has %d bytes", n)
	}
}

// TestOldDriver holds what the driver from before virtual memory management
// lacks, and that the other has it.
func TestOldDriver(t *testing.T) {
	has := func(library string) map[string]bool {
		f, err := elf.Open(library)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		all, err := f.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, s := range all {
			if s.Section != elf.SHN_UNDEF {
				names[s.Name] = true
			}
		}
		return names
	}
	now, old := has(sim.Build(t)), has(sim.BuildOld(t))
	for _, name := range []string{"cuMemCreate", "cuMemImportFromShareableHandle", "cuMemSetAccess"} {
		if !now[name] || old[name] {
			t.Errorf("%s: now %v, before %v", name, now[name], old[name])
		}
	}
	for name := range now {
		if !strings.HasPrefix(name, "cu") {
			t.Errorf("exports %s", name)
		}
	}
}
