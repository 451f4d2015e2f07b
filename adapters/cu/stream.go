// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"unsafe"

	"gorgonia.org/cu"

	"github.com/seed-3c7e7623/camd/client/gpu"
)

// lastDefault is the last of the handles that mean a default stream.
const lastDefault = gpu.Stream(2)

// cu's streams and contexts are structures that have the driver's handle and
// nothing else; these do not compile when that changes.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(cu.Stream{})-unsafe.Sizeof(gpu.Stream(0))]
	_ = [1]struct{}{}[unsafe.Sizeof(cu.CUContext{})-unsafe.Sizeof(unsafe.Pointer(nil))]
)

// FromGPU is a stream of gpu.Device.NewStream, or of anybody else in the process,
// for calls of cu. Who made it destroys it.
func FromGPU(s gpu.Stream) cu.Stream { return *(*cu.Stream)(unsafe.Pointer(&s)) }

// ToGPU is a stream of cu for client/gpu. Who made it destroys it.
func ToGPU(s cu.Stream) gpu.Stream { return gpu.Stream(uintptr(unsafe.Pointer(s.C()))) }

// contextHandle is the CUcontext inside, which cu has no method for.
func contextHandle(c cu.CUContext) uintptr { return *(*uintptr)(unsafe.Pointer(&c)) }
