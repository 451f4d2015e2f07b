// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gorgonia.org/cu"

	"github.com/seed-3c7e7623/camd/client/gpu"
)

func TestDo(t *testing.T) {
	rules(t)
	_, _, c := opened(t, cuda)
	if d := c.Device(); d != 1 {
		t.Errorf("cu computes on %v", d)
	}
	failed := errors.New("failed")
	if err := c.Do(func() error {
		if now, err := cu.CurrentContext(); err != nil || now != c.CUContext() {
			t.Errorf("the context is %v, not %v: %v", now, c.CUContext(), err)
		}
		if d, err := cu.CurrentDevice(); err != nil || d != c.Device() {
			t.Errorf("the device is %v: %v", d, err)
		}
		return failed
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	func() {
		defer func() { _ = recover() }()
		_ = c.Do(func() error { panic("in the program's work") })
	}()
	if now, err := cu.CurrentContext(); err != nil || now != (cu.CUContext{}) {
		t.Errorf("the context %v is current afterwards: %v", now, err)
	}
}

func TestWrongContext(t *testing.T) {
	rules(t)
	dev, sub, c := opened(t, cuda)
	f := next(t, sub)

	other, err := gpu.Open(gpu.WithDevice("0"))
	if err != nil {
		t.Fatal(err)
	}
	closes(t, other.Close)
	theirs, err := other.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.OnDevice(f, FromGPU(theirs)); !errors.Is(err, ErrContext) {
		t.Errorf("a stream of another GPU: %v", err)
	}
	wrong, err := Open(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.OnDevice(f, FromGPU(theirs)); !errors.Is(err, ErrDevice) {
		t.Errorf("a frame of another GPU: %v", err)
	}
	if err := wrong.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(wrong.Close(), f.Subscription().Device().DestroyStream(theirs)); !errors.Is(err, gpu.ErrStream) {
		t.Errorf("destroying a stream of another GPU: %v", err)
	}
	if err := wrong.Do(func() error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("work in a closed context: %v", err)
	}
	for _, none := range []gpu.Stream{0, 1, 2} {
		if _, err := c.OnDevice(f, FromGPU(none)); !errors.Is(err, gpu.ErrStream) {
			t.Errorf("on the default stream %d: %v", none, err)
		}
	}

	ours, err := dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.OnDevice(f, FromGPU(ours))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.UseOn(FromGPU(theirs)); !errors.Is(err, ErrContext) {
		t.Errorf("a further stream of another GPU: %v", err)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
}

// The simulated driver twice in a process, as cu's and as client/gpu's.
func TestOtherDriver(t *testing.T) {
	library := filepath.Join(t.TempDir(), "libcuda.so.1")
	text, err := os.ReadFile(filepath.Join(work, "sim", "libcuda.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(library, text, 0o644); err != nil {
		t.Fatal(err)
	}
	dev, err := gpu.Open(gpu.WithLibrary(library))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dev); !errors.Is(err, ErrDriver) {
		t.Errorf("two drivers: %v", err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
}

// held takes a frame that nobody will release by its Frame.
func held(t *testing.T, c *Context, f gpu.Frame, s cu.Stream) {
	t.Helper()
	if _, err := c.OnDevice(f, s); err != nil {
		t.Fatal(err)
	}
}

func TestLeak(t *testing.T) {
	rules(t)
	_, sub, c := opened(t, cuda)
	s := stream(t, c)
	f := next(t, sub)
	held(t, c, f, s)
	ctx := bounded(t)
	for len(Leaks()) == 0 && ctx.Err() == nil {
		runtime.GC() // cleanups run some time after it
		runtime.Gosched()
	}
	all := Leaks()
	if len(all) != 1 {
		t.Fatalf("leaks %+v", all)
	}
	if all[0].Stream != "test/color" || all[0].Sequence != f.Meta().Sequence || !strings.Contains(all[0].Where, "context_test.go:") {
		t.Errorf("leaks %+v", all)
	}
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	for range 2 {
		h, err := c.OnDevice(next(t, sub), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Release(); err != nil {
			t.Error(err)
		}
	}
	if text := log.String(); strings.Count(text, "dropped without Release") != 1 || !strings.Contains(text, all[0].Where) {
		t.Errorf("the log says %q", text)
	}
	if err := c.Close(); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "context_test.go:") {
		t.Errorf("Close with a frame that is held: %v", err)
	}
	// Somebody has it after all.
	if err := f.Release(); err != nil {
		t.Error(err)
	}
	if all := Leaks(); len(all) != 0 {
		t.Errorf("leaks after Release: %+v", all)
	}
}

// What is held in a loop is released by it, and is no leak.
func TestNoLeak(t *testing.T) {
	rules(t)
	_, sub, c := opened(t, shm)
	s := stream(t, c)
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	n := 0
	for f, err := range sub.Frames(bounded(t)) {
		if err != nil {
			t.Fatal(err)
		}
		held(t, c, f, s)
		runtime.GC() // may collect it within the turn
		if n++; n == 5 {
			break
		}
	}
	if strings.Contains(log.String(), "dropped") {
		t.Errorf("the log says %q", log.String())
	}
	if all := Leaks(); len(all) != 0 {
		t.Errorf("leaks %+v", all)
	}
	do(t, c, s.Synchronize)
	if err := c.Do(func() error { _, err := cu.CurrentContext(); return err }); err != nil {
		t.Error(err)
	}
}
