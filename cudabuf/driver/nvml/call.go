// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"runtime"
)

// symbol is the number of a function in functions.
type symbol uint8

const (
	fnInit symbol = iota
	fnShutdown
	fnDriverVersion
	fnHandleByUUID
	fnUtilization
	fnMemory
	fnProcesses
	symbols
)

// functions are those of nvml.h, by the exact name of the form that is meant.
// All return nvmlReturn_t. The tests hold them against NVIDIA's header.
var functions = [symbols]struct{ name, params string }{
	fnInit:          {"nvmlInit_v2", "void"},
	fnShutdown:      {"nvmlShutdown", "void"},
	fnDriverVersion: {"nvmlSystemGetDriverVersion", "char *, unsigned int"},
	fnHandleByUUID:  {"nvmlDeviceGetHandleByUUID", "const char *, nvmlDevice_t *"},
	fnUtilization:   {"nvmlDeviceGetUtilizationRates", "nvmlDevice_t, nvmlUtilization_t *"},
	fnMemory:        {"nvmlDeviceGetMemoryInfo", "nvmlDevice_t, nvmlMemory_t *"},
	fnProcesses:     {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDevice_t, unsigned int *, nvmlProcessInfo_t *"},
}

// maxProcesses bounds what Processes lists.
const maxProcesses = 256

// utilization is nvmlUtilization_t.
type utilization struct {
	GPU    uint32 `c:"gpu"`
	Memory uint32 `c:"memory"`
}

// memory is nvmlMemory_t.
type memory struct {
	Total uint64 `c:"total"`
	Free  uint64 `c:"free"`
	Used  uint64 `c:"used"`
}

// process is nvmlProcessInfo_t.
type process struct {
	PID             uint32 `c:"pid"`
	UsedGPUMemory   uint64 `c:"usedGpuMemory"`
	GPUInstance     uint32 `c:"gpuInstanceId"`
	ComputeInstance uint32 `c:"computeInstanceId"`
}

// Result is what the library's functions return: nvmlReturn_t.
type Result int32

// Codes that mean something here.
const (
	success         Result = 0   // NVML_SUCCESS
	Uninitialized   Result = 1   // NVML_ERROR_UNINITIALIZED
	InvalidArgument Result = 2   // NVML_ERROR_INVALID_ARGUMENT
	NotSupported    Result = 3   // NVML_ERROR_NOT_SUPPORTED
	NoPermission    Result = 4   // NVML_ERROR_NO_PERMISSION
	NotFound        Result = 6   // NVML_ERROR_NOT_FOUND
	DriverNotLoaded Result = 9   // NVML_ERROR_DRIVER_NOT_LOADED
	GPULost         Result = 15  // NVML_ERROR_GPU_IS_LOST
	OperatingSystem Result = 17  // NVML_ERROR_OPERATING_SYSTEM
	VersionMismatch Result = 18  // NVML_ERROR_LIB_RM_VERSION_MISMATCH
	GPUNotFound     Result = 28  // NVML_ERROR_GPU_NOT_FOUND
	Unknown         Result = 999 // NVML_ERROR_UNKNOWN
)

var texts = map[Result]string{
	Uninitialized:   "used after Close",
	InvalidArgument: "invalid argument",
	NotSupported:    "not supported by this GPU",
	NoPermission:    "no permission",
	NotFound:        "not found",
	DriverNotLoaded: "the kernel module is not loaded",
	GPULost:         "the GPU is lost",
	OperatingSystem: "the operating system refuses the device: look at the container's device rules",
	VersionMismatch: "library and kernel module are of different versions: restart the machine",
	GPUNotFound:     "no GPU",
	Unknown:         "unknown error",
}

// Error is a call of the library that failed.
type Error struct {
	Call string // the function's name in the library
	Code Result
}

func (e *Error) Error() string {
	text, ok := texts[e.Code]
	if !ok {
		text = "failed"
	}
	return fmt.Sprintf("%s: %s (%d)", e.Call, text, int32(e.Code))
}

// Is reports whether target is the sentinel of the code.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNoGPU:
		return e.Code == NotFound || e.Code == GPUNotFound || e.Code == InvalidArgument && e.Call == functions[fnHandleByUUID].name
	case ErrUnsupported:
		return e.Code == NotSupported
	}
	return false
}

// call calls a function, with the lock held.
func (l *Library) call(s symbol, args ...uintptr) error {
	n := copy(l.args[:], args)
	r := Result(int32(l.table[s].Call(l.args[:n])))
	runtime.KeepAlive(l)
	if r == success {
		return nil
	}
	return &Error{Call: functions[s].name, Code: r}
}
