// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/dl"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// reason is the word for what keeps frames from the GPU.
func reason(err error) negotiate.Reason {
	var e *driver.Error
	switch {
	case errors.Is(err, errOff):
		return negotiate.ReasonPolicy
	case errors.Is(err, errVMM):
		return negotiate.ReasonVMMUnsupported
	case errors.Is(err, errStuck), driver.Sticky(err):
		return negotiate.ReasonGPULost
	case errors.Is(err, errSlow):
		return negotiate.ReasonProbeTimeout
	case errors.Is(err, dl.ErrBuiltWithoutDL):
		return negotiate.ReasonBuiltWithoutDL
	case errors.Is(err, driver.ErrMismatch), errors.Is(err, driver.ErrTooOld):
		return negotiate.ReasonDriverMismatch
	case errors.Is(err, driver.ErrNoSuchDevice):
		return negotiate.ReasonDifferentGPU
	case errors.Is(err, driver.ErrNoDriver), errors.Is(err, driver.ErrStub), errors.Is(err, driver.ErrNoDevice), errors.Is(err, driver.ErrNotReady):
		return negotiate.ReasonNoDriver
	case errors.Is(err, cudabuf.ErrNoMemory), errors.Is(err, driver.ErrOutOfMemory), errors.Is(err, linux.ErrNoMemory),
		errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return negotiate.ReasonLimit
	case errors.As(err, &e) && (e.Code == driver.DeviceUnavailable || e.Code == driver.OperatingSystem):
		return negotiate.ReasonLimit // an exclusive GPU in use; descriptors, permissions
	}
	return negotiate.ReasonVMMUnsupported
}
