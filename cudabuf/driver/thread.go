// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Thread is an OS thread on which the primary context of a GPU is current, for
// as long as it lives. The driver's contexts belong to OS threads and goroutines
// do not, so calls are made in functions that [Thread.Do] runs there.
//
// All methods below but Do, Close, Device, Driver and Calls are calls of the
// driver: only for functions that Do runs, in their goroutine. Elsewhere they
// fail with ErrThread. None of them allocates unless it fails.
//
// Sizes are bytes. Errors of a call whose work was queued may come from any
// later call.
type Thread struct {
	driver *Driver
	device Device
	name   string
	id     atomic.Int64 // of the OS thread

	caller
	handle int32 // CUdevice
	// All memory that is made or asked about here: on the device, to be exported as
	// a file descriptor.
	prop                allocationProp
	readOnly, readWrite accessDesc

	state atomic.Uint32
	calls atomic.Uint64

	turn   chan struct{}    // capacity 1, has a value while somebody's Do or Close runs
	closed bool             // guarded by turn
	stuck  error            // guarded by turn: a function that was given up has the thread
	timers chan *time.Timer // that do not run
	jobs   chan func() error
	done   chan struct{}
	ended  chan struct{}

	// Written by the thread before done or ended, read after.
	err      error
	panicked *Panic
	exited   bool
	closeErr error
}

// keptTimers is how many callers at once allocate nothing.
const keptTimers = 4

// States of a thread: what may call the driver.
const (
	idle    = iota // nobody
	working        // a function of Do runs and may
	calling        // it does
)

// Panic is what Do panics with when the function did.
type Panic struct {
	Value any
	Stack []byte // of the function
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Start makes a thread for a device, with the device's primary context retained
// and current. The name is the thread's in the system's tools, of which they
// show 15 bytes. An exclusively used GPU gives DeviceUnavailable.
func (d *Driver) Start(dev Device, name string) (*Thread, error) {
	t := &Thread{
		driver: d, device: dev, name: name, caller: caller{table: &d.table, user: name},
		turn: make(chan struct{}, 1), timers: make(chan *time.Timer, keptTimers), jobs: make(chan func() error), done: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	started := make(chan error)
	go t.run(started)
	if err := <-started; err != nil {
		<-t.ended
		return nil, fmt.Errorf("a CUDA thread for %s: %w", dev.Name, err)
	}
	return t, nil
}

// Device is what the thread was started for.
func (t *Thread) Device() Device { return t.device }

// Driver is what the thread was started by.
func (t *Thread) Driver() *Driver { return t.driver }

// Calls is how often the thread has called the driver.
func (t *Thread) Calls() uint64 { return t.calls.Load() }

// Do runs f on the thread, waits for it and returns its error. Others' functions
// run before or after, never beside it. Do allocates nothing, but making f may.
// Going there and back wakes two threads: what belongs together goes into one f.
//
// What runs in f may not wait for another Do: from f itself that is ErrThread, as
// it is when the thread is closed. If f panics, Do panics with a *[Panic], and
// the thread lives on.
func (t *Thread) Do(f func() error) error {
	if err := t.lock(nil); err != nil {
		return err
	}
	defer t.unlock()
	if err := t.usable(); err != nil {
		return err
	}
	t.jobs <- f
	<-t.done
	return t.outcome()
}

// DoWithin is Do for calls that must not keep the caller for ever. It fails with
// ErrTimeout when f, or what others run before it, has not come back in time. The
// thread is given up then: f runs on, what it uses must be left alone, and
// everything further fails with ErrTimeout at once. A driver that hangs cannot be
// stopped: the OS thread stays until the driver returns or the process ends.
func (t *Thread) DoWithin(limit time.Duration, f func() error) error {
	timer := t.timer(limit)
	defer t.keep(timer)
	if err := t.lock(timer.C); err != nil {
		return err
	}
	defer t.unlock()
	if err := t.usable(); err != nil {
		return err
	}
	t.jobs <- f
	select {
	case <-t.done:
		return t.outcome()
	case <-timer.C:
		t.stuck = fmt.Errorf("%w: %s has waited for a call for %v", ErrTimeout, t.name, limit)
		return t.stuck
	}
}

// timer is a running one, kept from an earlier call if there is one.
func (t *Thread) timer(limit time.Duration) *time.Timer {
	select {
	case timer := <-t.timers:
		timer.Reset(limit)
		return timer
	default:
		return time.NewTimer(limit)
	}
}

// keep stops a timer and has it used again.
func (t *Thread) keep(timer *time.Timer) {
	timer.Stop()
	select {
	case t.timers <- timer:
	default:
	}
}

// usable is why the thread takes no function. The turn is the caller's.
func (t *Thread) usable() error {
	if t.stuck != nil {
		return t.stuck
	}
	if t.closed {
		return fmt.Errorf("%w: %s is closed", ErrThread, t.name)
	}
	return nil
}

// outcome hands on what the function left behind.
func (t *Thread) outcome() error {
	err, panicked, exited := t.err, t.panicked, t.exited
	t.err, t.panicked, t.exited = nil, nil, false
	if panicked != nil {
		panic(panicked)
	}
	if exited {
		runtime.Goexit() // as f did, which a test's FailNow does
	}
	return err
}

// Close waits for what Do runs, takes the context off the thread, releases it
// and ends the thread. With the last thread of a device in the process, its
// context goes with all that is left in it. Closing again does nothing. It fails
// with ErrTimeout, and has the thread end when it can, if DoWithin gave it up.
func (t *Thread) Close() error {
	if err := t.lock(nil); err != nil {
		return err
	}
	defer t.unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	close(t.jobs)
	if t.stuck != nil {
		return t.stuck
	}
	<-t.ended
	return t.closeErr
}

// lock takes the turn before late, unless that is for this very thread to give
// back.
func (t *Thread) lock(late <-chan time.Time) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	default:
	}
	if t.id.Load() == int64(syscall.Gettid()) {
		return fmt.Errorf("%w: called by the function that %s runs", ErrThread, t.name)
	}
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-late:
		return fmt.Errorf("%w: others' calls of %s have not come back", ErrTimeout, t.name)
	}
}

func (t *Thread) unlock() { <-t.turn }

// run is the thread's life.
func (t *Thread) run(started chan<- error) {
	// Never unlocked: the OS thread ends with the goroutine and cannot take a
	// context back to Go's other goroutines.
	runtime.LockOSThread()
	if syscall.Gettid() == syscall.Getpid() {
		// The process's first thread would neither end nor keep its name, which is
		// the process's. While this goroutine holds it, another gets another.
		defer runtime.UnlockOSThread()
		moved := make(chan error)
		go t.run(moved)
		started <- <-moved
		return
	}
	defer close(t.ended)
	watch(&t.caller)
	defer unwatch(&t.caller)
	t.id.Store(int64(syscall.Gettid()))
	nameThread(t.name)
	if err := t.enter(); err != nil {
		started <- err
		return
	}
	started <- nil
	defer func() { t.closeErr = t.leave() }()
	t.serve()
}

func (t *Thread) serve() {
	for f := range t.jobs {
		t.one(f)
	}
}

func (t *Thread) one(f func() error) {
	returned := false
	defer func() {
		if !returned {
			if v := recover(); v != nil {
				t.panicked = &Panic{Value: v, Stack: debug.Stack()}
			} else {
				t.exited = true
			}
		}
		exited := t.exited
		t.state.Store(idle)
		t.done <- struct{}{}
		if exited {
			t.serve() // runtime.Goexit runs deferred functions only; the thread goes on in this one
		}
	}()
	t.state.Store(working)
	t.err = f()
	returned = true
}

// enter retains the primary context and makes it current.
func (t *Thread) enter() error {
	t.state.Store(working)
	defer t.state.Store(idle)
	if err := t.do(fnDeviceGet, dl.Address(&t.out.number), uintptr(t.device.Ordinal)); err != nil {
		return err
	}
	t.handle = t.out.number
	here := memLoc{Kind: locationDevice, ID: t.handle}
	t.prop = allocationProp{AllocType: allocationPinned, HandleTypes: handlePosixFD, Location: here}
	t.readOnly = accessDesc{Location: here, Flags: accessRead}
	t.readWrite = accessDesc{Location: here, Flags: accessReadWrite}
	dev := uintptr(t.handle)
	// Flags are for who comes first: another library of the process may use the
	// context already.
	if err := t.do(fnDevicePrimaryCtxGetState, dev, dl.Address(&t.out.number), dl.Address(&t.out.flag)); err != nil {
		return err
	}
	if t.out.flag == 0 && t.out.number != contextSchedAuto {
		if err := t.do(fnDevicePrimaryCtxSetFlags2, dev, contextSchedAuto); err != nil {
			return err
		}
	}
	if err := t.do(fnDevicePrimaryCtxRetain, dl.Address(&t.out.address), dev); err != nil {
		return err
	}
	if err := t.do(fnCtxSetCurrent, uintptr(t.out.address)); err != nil {
		t.result(fnDevicePrimaryCtxRelease2, dev) // the first error counts
		return err
	}
	return nil
}

// leave undoes enter. At the end of the process there may be no driver any more.
func (t *Thread) leave() error {
	t.state.Store(working)
	defer t.state.Store(idle)
	unbind := t.result(fnCtxSetCurrent, 0)
	release := t.result(fnDevicePrimaryCtxRelease2, uintptr(t.handle))
	if unbind != Success && unbind != Deinitialized {
		return failed(fnCtxSetCurrent, unbind)
	}
	if release == Deinitialized {
		return nil
	}
	return failed(fnDevicePrimaryCtxRelease2, release)
}

// claim takes the thread's memory for arguments and results, if this is the
// time for a call.
func (t *Thread) claim(s symbol) error {
	if !t.state.CompareAndSwap(working, calling) {
		return t.misuse(s)
	}
	t.calls.Add(1)
	return nil
}

// query calls a function.
func (t *Thread) query(s symbol, args ...uintptr) (Result, error) {
	if err := t.claim(s); err != nil {
		return 0, err
	}
	r := t.result(s, args...)
	t.state.Store(working)
	return r, nil
}

// do is query for functions that do not ask.
func (t *Thread) do(s symbol, args ...uintptr) error {
	r, err := t.query(s, args...)
	if err != nil {
		return err
	}
	return failed(s, r)
}

// with is do for functions that are given the address of host memory: kept
// here, it is on the heap, where it does not move.
func (t *Thread) with(host []byte, s symbol, args ...uintptr) error {
	if err := t.claim(s); err != nil {
		return err
	}
	t.host = host
	r := t.result(s, args...)
	t.host = nil
	t.state.Store(working)
	return failed(s, r)
}

func (t *Thread) misuse(s symbol) error {
	if t.state.Load() == calling {
		return fmt.Errorf("%w: %s of %s is called by two goroutines at once", ErrThread, functions[s].name, t.name)
	}
	return fmt.Errorf("%w: %s of %s is called outside of Do", ErrThread, functions[s].name, t.name)
}

// nameThread names the calling OS thread.
func nameThread(name string) {
	const prSetName = 15
	text := append([]byte(name), 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&text[0])), 0) // only for the eye
}
