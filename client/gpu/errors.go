// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"

	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/cudabuf/reason"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Conditions that callers tell apart with errors.Is, besides those of package
// client.
var (
	// ErrUnavailable: there is no GPU that this process can use. The error also
	// is the one of package cudabuf/driver that says why.
	ErrUnavailable = errors.New("no usable GPU")
	// ErrNoSuchDevice: the GPU that was asked for is not there.
	ErrNoSuchDevice = driver.ErrNoSuchDevice
	// ErrOtherGPU: the frames are on another GPU than the program uses.
	ErrOtherGPU = errors.New("frames are on another GPU")
	// ErrLost: the GPU's context failed for good. All work in it is lost, and the
	// process must end to use the GPU again.
	ErrLost = errors.New("the GPU failed")
	// ErrOutOfMemory: the GPU has no room.
	ErrOutOfMemory = driver.ErrOutOfMemory
	// ErrStream: a default stream, or one that is destroyed.
	ErrStream = cudabuf.ErrStream
	// ErrReleased: the frame was released before.
	ErrReleased = client.ErrReleased
	// ErrInUse: Close found work of the GPU that is not complete, or
	// subscriptions that are open.
	ErrInUse = cudabuf.ErrInUse
	// ErrClosed: the device was closed.
	ErrClosed = errors.New("device closed")
)

// Error is a failure with the reason by which the daemon and the path are told
// of it.
type Error struct {
	reason negotiate.Reason
	err    error
}

// Error says what failed.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the conditions.
func (e *Error) Unwrap() error { return e.err }

// Reason is why frames cannot come by cuda.
func (e *Error) Reason() negotiate.Reason { return e.reason }

func because(r negotiate.Reason, format string, args ...any) *Error {
	return &Error{r, fmt.Errorf(format, args...)}
}

// reasonOf is why what failed with err keeps frames from coming by cuda.
func reasonOf(err error) negotiate.Reason {
	if errors.Is(err, ErrOtherGPU) {
		return negotiate.ReasonDifferentGPU
	}
	if r := reason.Of(err); r != negotiate.ReasonGPUError || !errors.Is(err, ErrLost) {
		return r
	}
	return negotiate.ReasonGPULost
}
