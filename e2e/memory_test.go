// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// TestReaderCannotWrite tries every way to change what belongs to all readers.
func TestReaderCannotWrite(t *testing.T) {
	t.Parallel()
	besideGoodReader(t, "test=pattern,160x120@60", func(t *testing.T, d *daemon) {
		a := attach(t, d.dir, negotiate.WakeFutex)
		a.takes(3)
		for _, m := range []struct {
			name string
			fd   int
			size int64
		}{
			{"header", a.header, a.layout.HeaderBytes},
			{"pixels", a.pixels, a.layout.PixelBytes},
		} {
			t.Run(m.name, func(t *testing.T) {
				for _, way := range waysToWrite(t, m.fd, m.size) {
					t.Run(way.name, func(t *testing.T) {
						if err := way.try(); err == nil {
							t.Errorf("%s: %s succeeded", m.name, way.name)
						}
					})
				}
			})
		}
		t.Run("own page keeps its size and seals", func(t *testing.T) {
			if err := unix.Ftruncate(a.page, 0); err == nil {
				t.Error("truncated")
			}
			if err := unix.Ftruncate(a.page, 1<<30); err == nil {
				t.Error("grown")
			}
			if _, err := unix.FcntlInt(uintptr(a.page), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err == nil {
				t.Error("sealed against the daemon's writes")
			}
		})
		a.takes(3) // and it goes on
	})
}

type way struct {
	name string
	try  func() error
}

// waysToWrite are system calls that would change memory behind fd, or what
// others may do with it.
func waysToWrite(t *testing.T, fd int, size int64) []way {
	t.Helper()
	readable, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(readable) })
	const punch = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	// Opening again may be allowed, to root at least; writing must not be.
	reopened := func(use func(fd int) error) error {
		f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return use(int(f.Fd()))
	}
	write := func(fd int) error { _, err := unix.Pwrite(fd, []byte{1}, 0); return err }
	mapped := func(fd int) error {
		b, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			_ = unix.Munmap(b)
		}
		return err
	}
	return []way{
		{"map writable", func() error { return mapped(fd) }},
		{"make the mapping writable", func() error { return unix.Mprotect(readable, unix.PROT_READ|unix.PROT_WRITE) }},
		{"write", func() error { return write(fd) }},
		{"truncate to nothing", func() error { return unix.Ftruncate(fd, 0) }},
		{"grow", func() error { return unix.Ftruncate(fd, size+1<<20) }},
		{"grow by fallocate", func() error { return unix.Fallocate(fd, 0, size, 1<<20) }},
		{"punch a hole", func() error { return unix.Fallocate(fd, punch, 0, size) }},
		{"zero a range", func() error { return unix.Fallocate(fd, unix.FALLOC_FL_ZERO_RANGE, 0, size) }},
		{"remove pages of the mapping", func() error { return unix.Madvise(readable, unix.MADV_REMOVE) }},
		{"write through /proc/self/mem", func() error {
			f, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte{1}, int64(uintptr(unsafe.Pointer(&readable[0]))))
			return err
		}},
		{"write after opening again", func() error { return reopened(write) }},
		{"map writable after opening again", func() error { return reopened(mapped) }},
		{"truncate after opening again", func() error {
			return reopened(func(fd int) error { return unix.Ftruncate(fd, 0) })
		}},
		{"open truncated", func() error {
			f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR|os.O_TRUNC, 0)
			if err == nil {
				_ = f.Close()
			}
			return err
		}},
		{"add a seal", func() error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
			return err
		}},
	}
}

// memoryAttacks are what a reader can do to its own page and pipe.
var memoryAttacks = []struct {
	name   string
	wake   negotiate.WakeKind
	attack func(t *testing.T, a *attached)
	logged string
}{
	{"random page", negotiate.WakeFutex, func(t *testing.T, a *attached) {
		random := seeded(t)
		// Once only: afterwards it is the daemon's word that is waited for.
		a.u32(evictedAt).Store(random.Uint32() &^ 1)
		places := []int{mailboxAt, waitingAt, kickAt, headAt, tailAt}
		eventually(t, "evicted", func() (bool, string) {
			for range 200 {
				at := places[random.IntN(len(places))]
				if random.IntN(4) == 0 {
					at = returnsAt + 8*random.IntN(returnMask+1)
				}
				a.u64(at).Store(random.Uint64() >> random.IntN(64))
			}
			return a.u32(evictedAt).Load() == 1, "not yet"
		})
		a.evicted(negotiate.ReasonMisbehaved)
	}, "broke the slot protocol"},
	{"word of its own in the mailbox", negotiate.WakeFutex, func(t *testing.T, a *attached) {
		a.takes(3)
		eventually(t, "evicted", func() (bool, string) {
			a.u64(mailboxAt).Store(1<<40 | 3)
			return a.u32(evictedAt).Load() == 1, "not yet"
		})
		a.evicted(negotiate.ReasonMisbehaved)
	}, "mailbox had word"},
	{"returns what it does not hold", negotiate.WakeFutex, func(t *testing.T, a *attached) {
		a.giveBack(a.take() + 1<<8)
		a.evicted(negotiate.ReasonMisbehaved)
	}, "which it does not hold"},
	{"returns twice", negotiate.WakeFutex, func(t *testing.T, a *attached) {
		w := a.take()
		a.giveBack(w)
		a.giveBack(w)
		a.evicted(negotiate.ReasonMisbehaved)
	}, "which it does not hold"},
	{"returns nothing", negotiate.WakeFutex, func(t *testing.T, a *attached) {
		a.giveBack(0)
		a.evicted(negotiate.ReasonMisbehaved)
	}, "broke the slot protocol"},
	{"index far ahead", negotiate.WakeFutex, func(t *testing.T, a *attached) {
		a.u32(headAt).Add(1 << 31)
		a.evicted(negotiate.ReasonMisbehaved)
	}, "while it can hold"},
	{"index backwards", negotiate.WakeFutex, func(t *testing.T, a *attached) {
		a.takes(2)
		eventually(t, "the daemon has read both", func() (bool, string) {
			return a.u32(tailAt).Load() == 2, "not yet"
		})
		a.u32(headAt).Add(^uint32(0))
		a.evicted(negotiate.ReasonMisbehaved)
	}, "broke the slot protocol"},
	{"holes in its page", negotiate.WakeFutex, func(t *testing.T, a *attached) {
		// A hole reads as zero: frames taken and never returned, which harms
		// nobody else, or an index that went back.
		for range 50 {
			if err := unix.Fallocate(a.page, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, a.layout.PageBytes); err != nil {
				t.Fatalf("punching: %v", err)
			}
			if err := unix.Madvise(a.mine, unix.MADV_REMOVE); err != nil {
				t.Fatalf("removing: %v", err)
			}
			pause(5e6)
		}
	}, ""},
	{"always waiting, always kicked", negotiate.WakePipe, func(t *testing.T, a *attached) {
		for range 50 {
			a.u32(waitingAt).Store(^uint32(0))
			a.u32(kickAt).Store(^uint32(0))
			a.u32(tailAt).Add(12345)
			a.takes(1)
		}
	}, ""},
	{"closes its pipe", negotiate.WakePipe, func(t *testing.T, a *attached) {
		if err := unix.Close(a.pipe); err != nil {
			t.Fatal(err)
		}
		null, err := unix.Dup(a.fd) // so that the end of the test closes no other file
		if err != nil || null != a.pipe {
			t.Fatalf("filling the number of the pipe: %d, %v", null, err)
		}
		a.u32(waitingAt).Store(1)
		a.evicted(negotiate.ReasonMisbehaved)
	}, "closed its wake-up pipe"},
	{"writes into its pipe and never reads it", negotiate.WakePipe, func(t *testing.T, a *attached) {
		if w, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", a.pipe), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
			_ = unix.Close(w)
			t.Error("the pipe can be opened for writing")
		}
		if _, err := unix.SendmsgN(a.pipe, make([]byte, 4096), nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT); !errors.Is(err, unix.EPIPE) {
			t.Errorf("writing into the pipe: %v, want %v", err, unix.EPIPE)
		}
		// The daemon's write would block later, if its end had the same flags.
		if err := unix.SetNonblock(a.pipe, false); err != nil {
			t.Fatal(err)
		}
		_ = unix.SetsockoptInt(a.pipe, unix.SOL_SOCKET, unix.SO_RCVBUF, 1)
		for range 30 {
			a.u32(waitingAt).Store(1)
			a.takes(1)
		}
	}, ""},
	{"takes the wake-ups of its user's word", negotiate.WakeFutex, func(t *testing.T, a *attached) {
		if err := mapWritable(a.wake); err == nil {
			t.Error("the word of wake-ups can be mapped for writing")
		}
		for range 30 {
			a.u32(waitingAt).Store(1)
			a.takes(1)
		}
	}, ""},
}

// mapWritable tries to map the first page of a descriptor for writing.
func mapWritable(fd int) error {
	b, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil {
		_ = unix.Munmap(b)
	}
	return err
}

// TestHostileReader has a good reader beside each attack on shared memory.
func TestHostileReader(t *testing.T) {
	t.Parallel()
	for _, c := range memoryAttacks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			besideGoodReader(t, "test=pattern,160x120@60", func(t *testing.T, d *daemon) {
				c.attack(t, attach(t, d.dir, c.wake))
				if c.logged != "" {
					d.awaitErr("subscriber evicted")
					d.awaitErr(c.logged)
				}
			})
		})
	}
}

// TestEvictionUnderPressure gives a camera so few slots that a reader who sits
// on two is in the way. It is told, and when it does not let go, its frames are
// taken back and the camera goes on.
func TestEvictionUnderPressure(t *testing.T) {
	t.Parallel()
	besideGoodReader(t, "test=pattern,160x120@60,slots=5,evict_after=1s", func(t *testing.T, d *daemon) {
		a, b := attach(t, d.dir, negotiate.WakeFutex), attach(t, d.dir, negotiate.WakeFutex)
		a.take()
		last := a.take()
		for range 2 { // other frames than a
			w := b.take()
			for ; w <= last; w = b.take() {
				b.giveBack(w)
			}
		}
		d.awaitErr("held_too_long")
		d.awaitErr("frames of an evicted subscriber taken back")
		d.advance(30)
		if s := d.stream(); s.Dropped["no_slot"] == 0 || s.Ring.Ended == 0 {
			t.Errorf("dropped %v, %d evicted: where was the pressure?", s.Dropped, s.Ring.Ended)
		}
	})
}
