// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// The part of the CUDA driver's binary interface that the simulation speaks:
// types, layouts and values as in NVIDIA's driver API reference.
#ifndef CUDASIM_ABI_H
#define CUDASIM_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef unsigned long long CUhandle; // CUmemGenericAllocationHandle

typedef struct {
	char bytes[16];
} CUuuid;

typedef struct {
	char reserved[64];
} CUipcHandle; // of memory and of events; passed by value

typedef struct {
	size_t srcXInBytes, srcY;
	int srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	void *srcArray;
	size_t srcPitch;
	size_t dstXInBytes, dstY;
	int dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	void *dstArray;
	size_t dstPitch;
	size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct {
	int type, id;
} CUmemLocation;

typedef struct {
	int type;
	int requestedHandleTypes;
	CUmemLocation location;
	void *win32;
	unsigned char compressionType, gpuDirectRDMACapable;
	unsigned short usage;
	unsigned char reserved[4];
} CUmemAllocationProp;

typedef struct {
	CUmemLocation location;
	int flags;
} CUmemAccessDesc;

_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, "CUDA_MEMCPY2D");
_Static_assert(offsetof(CUDA_MEMCPY2D, dstDevice) == 88, "CUDA_MEMCPY2D.dstDevice");
_Static_assert(sizeof(CUmemAllocationProp) == 32, "CUmemAllocationProp");
_Static_assert(sizeof(CUmemAccessDesc) == 12, "CUmemAccessDesc");
_Static_assert(sizeof(CUipcHandle) == 64, "CUipcHandle");

enum {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	STUB_LIBRARY = 34,
	DEVICE_UNAVAILABLE = 46,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	MAP_FAILED_CODE = 205,
	UNMAP_FAILED = 206,
	ALREADY_MAPPED = 208,
	PEER_ACCESS_UNSUPPORTED = 217,
	OPERATING_SYSTEM = 304,
	INVALID_HANDLE = 400,
	NOT_FOUND = 500,
	NOT_READY = 600,
	ILLEGAL_ADDRESS = 700,
	PRIMARY_CONTEXT_ACTIVE = 708,
	HOST_ALREADY_REGISTERED = 712,
	HOST_NOT_REGISTERED = 713,
	LAUNCH_FAILED = 719,
	NOT_PERMITTED = 800,
	NOT_SUPPORTED = 801,
	SYSTEM_DRIVER_MISMATCH = 803,
	UNKNOWN = 999,
};

enum { MEM_HOST = 1, MEM_DEVICE = 2, MEM_ARRAY = 3, MEM_UNIFIED = 4 };
enum { ACCESS_NONE = 0, ACCESS_READ = 1, ACCESS_READWRITE = 3 };
enum { HANDLE_NONE = 0, HANDLE_POSIX_FD = 1 };
enum { EVENT_BLOCKING_SYNC = 1, EVENT_DISABLE_TIMING = 2, EVENT_INTERPROCESS = 4 };
enum { REGISTER_PORTABLE = 1, REGISTER_DEVICEMAP = 2, REGISTER_IOMEMORY = 4, REGISTER_READ_ONLY = 8 };

#endif
