// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package reason says in the protocol's words why frames cannot be had in memory
// of a GPU. The daemon and its subscribers use the same words for the same
// failures.
package reason

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/dl"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Of is the word for what failed with err. An error that has a method Reason
// knows its own; a failure of the driver for which there is no better word is
// gpu_error.
func Of(err error) negotiate.Reason {
	var known interface{ Reason() negotiate.Reason }
	switch {
	case errors.As(err, &known):
		return known.Reason()
	case errors.Is(err, dl.ErrBuiltWithoutDL):
		return negotiate.ReasonBuiltWithoutDL
	case driver.Sticky(err):
		return negotiate.ReasonGPULost
	case errors.Is(err, driver.ErrTimeout):
		return negotiate.ReasonGPUTimeout
	case errors.Is(err, driver.ErrMismatch), errors.Is(err, driver.ErrTooOld):
		return negotiate.ReasonDriverMismatch
	case errors.Is(err, driver.ErrNoSuchDevice):
		return negotiate.ReasonDifferentGPU
	case errors.Is(err, driver.ErrNoDriver), errors.Is(err, driver.ErrStub), errors.Is(err, driver.ErrNoDevice), errors.Is(err, driver.ErrNotReady):
		return negotiate.ReasonNoDriver
	case errors.Is(err, cudabuf.ErrNoSharing):
		return negotiate.ReasonVMMUnsupported
	case errors.Is(err, cudabuf.ErrNoMemory), errors.Is(err, driver.ErrOutOfMemory), errors.Is(err, linux.ErrNoMemory),
		errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM):
		return negotiate.ReasonLimit
	}
	var call *driver.Error
	if errors.As(err, &call) {
		return ofCode(call)
	}
	return negotiate.ReasonGPUError
}

func ofCode(e *driver.Error) negotiate.Reason {
	switch e.Code {
	case driver.DeviceUnavailable, // an exclusive GPU in use
		driver.OperatingSystem, // descriptors, locked memory, permissions
		driver.MPSMaxClientsReached, driver.MPSMaxConnectionsReached:
		return negotiate.ReasonLimit
	case driver.NotSupported:
		return negotiate.ReasonVMMUnsupported
	case driver.InvalidContext:
		// Memory of a process that the driver does not reach from this one.
		if e.Call == "cuMemImportFromShareableHandle" {
			return negotiate.ReasonVMMUnsupported
		}
	}
	return negotiate.ReasonGPUError
}
