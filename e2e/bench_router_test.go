// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/venv"
)

// startRouter runs the router of deploy/zenoh with its own configuration, at a
// port of loopback.
func startRouter(t testing.TB) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint = fmt.Sprintf("tcp/127.0.0.1:%d", l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, venv.ROS2.Python(t), "../deploy/zenoh/router.py", "../deploy/zenoh/router.json5", fmt.Sprintf("listen/endpoints=[%q]", endpoint))
	eventually(t, "the router is up", func() (bool, string) { return strings.Contains(p.out.String(), "is up"), p.err.String() })
	t.Cleanup(p.interrupt)
	return endpoint
}

// TestBenchOverRouter measures the path cpu as it is: through a router that is
// not ours, in bench and in sweep.
func TestBenchOverRouter(t *testing.T) {
	t.Parallel()
	router := startRouter(t)
	env := withEnv(`ZENOH_CONFIG_OVERRIDE=scouting/multicast/enabled=false;mode="client";connect/endpoints=["` + router + `"]`)
	t.Run("bench", func(t *testing.T) {
		t.Parallel()
		dir := newDir(t)
		d := &daemon{dir: dir, process: start(t, []with{env}, built.camd, "run", "--runtime-dir", dir, "--set", "cuda.enabled=false",
			"--camera", "test=pattern,320x240@100")}
		d.ready()
		t.Cleanup(func() { d.stop() })
		out := t.TempDir()
		p := start(t, []with{env, withEnv("CAMD_RUNTIME_DIR=" + dir)}, built.camsub,
			"bench", "test/color", "--phases", "cpu,shm", "--samples", "100", "--warmup", "5", "--no-plot", "-o", out)
		if code := p.wait(); code != 0 {
			t.Fatalf("exit code %d: %s", code, p.err)
		}
		m := metaOf(t, out)
		m.holds(t, 100)
		if len(m.Phases) != 2 || m.Phases[0].Got != "cpu" || m.Phases[0].Tapped == 0 {
			t.Errorf("%+v", m.Phases)
		}
		for _, x := range oneRun(t, out).samples {
			if x["ready_ns"] != "" && integer(t, x["usable_ns"]) <= integer(t, x["ready_ns"]) {
				t.Errorf("frame %s by %s was usable before it was ready: %v", x["sequence"], x["backend"], x)
			}
		}
	})
	t.Run("sweep", func(t *testing.T) {
		t.Parallel()
		out := t.TempDir()
		p := start(t, []with{env}, built.camsub, "sweep", "--backends", "cpu", "--sizes", "64,409600", "--samples", "30", "--warmup", "3",
			"--no-plot", "-o", out, "--compat", "dora")
		if code := p.wait(); code != 0 {
			t.Fatalf("exit code %d: %s", code, p.err)
		}
		m := metaOf(t, out)
		m.holds(t, 30)
		if len(m.Phases) != 4 {
			t.Errorf("%+v", m.Phases)
		}
	})
}
