// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"unsafe"

	"github.com/seed-3c7e7623/camd/internal/dl"
)

// Ptr is an address in device memory. It means nothing to the CPU.
type Ptr uint64

// MemInfo is how much device memory is free and how much there is.
func (t *Thread) MemInfo() (free, total int64, err error) {
	err = t.do(fnMemGetInfo2, dl.Address(&t.out.size), dl.Address(&t.out.total))
	return int64(t.out.size), int64(t.out.total), err
}

// Alloc is device memory that cannot be exported. It is not cleared.
func (t *Thread) Alloc(bytes int64) (Ptr, error) {
	if err := t.do(fnMemAlloc2, dl.Address(&t.out.address), uintptr(bytes)); err != nil {
		return 0, err
	}
	return Ptr(t.out.address), nil
}

// Free gives memory of Alloc back. It may wait for all work on the device.
func (t *Thread) Free(p Ptr) error { return t.do(fnMemFree2, uintptr(p)) }

// HostAlloc is pinned host memory, for copies to and from the device. It is not
// Go's: use it only until HostFree.
func (t *Thread) HostAlloc(bytes int) ([]byte, error) {
	if err := t.do(fnMemHostAlloc, dl.Address(&t.out.address), uintptr(bytes), hostAllocPortable); err != nil {
		return nil, err
	}
	// The address was never Go memory; the detour tells vet.
	p := *(*unsafe.Pointer)(unsafe.Pointer(&t.out.address))
	return unsafe.Slice((*byte)(p), bytes), nil
}

// HostFree gives memory of HostAlloc back.
func (t *Thread) HostFree(b []byte) error {
	return t.do(fnMemFreeHost, dl.Address(unsafe.SliceData(b)))
}

// HostRegister pins mapped memory of the program's own, whole pages of it, for
// copies. Memory that is mapped for reading only takes readOnly, and a device
// with ReadOnlyRegister. Do it once: it is slow, and may wait for the device.
func (t *Thread) HostRegister(b []byte, readOnly bool) error {
	flags := uintptr(hostRegisterPortable)
	if readOnly {
		flags |= hostRegisterReadOnly
	}
	return t.with(b, fnMemHostRegister2, dl.Address(unsafe.SliceData(b)), uintptr(len(b)), flags)
}

// HostUnregister undoes HostRegister, before the memory is unmapped. It may wait
// for the device.
func (t *Thread) HostUnregister(b []byte) error {
	return t.do(fnMemHostUnregister, dl.Address(unsafe.SliceData(b)))
}

// PointerInfo is what the driver knows of an address.
type PointerInfo struct {
	Base     Ptr    // of the allocation or mapping
	Bytes    int64  // of it
	Device   int    // ordinal
	Host     bool   // host memory
	BufferID uint64 // differs when the same address is allocated again
	PosixFD  bool   // can be exported as a file descriptor
}

// PointerInfo asks what an address is in. An address in none is InvalidValue.
func (t *Thread) PointerInfo(p Ptr) (PointerInfo, error) {
	var values [4]uint64
	for i, attribute := range [len(values)]uintptr{pointerMemoryType, pointerBufferID, pointerDeviceOrdinal, pointerHandleTypes} {
		if err := t.do(fnPointerGetAttribute, dl.Address(&t.out.address), attribute, uintptr(p)); err != nil {
			return PointerInfo{}, err
		}
		values[i] = t.out.address
	}
	if err := t.do(fnMemGetAddressRange2, dl.Address(&t.out.address), dl.Address(&t.out.size), uintptr(p)); err != nil {
		return PointerInfo{}, err
	}
	return PointerInfo{
		Base: Ptr(t.out.address), Bytes: int64(t.out.size),
		// But for the identity they are of 32 bits; all our processors have the low ones first.
		Host: uint32(values[0]) == memoryHost, BufferID: values[1], Device: int(int32(values[2])), PosixFD: values[3]&handlePosixFD != 0,
	}, nil
}
