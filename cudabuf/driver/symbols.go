// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import "fmt"

// symbol is the number of a function in functions.
type symbol uint8

const (
	fnInit symbol = iota
	fnDriverGetVersion
	fnDeviceGetCount
	fnDeviceGet
	fnDeviceGetName
	fnDeviceGetUUID2
	fnDeviceGetUUID
	fnDeviceGetAttribute
	fnDeviceTotalMem2
	fnDeviceGetPCIBusID
	fnDevicePrimaryCtxRetain
	fnDevicePrimaryCtxRelease2
	fnDevicePrimaryCtxSetFlags2
	fnDevicePrimaryCtxGetState
	fnCtxSetCurrent
	fnCtxGetStreamPriorityRange
	fnCtxSynchronize
	fnMemGetInfo2
	fnMemAlloc2
	fnMemFree2
	fnMemGetAddressRange2
	fnMemHostAlloc
	fnMemFreeHost
	fnMemHostRegister2
	fnMemHostUnregister
	fnMemcpyHtoDAsync2
	fnMemcpyDtoHAsync2
	fnMemcpyDtoDAsync2
	fnMemcpy2DAsync2
	fnMemsetD8Async
	fnPointerGetAttribute
	fnStreamCreateWithPriority
	fnStreamDestroy2
	fnStreamSynchronize
	fnStreamQuery
	fnStreamWaitEvent
	fnEventCreate
	fnEventRecord
	fnEventQuery
	fnEventSynchronize
	fnEventDestroy2
	fnMemGetAllocationGranularity
	fnMemCreate
	fnMemRelease
	fnMemAddressReserve
	fnMemAddressFree
	fnMemMap
	fnMemUnmap
	fnMemSetAccess
	fnMemExportToShareableHandle
	fnMemImportFromShareableHandle
	symbols
)

// need is what the absence of a function means.
type need uint8

const (
	required need = iota // the driver is too old for anything
	vmm                  // no memory that can be exported
	optional             // something else serves
)

// function is a function of the library under the exact name of the form that
// is meant: names without a version are those of the first ABI ever shipped,
// with 32-bit addresses and sizes in some cases.
type function struct {
	name   string
	since  int // CUDA version, 1000 * major + 10 * minor
	need   need
	async  bool   // may return the error of an earlier operation
	params string // in C; all return CUresult
}

var functions = [symbols]function{
	fnInit:                         {"cuInit", 2000, required, false, "unsigned int"},
	fnDriverGetVersion:             {"cuDriverGetVersion", 2020, required, false, "int *"},
	fnDeviceGetCount:               {"cuDeviceGetCount", 2000, required, false, "int *"},
	fnDeviceGet:                    {"cuDeviceGet", 2000, required, false, "CUdevice *, int"},
	fnDeviceGetName:                {"cuDeviceGetName", 2000, required, false, "char *, int, CUdevice"},
	fnDeviceGetUUID2:               {"cuDeviceGetUuid_v2", 11040, optional, false, "CUuuid *, CUdevice"},
	fnDeviceGetUUID:                {"cuDeviceGetUuid", 9020, optional, false, "CUuuid *, CUdevice"},
	fnDeviceGetAttribute:           {"cuDeviceGetAttribute", 2000, required, false, "int *, CUdevice_attribute, CUdevice"},
	fnDeviceTotalMem2:              {"cuDeviceTotalMem_v2", 3020, required, false, "size_t *, CUdevice"},
	fnDeviceGetPCIBusID:            {"cuDeviceGetPCIBusId", 4010, required, false, "char *, int, CUdevice"},
	fnDevicePrimaryCtxRetain:       {"cuDevicePrimaryCtxRetain", 7000, required, false, "CUcontext *, CUdevice"},
	fnDevicePrimaryCtxRelease2:     {"cuDevicePrimaryCtxRelease_v2", 11000, required, false, "CUdevice"},
	fnDevicePrimaryCtxSetFlags2:    {"cuDevicePrimaryCtxSetFlags_v2", 11000, required, false, "CUdevice, unsigned int"},
	fnDevicePrimaryCtxGetState:     {"cuDevicePrimaryCtxGetState", 7000, required, false, "CUdevice, unsigned int *, int *"},
	fnCtxSetCurrent:                {"cuCtxSetCurrent", 4000, required, false, "CUcontext"},
	fnCtxGetStreamPriorityRange:    {"cuCtxGetStreamPriorityRange", 5050, required, false, "int *, int *"},
	fnCtxSynchronize:               {"cuCtxSynchronize", 2000, required, true, "void"},
	fnMemGetInfo2:                  {"cuMemGetInfo_v2", 3020, required, false, "size_t *, size_t *"},
	fnMemAlloc2:                    {"cuMemAlloc_v2", 3020, required, false, "CUdeviceptr *, size_t"},
	fnMemFree2:                     {"cuMemFree_v2", 3020, required, false, "CUdeviceptr"},
	fnMemGetAddressRange2:          {"cuMemGetAddressRange_v2", 3020, required, false, "CUdeviceptr *, size_t *, CUdeviceptr"},
	fnMemHostAlloc:                 {"cuMemHostAlloc", 2020, required, false, "void **, size_t, unsigned int"},
	fnMemFreeHost:                  {"cuMemFreeHost", 2000, required, false, "void *"},
	fnMemHostRegister2:             {"cuMemHostRegister_v2", 6050, required, false, "void *, size_t, unsigned int"},
	fnMemHostUnregister:            {"cuMemHostUnregister", 4000, required, false, "void *"},
	fnMemcpyHtoDAsync2:             {"cuMemcpyHtoDAsync_v2", 3020, required, true, "CUdeviceptr, const void *, size_t, CUstream"},
	fnMemcpyDtoHAsync2:             {"cuMemcpyDtoHAsync_v2", 3020, required, true, "void *, CUdeviceptr, size_t, CUstream"},
	fnMemcpyDtoDAsync2:             {"cuMemcpyDtoDAsync_v2", 3020, required, true, "CUdeviceptr, CUdeviceptr, size_t, CUstream"},
	fnMemcpy2DAsync2:               {"cuMemcpy2DAsync_v2", 3020, required, true, "const CUDA_MEMCPY2D *, CUstream"},
	fnMemsetD8Async:                {"cuMemsetD8Async", 3020, required, true, "CUdeviceptr, unsigned char, size_t, CUstream"},
	fnPointerGetAttribute:          {"cuPointerGetAttribute", 4000, required, false, "void *, CUpointer_attribute, CUdeviceptr"},
	fnStreamCreateWithPriority:     {"cuStreamCreateWithPriority", 5050, required, false, "CUstream *, unsigned int, int"},
	fnStreamDestroy2:               {"cuStreamDestroy_v2", 4000, required, true, "CUstream"},
	fnStreamSynchronize:            {"cuStreamSynchronize", 2000, required, true, "CUstream"},
	fnStreamQuery:                  {"cuStreamQuery", 2000, required, true, "CUstream"},
	fnStreamWaitEvent:              {"cuStreamWaitEvent", 3020, required, true, "CUstream, CUevent, unsigned int"},
	fnEventCreate:                  {"cuEventCreate", 2000, required, false, "CUevent *, unsigned int"},
	fnEventRecord:                  {"cuEventRecord", 2000, required, true, "CUevent, CUstream"},
	fnEventQuery:                   {"cuEventQuery", 2000, required, true, "CUevent"},
	fnEventSynchronize:             {"cuEventSynchronize", 2000, required, true, "CUevent"},
	fnEventDestroy2:                {"cuEventDestroy_v2", 4000, required, true, "CUevent"},
	fnMemGetAllocationGranularity:  {"cuMemGetAllocationGranularity", 10020, vmm, false, "size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags"},
	fnMemCreate:                    {"cuMemCreate", 10020, vmm, false, "CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long"},
	fnMemRelease:                   {"cuMemRelease", 10020, vmm, false, "CUmemGenericAllocationHandle"},
	fnMemAddressReserve:            {"cuMemAddressReserve", 10020, vmm, false, "CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long"},
	fnMemAddressFree:               {"cuMemAddressFree", 10020, vmm, false, "CUdeviceptr, size_t"},
	fnMemMap:                       {"cuMemMap", 10020, vmm, false, "CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long"},
	fnMemUnmap:                     {"cuMemUnmap", 10020, vmm, false, "CUdeviceptr, size_t"},
	fnMemSetAccess:                 {"cuMemSetAccess", 10020, vmm, false, "CUdeviceptr, size_t, const CUmemAccessDesc *, size_t"},
	fnMemExportToShareableHandle:   {"cuMemExportToShareableHandle", 10020, vmm, false, "void *, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long"},
	fnMemImportFromShareableHandle: {"cuMemImportFromShareableHandle", 10020, vmm, false, "CUmemGenericAllocationHandle *, void *, CUmemAllocationHandleType"},
}

// byName finds a function, for messages.
func byName(name string) (function, bool) {
	for _, f := range functions {
		if f.name == name {
			return f, true
		}
	}
	return function{}, false
}

func asynchronous(name string) bool {
	f, _ := byName(name)
	return f.async
}

// since says in a message which drivers have the function.
func since(name string) string {
	f, ok := byName(name)
	if !ok {
		return ""
	}
	return fmt.Sprintf(", which came with CUDA %s", VersionString(f.since))
}

// VersionString is a version as [Driver.Version] gives it, "13.0" for 13000.
func VersionString(version int) string {
	return fmt.Sprintf("%d.%d", version/1000, version%1000/10)
}
