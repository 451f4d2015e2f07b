// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

// Sticky reports whether the code means that the context is lost: every further
// call in it returns an error, until the process ends. Stop all work on the GPU
// then.
func (r Result) Sticky() bool {
	switch r {
	case ECCUncorrectable, NVLinkUncorrectable, Contained,
		IllegalAddress, LaunchTimeout, Assert,
		HardwareStackError, IllegalInstruction, MisalignedAddress, InvalidAddressSpace, InvalidPC, LaunchFailed,
		TensorMemoryLeak, KeyRotation, ContextIsDestroyed, ExternalDevice,
		MPSConnectionFailed, MPSRPCFailure, MPSClientTerminated:
		return true
	}
	return false
}

// Advice says what to do about the code, in half a sentence; "" where there is
// nothing to say beyond its name.
func (r Result) Advice() string {
	if advice, ok := advices[r]; ok {
		return advice
	}
	if r.Sticky() {
		return "the GPU context is lost for this process: restart it; the kernel's log (Xid) may tell more"
	}
	return ""
}

var advices = map[Result]string{
	OutOfMemory:                 "device memory or a table of the driver is full: end other programs on the GPU, or use fewer or smaller streams",
	Deinitialized:               "the driver is shutting down with the process",
	StubLibrary:                 "this is the CUDA toolkit's library for linking: take the stubs folder out of the library path, or name the driver's own libcuda.so.1",
	CallRequiresNewerDriver:     "the kernel module is older than the library: update the driver and restart the machine",
	DeviceUnavailable:           "another process has the GPU in exclusive mode, or it is busy: see nvidia-smi -q -d COMPUTE",
	NoDevice:                    "no GPU is visible: look at nvidia-smi, at CUDA_VISIBLE_DEVICES and, in a container, at NVIDIA_VISIBLE_DEVICES and the device nodes",
	InvalidDevice:               "there is no GPU with this number in this process",
	InvalidContext:              "no context on this thread, or memory of a process that the driver cannot reach from here",
	MapFailed:                   "the driver could not map the memory",
	ECCUncorrectable:            "the GPU found an error in its memory that it cannot correct: see nvidia-smi -q -d ECC and restart the process",
	OperatingSystem:             "a call of the operating system failed: look at the limit on open files, on locked memory (ulimit -n, -l) and at permissions of /dev/nvidia*",
	InvalidHandle:               "a stale handle, or one of another context",
	HostMemoryAlreadyRegistered: "this memory, or a part of it, is registered already",
	HostMemoryNotRegistered:     "this memory is not registered",
	NotPermitted:                "the process may not do this: look at permissions, also of the container",
	NotSupported:                "this GPU or driver cannot do it",
	SystemNotReady:              "a service of the GPU system is not up yet (Fabric Manager on NVSwitch machines): try again later",
	SystemDriverMismatch:        "library and kernel module are of different versions: restart the machine after an update of the driver, or rebuild the container",
	CompatNotSupportedOnDevice:  "the container's compatibility library does not support this GPU: remove the cuda-compat package or update the host's driver",
	MPSServerNotReady:           "the MPS server is not ready: try again later",
	MPSMaxClientsReached:        "the MPS server has as many clients as it takes",
	MPSMaxConnectionsReached:    "the MPS server has as many connections as it takes",
	MPSClientTerminated:         "a fault of another program under the same MPS server ended this one's context: restart the process",
	Unknown:                     "in a container /dev/nvidia-uvm may be missing; a GPU in prohibited compute mode also does this; the kernel's log may tell more",
}
