// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cudabuf

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
)

// simulated is the driver of this process. It reads its environment once, so
// that all tests share the run directory.
var simulated struct {
	dir    string
	once   sync.Once
	driver *driver.Driver
	err    error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "camd-cudabuf-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	simulated.dir = dir
	for name, value := range map[string]string{"DIR": dir, "DELAY": string(sim.Uniform), "DELAY_US": "1000"} {
		_ = os.Setenv("CUDASIM_"+name, value) // cannot fail with such names
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// threads starts n threads of the simulated GPU. At the end of the test they are
// closed, no rule was broken but those that are allowed, and nothing is left.
func threads(t testing.TB, n int, allowed ...string) []*driver.Thread {
	t.Helper()
	library := sim.Build(t)
	simulated.once.Do(func() { simulated.driver, simulated.err = driver.Open(library) })
	if simulated.err != nil {
		t.Fatal(simulated.err)
	}
	devices, err := simulated.driver.Devices()
	if err != nil {
		t.Fatal(err)
	}
	before := len(sim.Reports(t, simulated.dir))
	t.Cleanup(func() {
		for _, r := range sim.Reports(t, simulated.dir)[before:] {
			if !slices.Contains(allowed, r.Rule) {
				t.Errorf("rule broken: %v", r)
			}
		}
		sim.NoLeaks(t, simulated.dir)
	})
	var all []*driver.Thread
	for i := range n {
		th, err := simulated.driver.Start(devices[0], fmt.Sprintf("test-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := th.Close(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, th)
	}
	return all
}

// must is Do for what may not fail.
func must(t testing.TB, th *driver.Thread, f func() error) {
	t.Helper()
	if err := th.Do(f); err != nil {
		t.Fatal(err)
	}
}
