// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// For ever, as far as a test is concerned: a lost wake-up hangs and fails by
// the test's time limit, it is not papered over by the timeout of the wait.
const longWait = time.Hour

func word(b []byte, offset int) *uint32 { return (*uint32)(unsafe.Pointer(&b[offset])) }

func awaitWord(w *uint32, value uint32) {
	for {
		now := atomic.LoadUint32(w)
		if now == value {
			return
		}
		FutexWait(w, now, longWait)
	}
}

// The pages of the ping-pong: the sealed header, that only the daemon writes,
// and the reader's page.
const futexRounds = 2000

func TestFutexBetweenProcesses(t *testing.T) {
	header := newMemory(t, int64(PageSize), true)
	page := newMemory(t, int64(PageSize), false)
	var files []*os.File
	for _, fd := range descriptors(t, header) {
		files = append(files, os.NewFile(uintptr(fd), "header"))
		break
	}
	files = append(files, os.NewFile(uintptr(descriptors(t, page)["duplicate"]), "page"))
	cmd := helper(t, "futex", files...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i := uint32(1); i <= futexRounds; i++ {
		atomic.StoreUint32(word(header.Data, 0), i)
		FutexWake(word(header.Data, 0), 1<<30)
		awaitWord(word(page.Data, 0), i)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the other process: %v", err)
	}
}

// helperFutex waits on a mapping that it can only read, and answers through
// one that it can write.
func helperFutex() error {
	header, err := MapFile(3, int64(PageSize), false)
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	page, err := MapFile(4, int64(PageSize), true)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	for i := uint32(1); i <= futexRounds; i++ {
		awaitWord(word(header, 0), i)
		atomic.StoreUint32(word(page, 0), i)
		FutexWake(word(page, 0), 1)
	}
	return nil
}

func TestFutexWakesAllMappings(t *testing.T) {
	m := newMemory(t, int64(PageSize), true)
	const readers = 4
	done := make(chan struct{}, readers)
	for range readers {
		b, err := MapFile(m.FD, int64(PageSize), false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(b) })
		go func() {
			awaitWord(word(b, 0), 1)
			done <- struct{}{}
		}()
	}
	atomic.StoreUint32(word(m.Data, 0), 1)
	FutexWake(word(m.Data, 0), 1<<30) // one call for all of them
	for range readers {
		<-done
	}
}

// A reader may wake others although it cannot write the counter: so a waiter
// must look again whatever woke it.
func TestFutexWakeThroughReadOnlyMapping(t *testing.T) {
	m := newMemory(t, int64(PageSize), true)
	b, err := MapFile(m.FD, int64(PageSize), false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		awaitWord(word(m.Data, 0), 1)
	}()
	atomic.StoreUint32(word(m.Data, 0), 1)
	FutexWake(word(b, 0), 1)
	<-done
}

func TestFutexWaitReturns(t *testing.T) {
	m := newMemory(t, int64(PageSize), true)
	w := word(m.Data, 0)
	*w = 3
	for _, c := range []struct {
		name    string
		value   uint32
		timeout time.Duration
	}{
		{"at once when the value differs", 2, longWait},
		{"after the timeout", 3, time.Millisecond},
		{"at once without a timeout", 3, 0},
		{"at once with a negative timeout", 3, -time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			FutexWait(w, c.value, c.timeout)
			if *w != 3 {
				t.Errorf("the word became %d", *w)
			}
		})
	}
}

func TestFutexAllocatesNothing(t *testing.T) {
	m := newMemory(t, int64(PageSize), true)
	w := word(m.Data, 0)
	if n := testing.AllocsPerRun(100, func() {
		FutexWake(w, 1<<30)
		FutexWait(w, 1, longWait)
		_ = Monotonic()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
