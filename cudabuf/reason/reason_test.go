// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/cudabuf"
	"github.com/seed-3c7e7623/camd/cudabuf/driver"
	"github.com/seed-3c7e7623/camd/internal/dl"
	"github.com/seed-3c7e7623/camd/negotiate"
)

type own struct{ error }

func (own) Reason() negotiate.Reason { return negotiate.ReasonPolicy }

func TestOf(t *testing.T) {
	code := func(call string, r driver.Result) error { return &driver.Error{Call: call, Code: r} }
	for _, c := range []struct {
		err  error
		want negotiate.Reason
	}{
		{own{errors.New("switched off")}, negotiate.ReasonPolicy},
		{fmt.Errorf("%w: %w", driver.ErrNoDriver, dl.ErrBuiltWithoutDL), negotiate.ReasonBuiltWithoutDL},
		{driver.ErrNoDriver, negotiate.ReasonNoDriver},
		{driver.ErrTooOld, negotiate.ReasonDriverMismatch},
		{driver.ErrTimeout, negotiate.ReasonGPUTimeout},
		{driver.ErrNoSuchDevice, negotiate.ReasonDifferentGPU},
		{cudabuf.ErrNoSharing, negotiate.ReasonVMMUnsupported},
		{cudabuf.ErrNoMemory, negotiate.ReasonLimit},
		{unix.EMFILE, negotiate.ReasonLimit},
		{code("cuInit", driver.StubLibrary), negotiate.ReasonNoDriver},
		{code("cuInit", driver.NoDevice), negotiate.ReasonNoDriver},
		{code("cuInit", driver.SystemNotReady), negotiate.ReasonNoDriver},
		{code("cuInit", driver.SystemDriverMismatch), negotiate.ReasonDriverMismatch},
		{code("cuDevicePrimaryCtxRetain", driver.DeviceUnavailable), negotiate.ReasonLimit},
		{code("cuDevicePrimaryCtxRetain", driver.OutOfMemory), negotiate.ReasonLimit},
		{code("cuMemExportToShareableHandle", driver.NotSupported), negotiate.ReasonVMMUnsupported},
		{code("cuMemImportFromShareableHandle", driver.InvalidContext), negotiate.ReasonVMMUnsupported},
		{code("cuMemcpyDtoHAsync_v2", driver.InvalidContext), negotiate.ReasonGPUError},
		{code("cuMemImportFromShareableHandle", driver.Unknown), negotiate.ReasonGPUError},
		{code("cuDeviceGetUuid_v2", driver.InvalidValue), negotiate.ReasonGPUError},
		{code("cuDeviceGetCount", driver.NotInitialized), negotiate.ReasonGPUError},
		{code("cuStreamDestroy_v2", driver.InvalidHandle), negotiate.ReasonGPUError},
		{errors.Join(code("cuMemUnmap", driver.InvalidValue), code("cuMemcpyHtoDAsync_v2", driver.IllegalAddress)), negotiate.ReasonGPULost},
		{errors.New("anything else"), negotiate.ReasonGPUError},
	} {
		if got := Of(fmt.Errorf("around: %w", c.err)); got != c.want {
			t.Errorf("%v: got %s, want %s", c.err, got, c.want)
		}
	}
}
