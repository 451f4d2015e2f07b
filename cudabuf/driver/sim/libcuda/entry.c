// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Entries by name, and those that no program of today may call: the forms of
// the first version of the interface, with 32-bit addresses, and the legacy
// sharing of memory, which answers as the profile says.
#include "sim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static CUresult poisoned(const char *name) {
	report("ABI", name, "the form of CUDA 1, with 32-bit addresses: call %s_v2", name);
	return INVALID_VALUE;
}

#define POISONED(name) \
	API name(void) { return poisoned(__func__); }

POISONED(cuMemAlloc)
POISONED(cuMemAllocPitch)
POISONED(cuMemFree)
POISONED(cuMemGetAddressRange)
POISONED(cuMemGetInfo)
POISONED(cuMemHostGetDevicePointer)
POISONED(cuMemHostRegister)
POISONED(cuMemcpyHtoDAsync)
POISONED(cuMemcpyDtoHAsync)
POISONED(cuMemcpyDtoDAsync)
POISONED(cuMemcpy2DAsync)
POISONED(cuDeviceTotalMem)
POISONED(cuStreamDestroy)
POISONED(cuEventDestroy)
POISONED(cuDevicePrimaryCtxRelease)
POISONED(cuDevicePrimaryCtxSetFlags)
POISONED(cuCtxPushCurrent)
POISONED(cuCtxPopCurrent)

static CUresult legacy(const char *name) {
	if (conf.legacy_code)
		return conf.legacy_code;
	report("S29", name, "legacy sharing of memory and events is not simulated");
	return INVALID_VALUE;
}

API cuIpcGetMemHandle(CUipcHandle *out, CUdeviceptr base) {
	CALL(NEED_CONTEXT);
	(void)out;
	lock();
	struct mapping *m = mapping_at(base);
	bool plain = m && m->phys->legacy;
	unlock();
	if (!plain)
		return INVALID_VALUE;
	return legacy(__func__);
}

API cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcHandle handle, unsigned flags) {
	CALL(NEED_CONTEXT);
	(void)out;
	(void)handle;
	if (flags != 1) {
		report("S20", __func__, "flags are %u, and must be 1", flags);
		return INVALID_VALUE;
	}
	return legacy(__func__);
}

API cuIpcOpenMemHandle(CUdeviceptr *out, CUipcHandle handle, unsigned flags) {
	CALL(NEED_CONTEXT);
	(void)out;
	(void)handle;
	(void)flags;
	return poisoned(__func__);
}

API cuIpcCloseMemHandle(CUdeviceptr base) {
	CALL(NEED_CONTEXT);
	(void)base;
	return legacy(__func__);
}

API cuIpcGetEventHandle(CUipcHandle *out, CUevent event) {
	CALL(NEED_CONTEXT);
	(void)out;
	(void)event;
	return legacy(__func__);
}

API cuIpcOpenEventHandle(CUevent *out, CUipcHandle handle) {
	CALL(NEED_CONTEXT);
	(void)out;
	(void)handle;
	return legacy(__func__);
}

// Base names whose newest form here is another, and the version that brought
// each.
static const struct {
	const char *base, *name;
	int since;
} entries[] = {
	{"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040},
	{"cuDeviceTotalMem", "cuDeviceTotalMem_v2", 3020},
	{"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 11000},
	{"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2", 11000},
	{"cuCtxPushCurrent", "cuCtxPushCurrent_v2", 4000},
	{"cuCtxPopCurrent", "cuCtxPopCurrent_v2", 4000},
	{"cuMemAlloc", "cuMemAlloc_v2", 3020},
	{"cuMemAllocPitch", "cuMemAllocPitch_v2", 3020},
	{"cuMemFree", "cuMemFree_v2", 3020},
	{"cuMemGetAddressRange", "cuMemGetAddressRange_v2", 3020},
	{"cuMemGetInfo", "cuMemGetInfo_v2", 3020},
	{"cuMemHostRegister", "cuMemHostRegister_v2", 6050},
	{"cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2", 3020},
	{"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", 3020},
	{"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", 3020},
	{"cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2", 3020},
	{"cuMemcpy2DAsync", "cuMemcpy2DAsync_v2", 3020},
	{"cuStreamDestroy", "cuStreamDestroy_v2", 4000},
	{"cuEventDestroy", "cuEventDestroy_v2", 4000},
	{"cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2", 11000},
	{"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
	{"cuMemRetainAllocationHandle", "cuMemRetainAllocationHandle", 11000},
	{"cuEventRecordWithFlags", "cuEventRecordWithFlags", 11010},
	{"cuEventElapsedTime", "cuEventElapsedTime", 2000},
	{"cuLaunchHostFunc", "cuLaunchHostFunc", 10000},
	{"cuMemCreate", "cuMemCreate", 10020},
	{"cuMemRelease", "cuMemRelease", 10020},
	{"cuMemMap", "cuMemMap", 10020},
	{"cuMemUnmap", "cuMemUnmap", 10020},
	{"cuMemSetAccess", "cuMemSetAccess", 10020},
	{"cuMemAddressReserve", "cuMemAddressReserve", 10020},
	{"cuMemAddressFree", "cuMemAddressFree", 10020},
	{"cuMemExportToShareableHandle", "cuMemExportToShareableHandle", 10020},
	{"cuMemImportFromShareableHandle", "cuMemImportFromShareableHandle", 10020},
	{"cuMemGetAllocationGranularity", "cuMemGetAllocationGranularity", 10020},
	{"cuMemGetAllocationPropertiesFromHandle", "cuMemGetAllocationPropertiesFromHandle", 10020},
};

API cuGetProcAddress_v2(const char *base, void **out, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status) {
	CALL(NEED_NOTHING);
	if (!base || !out || version > conf.version || flags > 2)
		return INVALID_VALUE;
	if (flags == 2)
		report("S37", __func__, "the forms of %s with a default stream for each thread", base);
	const char *name = strstr(base, "_v2") || strncmp(base, "cu", 2) ? "" : base;
	int since = 2000, found = 0;
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (!strcmp(entries[i].base, base)) {
			name = entries[i].name;
			since = entries[i].since;
		}
	*out = NULL;
	if (*name) {
		Dl_info info;
		void *self = dladdr((void *)(uintptr_t)cuGetProcAddress_v2, &info) ? dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : NULL;
		if (self) {
			*out = dlsym(self, name);
			dlclose(self);
		}
		found = *out != NULL;
	}
	if (found && version < since) {
		*out = NULL;
		found = 2;
	}
	if (status)
		*status = found == 1 ? 0 : found == 2 ? 2 : 1;
	return OK;
}

API cuGetProcAddress(const char *base, void **out, int version, cuuint64_t flags) {
	CUdriverProcAddressQueryResult status;
	CUresult r = cuGetProcAddress_v2(base, out, version, flags, &status);
	return r == OK && status ? NOT_FOUND : r;
}
