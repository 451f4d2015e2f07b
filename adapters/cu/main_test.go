// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/client/gpu"
	"github.com/seed-3c7e7623/camd/cudabuf/driver/sim"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// What make test sets up: camd, and the simulated driver that this program is
// linked with. That reads its environment when cu begins with it, before main.
var (
	simDir = os.Getenv("CUDASIM_DIR")
	work   = filepath.Join("..", "..", ".cache", "cu")
)

const (
	cuda = negotiate.BackendCUDA
	shm  = negotiate.BackendSHM
)

func TestMain(m *testing.M) {
	if simDir == "" {
		fmt.Fprintln(os.Stderr, "these tests are run by: make test")
		os.Exit(1)
	}
	var err error
	if work, err = filepath.Abs(work); err != nil {
		panic(err)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

// rules has the test fail for each rule of the driver that is broken, and for what
// is left on the GPU at its end.
func rules(t *testing.T) {
	t.Helper()
	before := len(sim.Reports(t, simDir))
	t.Cleanup(func() {
		for _, r := range sim.Reports(t, simDir)[before:] {
			t.Errorf("rule broken: %v", r)
		}
		sim.NoLeaks(t, simDir)
		if n := sim.Memory(t, simDir); n != 0 {
			t.Errorf("%d bytes of device memory are left", n)
		}
		sim.Unbound(t, filepath.Join(work, "sim", "libcuda.so.1"))
	})
}

// said is what a process writes.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
	any  chan struct{} // has one when something was added
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.any <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// daemon runs camd with the second of the two GPUs and a camera of patterns until
// the end of the test, and returns its runtime directory.
func daemon(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "camd-cu-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	out := &said{any: make(chan struct{}, 1)}
	cmd := exec.Command(filepath.Join(work, "camd"), "run", "--runtime-dir", dir, "--camera", "test=pattern,160x120@100",
		"--set", "zenoh.enabled=false", "--set", "cuda.device=1", "--set", "cuda.library="+filepath.Join(work, "sim", "libcuda.so.1"))
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("camd: %v\n%s", err, out)
		}
		if t.Failed() {
			t.Log(out)
		}
	})
	for ctx := bounded(t); !bytes.Contains([]byte(out.String()), []byte("camd running")); {
		select {
		case <-out.any:
		case <-ctx.Done():
			t.Fatalf("camd does not start: %s", out)
		}
	}
	return dir
}

// bounded ends long after a test that passes.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// opened is a GPU with a subscription by a backend, and its context for cu.
func opened(t *testing.T, b negotiate.Backend) (*gpu.Device, *gpu.Subscription, *Context) {
	t.Helper()
	dir := daemon(t)
	dev, err := gpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	closes(t, dev.Close)
	sub := subscribe(t, dev, dir, b)
	if err := next(t, sub).Release(); err != nil { // the GPU is decided
		t.Fatal(err)
	}
	c, err := Open(dev)
	if err != nil {
		t.Fatal(err)
	}
	closes(t, c.Close)
	return dev, sub, c
}

func subscribe(t *testing.T, dev *gpu.Device, dir string, b negotiate.Backend) *gpu.Subscription {
	t.Helper()
	ctx := bounded(t)
	sub, err := dev.Subscribe(ctx, "test/color", client.WithRuntimeDir(dir), client.WithRequire(b))
	for errors.Is(err, client.ErrUnknownStream) && ctx.Err() == nil { // the camera is starting
		sub, err = dev.Subscribe(ctx, "test/color", client.WithRuntimeDir(dir), client.WithRequire(b))
	}
	if err != nil {
		t.Fatal(err)
	}
	closes(t, sub.Close)
	return sub
}

func closes(t *testing.T, f func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := f(); err != nil {
			t.Error(err)
		}
	})
}

func next(t *testing.T, sub *gpu.Subscription) gpu.Frame {
	t.Helper()
	f, err := sub.Next(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// do is Context.Do for what may not fail.
func do(t *testing.T, c *Context, f func() error) {
	t.Helper()
	if err := c.Do(f); err != nil {
		t.Fatal(err)
	}
}
