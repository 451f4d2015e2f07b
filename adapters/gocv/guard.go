// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cvmat

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// EnvGuard is the environment variable that turns guard mode on from the start,
// if it is "1".
const EnvGuard = "CAMD_CVMAT_GUARD"

// guarding is guard mode.
var guarding atomic.Bool

func init() { guarding.Store(os.Getenv(EnvGuard) == "1") }

// SetGuard turns guard mode on or off for Mats that are opened from now on. It is
// for tests and for the search for a mistake: each Mat then has addresses of its
// own, which are taken away at Close, so that whoever reads through an old
// pointer ends the program with SIGSEGV where it does so. A frame of shared
// memory is still not copied; one of the path cpu is, into memory that is
// read-only. It costs some system calls and page faults a frame.
func SetGuard(on bool) { guarding.Store(on) }

// graves are how many address ranges stay taken after Close.
const graves = 256

var cemetery struct {
	sync.Mutex
	ranges [graves]fence
	next   int
}

// fence is an address range of whole pages that shows a frame.
type fence struct {
	start unsafe.Pointer
	bytes uintptr
}

// newFence shows pixels at other addresses.
func newFence(pixels []byte) (*fence, []byte, error) {
	page := uintptr(os.Getpagesize())
	first := unsafe.Pointer(&pixels[0])
	within := uintptr(first) % page
	f := &fence{bytes: (within + uintptr(len(pixels)) + page - 1) &^ (page - 1)}
	// An old size of 0 makes a second mapping of shared pages (mremap(2)); of
	// memory that is not shared it fails.
	start, err := unix.MremapPtr(unsafe.Add(first, -int(within)), 0, nil, f.bytes, unix.MREMAP_MAYMOVE)
	if err == nil {
		f.start = start
		return f, unsafe.Slice((*byte)(unsafe.Add(start, within)), len(pixels)), nil
	}
	if f.start, err = unix.MmapPtr(-1, 0, nil, f.bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
		return nil, nil, fmt.Errorf("guard mode: %d bytes of memory: %w", f.bytes, err)
	}
	guarded := unsafe.Slice((*byte)(unsafe.Add(f.start, within)), len(pixels))
	copy(guarded, pixels)
	if err := unix.Mprotect(unsafe.Slice((*byte)(f.start), f.bytes), unix.PROT_READ); err != nil {
		_ = unix.MunmapPtr(f.start, f.bytes)
		return nil, nil, fmt.Errorf("guard mode: write protection: %w", err)
	}
	return f, guarded, nil
}

// close takes the pages away and leaves their addresses taken for a while.
func (f *fence) close() {
	if f == nil {
		return
	}
	if _, err := unix.MmapPtr(-1, 0, f.start, f.bytes, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED|unix.MAP_NORESERVE); err != nil {
		_ = unix.MunmapPtr(f.start, f.bytes)
		return
	}
	cemetery.Lock()
	old := cemetery.ranges[cemetery.next]
	cemetery.ranges[cemetery.next] = *f
	cemetery.next = (cemetery.next + 1) % graves
	cemetery.Unlock()
	if old.start != nil {
		_ = unix.MunmapPtr(old.start, old.bytes)
	}
}
