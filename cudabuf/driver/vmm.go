// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"sync"
	"syscall"
	"time"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Handle is physical device memory that can be mapped and exported.
type Handle uint64

// Granularity is what the sizes of MemCreate, Reserve and Map are multiples of:
// mostly 2 MiB.
func (t *Thread) Granularity() (int64, error) {
	err := t.do(fnMemGetAllocationGranularity, dl.Address(&t.out.size), dl.Address(&t.prop), granularityMinimum)
	if err != nil {
		return 0, err
	}
	return int64(t.out.size), nil
}

// MemCreate is physical memory of the device, not cleared, not mapped. It lives
// until every handle, descriptor and mapping of it is gone, in all processes.
func (t *Thread) MemCreate(bytes int64) (Handle, error) {
	if err := t.do(fnMemCreate, dl.Address(&t.out.address), uintptr(bytes), dl.Address(&t.prop), 0); err != nil {
		return 0, err
	}
	return Handle(t.out.address), nil
}

// MemRelease gives a handle of MemCreate or ImportFD back. Mappings stay.
func (t *Thread) MemRelease(h Handle) error { return t.do(fnMemRelease, uintptr(h)) }

// Reserve takes a range of addresses, aligned as said; 0 is the granularity.
func (t *Thread) Reserve(bytes, align int64) (Ptr, error) {
	if err := t.do(fnMemAddressReserve, dl.Address(&t.out.address), uintptr(bytes), uintptr(align), 0, 0); err != nil {
		return 0, err
	}
	return Ptr(t.out.address), nil
}

// AddressFree gives a range of Reserve back, whole and without mappings.
func (t *Thread) AddressFree(p Ptr, bytes int64) error {
	return t.do(fnMemAddressFree, uintptr(p), uintptr(bytes))
}

// Map maps the beginning of h at an address of Reserve. Nothing may touch it
// before SetAccess.
func (t *Thread) Map(p Ptr, bytes int64, h Handle) error {
	return t.do(fnMemMap, uintptr(p), uintptr(bytes), 0, uintptr(h), 0)
}

// Unmap undoes Map, as a whole. No work on the memory may be left.
func (t *Thread) Unmap(p Ptr, bytes int64) error { return t.do(fnMemUnmap, uintptr(p), uintptr(bytes)) }

// SetAccess lets the thread's device read mapped memory, and write it with
// readWrite.
func (t *Thread) SetAccess(p Ptr, bytes int64, readWrite bool) error {
	access := &t.readOnly
	if readWrite {
		access = &t.readWrite
	}
	return t.do(fnMemSetAccess, uintptr(p), uintptr(bytes), dl.Address(access), 1)
}

// forkPatience is for how long an export keeps others from starting programs.
const forkPatience = time.Second

// ExportFD is a new file descriptor for the memory, close-on-exec, the caller's
// to close. It counts as a reference to the memory wherever it is sent.
func (t *Thread) ExportFD(h Handle) (int, error) {
	// No child may inherit it in between: whether the driver sets the flag is not
	// documented.
	syscall.ForkLock.RLock()
	// But a driver that hangs must not keep the process from starting programs.
	release := sync.OnceFunc(syscall.ForkLock.RUnlock)
	defer time.AfterFunc(forkPatience, release).Stop()
	defer release()
	if err := t.do(fnMemExportToShareableHandle, dl.Address(&t.out.number), uintptr(h), handlePosixFD, 0); err != nil {
		return -1, err
	}
	fd := int(t.out.number)
	syscall.CloseOnExec(fd)
	return fd, nil
}

// ImportFD is a handle for the memory that a descriptor of ExportFD stands for,
// of this or another process. The descriptor remains the caller's.
func (t *Thread) ImportFD(fd int) (Handle, error) {
	// The descriptor itself stands where the pointer is.
	if err := t.do(fnMemImportFromShareableHandle, dl.Address(&t.out.address), uintptr(fd), handlePosixFD); err != nil {
		return 0, err
	}
	return Handle(t.out.address), nil
}
