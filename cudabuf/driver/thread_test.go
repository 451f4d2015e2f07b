// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

func TestThread(t *testing.T) {
	f := newFake(t)
	d, err := Open(f.path)
	if err != nil {
		t.Fatal(err)
	}
	thread, err := d.Start(Device{Ordinal: 0, Name: "Fake GPU"}, "camd-cuda-a-long-name")
	if err != nil {
		t.Fatal(err)
	}
	// Always the same OS thread, with the name and the context.
	var ids [3]int
	for i := range ids {
		if err := thread.Do(func() error {
			ids[i] = syscall.Gettid()
			if context := f.call(t, "fake_current"); context != 0x5000+70 {
				t.Errorf("context %#x", context)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if ids[0] != ids[1] || ids[1] != ids[2] || ids[0] == 0 {
		t.Errorf("threads %d", ids)
	}
	task := filepath.Join("/proc/self/task", strconv.Itoa(ids[0]))
	if name, err := os.ReadFile(filepath.Join(task, "comm")); err != nil || string(name) != "camd-cuda-a-lon\n" {
		t.Errorf("called %q, %v", name, err)
	}
	if n := f.call(t, "fake_retained"); n != 1 {
		t.Errorf("retained %d times", n)
	}
	if name, flags := lastCall(t, f, 2); name != "cuDevicePrimaryCtxSetFlags_v2" || flags[0] != 70 || flags[1] != contextSchedAuto {
		t.Errorf("an inactive context: %s%v", name, flags)
	}
	// A second one, while others have the context: flags stay.
	f.call(t, "fake_active", 1)
	second, err := d.Start(Device{}, "second")
	if err != nil {
		t.Fatal(err)
	}
	if n := f.call(t, "fake_flagged"); n != 1 {
		t.Errorf("flags set %d times", n)
	}
	if n, bound := f.call(t, "fake_retained"), f.call(t, "fake_bound"); n != 2 || bound != 2 {
		t.Errorf("retained %d times, on %d threads", n, bound)
	}

	for range 2 {
		if err := errors.Join(thread.Close(), second.Close()); err != nil {
			t.Error(err)
		}
	}
	if n, bound := f.call(t, "fake_retained"), f.call(t, "fake_bound"); n != 0 || bound != 0 {
		t.Errorf("after Close retained %d times, on %d threads", n, bound)
	}
	if err := thread.Do(func() error { return errors.New("ran") }); !errors.Is(err, ErrThread) {
		t.Errorf("Do after Close: %v", err)
	}
	if _, err := thread.Alloc(1); !errors.Is(err, ErrThread) {
		t.Errorf("a call after Close: %v", err)
	}
	for runtime.Gosched(); ; runtime.Gosched() {
		if _, err := os.Stat(task); err != nil {
			break // the OS thread has ended; without that the test would not
		}
	}
}

// lastCall is the name of the last recorded call and its first n arguments.
func lastCall(t testing.TB, f fake, n int) (string, []uint64) {
	t.Helper()
	var args []uint64
	for i := range n {
		args = append(args, uint64(f.call(t, "fake_last", uintptr(i))))
	}
	return dl.String(f.call(t, "fake_name")), args
}

func TestStartFails(t *testing.T) {
	f := newFake(t)
	d, err := Open(f.path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Start(Device{Ordinal: 3}, "x"); resultOf(err) != InvalidDevice {
		t.Errorf("no such device: %v", err)
	}
	f.call(t, "fake_retain", uintptr(DeviceUnavailable))
	if _, err := d.Start(Device{Name: "Fake GPU"}, "x"); resultOf(err) != DeviceUnavailable || !strings.Contains(err.Error(), "Fake GPU") ||
		!strings.Contains(err.Error(), "exclusive mode") {
		t.Errorf("a device in use: %v", err)
	}
	f.call(t, "fake_retain", 0)
	f.call(t, "fake_fail", uintptr(Unknown)) // setting the context
	if _, err := d.Start(Device{}, "x"); resultOf(err) != Unknown {
		t.Errorf("got %v", err)
	}
	if n := f.call(t, "fake_retained"); n != 0 {
		t.Errorf("retained %d times", n)
	}
}

// resultOf is the code in an error, -2 without one.
func resultOf(err error) Result {
	var e *Error
	if !errors.As(err, &e) {
		return -2
	}
	return e.Code
}

// What f does to its goroutine happens to Do's caller, and the thread lives on.
func TestDoPanicsAndExits(t *testing.T) {
	thread := newFake(t).start(t)
	id := func() (id int) {
		if err := thread.Do(func() error { id = syscall.Gettid(); return nil }); err != nil {
			t.Error(err)
		}
		return id
	}
	first := id()
	for range 3 {
		func() {
			defer func() {
				p, ok := recover().(*Panic)
				if !ok || p.Value != "broken" || !strings.Contains(p.Error(), "TestDoPanicsAndExits") {
					t.Errorf("got %v", p)
				}
			}()
			_ = thread.Do(func() error { panic("broken") })
			t.Error("Do returned")
		}()
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = thread.Do(func() error { runtime.Goexit(); return nil })
			t.Error("Do returned")
		})
		wg.Wait()
		if id() != first {
			t.Fatal("another thread")
		}
	}
	want := errors.New("f's")
	if err := thread.Do(func() error { return want }); err != want { //nolint:errorlint // the very same
		t.Errorf("got %v", err)
	}
	if err := thread.Close(); err != nil {
		t.Error(err)
	}
}

func TestMisuse(t *testing.T) {
	f := newFake(t)
	thread := f.start(t)
	if _, err := thread.NewEvent(); !errors.Is(err, ErrThread) || !strings.Contains(err.Error(), "cuEventCreate of TestMisuse is called outside of Do") {
		t.Errorf("outside of Do: %v", err)
	}
	if err := thread.Do(func() error { return thread.Do(func() error { return nil }) }); !errors.Is(err, ErrThread) {
		t.Errorf("Do in Do: %v", err)
	}
	if err := thread.Do(thread.Close); !errors.Is(err, ErrThread) {
		t.Errorf("Close in Do: %v", err)
	}
	// In another goroutine there is no context, or the call is refused.
	if err := thread.Do(func() error {
		other := make(chan error)
		go func() {
			_, err := thread.Alloc(1)
			other <- err
		}()
		return <-other
	}); resultOf(err) != InvalidContext {
		t.Errorf("in another goroutine: %v", err)
	}
}

func TestDoFromMany(t *testing.T) {
	thread := newFake(t).start(t)
	var wg sync.WaitGroup
	inside, n := 0, 0
	for range 8 {
		wg.Go(func() {
			for range 100 {
				_ = thread.Do(func() error {
					inside++
					if inside != 1 {
						t.Error("two at once")
					}
					n++
					inside--
					return thread.StreamSync(1)
				})
			}
		})
	}
	wg.Wait()
	if n != 800 {
		t.Errorf("ran %d", n)
	}
	calls := thread.Calls()
	_ = thread.Do(func() error { return thread.StreamSync(1) })
	if got := thread.Calls() - calls; got != 1 {
		t.Errorf("%d calls", got)
	}
}

// A lost context is told apart, and the thread can still be closed.
func TestSticky(t *testing.T) {
	f := newFake(t)
	thread := f.start(t)
	f.call(t, "fake_fail", uintptr(IllegalAddress))
	err := thread.Do(func() error { return thread.StreamSync(1) })
	if !Sticky(err) || !strings.Contains(err.Error(), "cuStreamSynchronize, or an earlier call: CUDA_ERROR_ILLEGAL_ADDRESS (700): the GPU context is lost") {
		t.Errorf("got %v", err)
	}
	err = thread.Do(func() error { _, err := thread.MemCreate(1); return err })
	if !Sticky(err) || strings.Contains(err.Error(), "earlier call") {
		t.Errorf("got %v", err)
	}
	if err := thread.Close(); resultOf(err) != IllegalAddress {
		t.Errorf("Close: %v", err)
	}
	if err := thread.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
	if Sticky(nil) || Sticky(ErrNoDevice) || Sticky(&Error{Code: OutOfMemory}) {
		t.Error("everything is sticky")
	}
	// At the end of a process the driver goes first.
	f = newFake(t)
	thread = f.start(t)
	f.call(t, "fake_fail", uintptr(Deinitialized))
	if err := thread.Close(); err != nil {
		t.Errorf("Close without a driver: %v", err)
	}
}
