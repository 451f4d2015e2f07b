// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
)

var (
	// ErrNoDriver reports that no driver library could be opened. It also wraps
	// dl.ErrBuiltWithoutDL where that is the cause.
	ErrNoDriver = errors.New("no NVIDIA driver library")
	// ErrStub reports the library of the CUDA toolkit that only serves to link
	// programs (CUDA_ERROR_STUB_LIBRARY).
	ErrStub = errors.New("the CUDA library is a stub for linking")
	// ErrMismatch reports a library that the kernel module does not go with: codes
	// 36, 803 and 804.
	ErrMismatch = errors.New("the CUDA library and the kernel module do not go together")
	// ErrNoDevice reports a driver that shows this process no GPU (code 100).
	ErrNoDevice = errors.New("no CUDA device")
	// ErrNotReady reports a system that is not up yet: try again later (code 802).
	ErrNotReady = errors.New("the GPU system is not ready yet")
	// ErrTooOld reports a driver that lacks functions that are needed.
	ErrTooOld = errors.New("the NVIDIA driver is too old")
	// ErrOutOfMemory reports that device memory, or a table of the driver, is full
	// (code 2).
	ErrOutOfMemory = errors.New("out of device memory")
	// ErrTimeout reports a call of the driver that has not come back in time. What
	// it was for may still come about.
	ErrTimeout = errors.New("the NVIDIA driver does not answer")
	// ErrThread reports a use of a [Thread] that is closed, or of its calls outside
	// of Do or from two goroutines at once.
	ErrThread = errors.New("not on a CUDA thread")
)

// Error is a call of the driver that failed. errors.Is compares it with the
// sentinels of this package, errors.As gives the code.
type Error struct {
	Call string // the function's name in the library
	Code Result
}

func (e *Error) Error() string {
	if e.Code == missing {
		return fmt.Sprintf("%s: %v: it lacks this function%s", e.Call, ErrTooOld, since(e.Call))
	}
	call := e.Call
	if asynchronous(call) {
		call += ", or an earlier call"
	}
	if e.Code == OutOfMemory && e.Call == functions[fnMemAddressReserve].name {
		return fmt.Sprintf("%s: %s (%d): the addresses of this process are used up: see ulimit -v", call, e.Code.Name(), int32(e.Code))
	}
	if advice := e.Code.Advice(); advice != "" {
		return fmt.Sprintf("%s: %s (%d): %s", call, e.Code.Name(), int32(e.Code), advice)
	}
	return fmt.Sprintf("%s: %s (%d)", call, e.Code.Name(), int32(e.Code))
}

// Is reports whether target is the sentinel of the code.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrStub:
		return e.Code == StubLibrary
	case ErrMismatch:
		return e.Code == CallRequiresNewerDriver || e.Code == SystemDriverMismatch || e.Code == CompatNotSupportedOnDevice
	case ErrNoDevice:
		return e.Code == NoDevice
	case ErrNotReady:
		return e.Code == SystemNotReady
	case ErrTooOld:
		return e.Code == missing
	case ErrOutOfMemory:
		return e.Code == OutOfMemory
	case errSticky:
		return e.Code.Sticky()
	}
	return false
}

// Sticky reports whether err has a code after which every further call in the
// process's context fails: see [Result.Sticky].
func Sticky(err error) bool {
	return errors.Is(err, errSticky) // in any of the errors that are joined
}

var errSticky = errors.New("sticky")
