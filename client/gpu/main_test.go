// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/zenoh/config"
)

// simDir is the run directory of the simulated driver, which all tests of this
// process share: it reads its environment once.
var simDir string

// offline keeps tests off the network: those that say nothing about Zenoh accept
// cpu all the same, where a GPU is accepted.
const offline = `mode="client";connect/endpoints=["tcp/127.0.0.1:1"]`

// excepted are processes whose GPU failed: they can give nothing back.
var excepted []int

func TestMain(m *testing.M) {
	if err := os.Setenv(config.EnvOverride, offline); err != nil {
		panic(err)
	}
	if os.Getenv(helperVariable) != "" {
		os.Exit(helperMain())
	}
	dir, err := os.MkdirTemp("", "camd-gpu-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	simDir = dir
	for name, value := range map[string]string{"DIR": dir, "PROFILE": "two-gpus", "DELAY": string(sim.Uniform), "DELAY_US": "1000"} {
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

// rules has the test fail for each rule that is broken from now on, but those
// that are allowed, and for what is left at its end.
func rules(t testing.TB, allowed ...string) {
	t.Helper()
	sim.Build(t) // or skip
	before := len(sim.Reports(t, simDir))
	t.Cleanup(func() {
		for _, r := range sim.Reports(t, simDir)[before:] {
			// One whose driver hangs can give nothing back, and says so where its
			// C library runs exit handlers.
			left := r.Rule == "S38" && slices.Contains(excepted, r.PID)
			if !left && !slices.Contains(allowed, r.Rule) {
				t.Errorf("rule broken: %v", r)
			}
		}
		sim.NoLeaks(t, simDir, excepted...)
		if n := sim.Memory(t, simDir); n != 0 {
			t.Errorf("%d bytes of device memory are left", n)
		}
	})
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// opened is the simulated GPU as a program has it.
func opened(t testing.TB, opts ...Option) *Device {
	t.Helper()
	dev, err := Open(append([]Option{WithLibrary(sim.Build(t)), WithLogger(silent())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// do is Device.Do for what may not fail.
func do(t testing.TB, dev *Device, f func(th *driver.Thread) error) {
	t.Helper()
	if err := dev.Do(f); err != nil {
		t.Fatal(err)
	}
}

// pinned is host memory for copies.
func pinned(t testing.TB, dev *Device, n int) (b []byte) {
	t.Helper()
	do(t, dev, func(th *driver.Thread) (err error) {
		b, err = th.HostAlloc(n)
		return err
	})
	t.Cleanup(func() { do(t, dev, func(th *driver.Thread) error { return th.HostFree(b) }) })
	return b
}

func newStream(t testing.TB, dev *Device) Stream {
	t.Helper()
	s, err := dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
