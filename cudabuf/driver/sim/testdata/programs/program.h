// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Programs that use the driver rightly and wrongly, one process each.
#ifndef PROGRAM_H
#define PROGRAM_H

#include "abi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

CUresult cuInit(unsigned);
CUresult cuDeviceGetCount(int *);
CUresult cuDeviceGet(CUdevice *, int);
CUresult cuDeviceGetName(char *, int, CUdevice);
CUresult cuDeviceGetUuid_v2(CUuuid *, CUdevice);
CUresult cuDeviceGetAttribute(int *, int, CUdevice);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxPushCurrent_v2(CUcontext);
CUresult cuCtxPopCurrent_v2(CUcontext *);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc(unsigned *, unsigned);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemGetInfo_v2(size_t *, size_t *);
CUresult cuMemHostAlloc(void **, size_t, unsigned);
CUresult cuMemFreeHost(void *);
CUresult cuMemHostRegister_v2(void *, size_t, unsigned);
CUresult cuMemHostUnregister(void *);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *, CUstream);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuStreamCreateWithPriority(CUstream *, unsigned, int);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamQuery(CUstream);
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuLaunchHostFunc(CUstream, CUhostFn, void *);
CUresult cuEventCreate(CUevent *, unsigned);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventQuery(CUevent);
CUresult cuEventSynchronize(CUevent);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuMemGetAllocationGranularity(size_t *, const CUmemAllocationProp *, int);
CUresult cuMemCreate(CUhandle *, size_t, const CUmemAllocationProp *, unsigned long long);
CUresult cuMemRelease(CUhandle);
CUresult cuMemAddressReserve(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
CUresult cuMemAddressFree(CUdeviceptr, size_t);
CUresult cuMemMap(CUdeviceptr, size_t, size_t, CUhandle, unsigned long long);
CUresult cuMemUnmap(CUdeviceptr, size_t);
CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
CUresult cuMemExportToShareableHandle(void *, CUhandle, int, unsigned long long);
CUresult cuMemImportFromShareableHandle(CUhandle *, void *, int);
CUresult cuGetProcAddress_v2(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
CUresult cuIpcGetMemHandle(CUipcHandle *, CUdeviceptr);
CUresult cudasim_thread_unbound(void);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *, CUipcHandle, unsigned);

enum { MIB2 = 2 << 20, SOME = 256 << 10 };

// expect ends the program where a call did not return what it must.
#define EXPECT(want, call) expect((want), (call), #call, __FILE__, __LINE__)
#define DO(call) EXPECT(OK, call)
#define CHECK(what) expect(1, (what) ? 1 : 0, #what, __FILE__, __LINE__)
void expect(CUresult want, CUresult got, const char *call, const char *file, int line);

// A piece of device memory, mapped, and all that it consists of.
struct memory {
	CUhandle handle;
	CUdeviceptr at;
};

void init(void);                    // driver, context on this thread
void end(void);                     // the reverse
CUmemAllocationProp prop(int handle_types);
struct memory make(void);           // 2 MiB that can be exported, written
struct memory make_raw(int access); // the same, not written
int export(struct memory m);
struct memory import(int fd, int access);
void give_back(struct memory m);
CUstream stream(void);
CUevent event(void);
unsigned char *host(unsigned char fill); // SOME bytes, page-locked

struct program {
	const char *name;
	void (*run)(void);
};

extern const struct program right[], contexts[], memories[], streams[], races[], profiles[];

#endif
