// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Devices: which there are and what they say of themselves.
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool device_valid(int device) { return device >= 0 && device < conf.devices; }

int gpu_uuid_ordinal(int gpu) {
	for (int i = 0; i < conf.devices; i++)
		if (conf.visible[i] == gpu)
			return i;
	return -1;
}

API cuDeviceGetCount(int *n) {
	CALL(NEED_INIT);
	if (!n)
		return INVALID_VALUE;
	*n = conf.devices;
	return OK;
}

API cuDeviceGet(CUdevice *out, int ordinal) {
	CALL(NEED_INIT);
	if (!out)
		return INVALID_VALUE;
	if (!device_valid(ordinal))
		return INVALID_DEVICE;
	*out = ordinal;
	return OK;
}

API cuDeviceGetName(char *name, int n, CUdevice device) {
	CALL(NEED_INIT);
	if (!name || n <= 0)
		return INVALID_VALUE;
	if (!device_valid(device))
		return INVALID_DEVICE;
	snprintf(name, (size_t)n, "SIMULATED %s %d", conf.integrated ? "integrated GPU" : "GPU", conf.visible[device]);
	return OK;
}

static CUresult uuid(CUuuid *out, CUdevice device) {
	if (!out)
		return INVALID_VALUE;
	if (!device_valid(device))
		return INVALID_DEVICE;
	memcpy(out->bytes, "CUDASIM\0\x80\0\0\0\0\0\0\0", 16);
	out->bytes[15] = (char)conf.visible[device];
	return OK;
}

API cuDeviceGetUuid(CUuuid *out, CUdevice device) {
	CALL(NEED_INIT);
	return uuid(out, device);
}

API cuDeviceGetUuid_v2(CUuuid *out, CUdevice device) {
	CALL(NEED_INIT);
	return uuid(out, device);
}

API cuDeviceGetAttribute(int *out, CUdevice_attribute attribute, CUdevice device) {
	CALL(NEED_INIT);
	if (!out)
		return INVALID_VALUE;
	if (!device_valid(device))
		return INVALID_DEVICE;
	switch ((int)attribute) {
	case 16: *out = 4; break;                // multiprocessors
	case 18: *out = conf.integrated; break;
	case 19: *out = 1; break;                // can map host memory
	case 20: *out = conf.exclusive ? 3 : 0; break;
	case 33: *out = 1 + conf.visible[device]; break; // PCI bus
	case 34: case 50: *out = 0; break;       // PCI device, domain
	case 40: *out = conf.integrated ? 1 : 2; break; // copy engines
	case 41: *out = 1; break;                // unified addressing
	case 75: *out = 8; break;                // compute capability
	case 76: *out = conf.integrated ? 7 : 0; break;
	case 78: *out = 1; break;                // stream priorities
	case 83: *out = 1; break;                // managed memory
	case 91: *out = 1; break;                // registered memory at the same address
	case 99: *out = conf.host_register; break;
	case 102: *out = conf.vmm; break;
	case 103: *out = conf.posix_fd; break;
	case 113: *out = conf.read_only_register; break;
	case 125: *out = conf.legacy_code == OK; break; // IPC events
	default:
		if ((int)attribute <= 0 || (int)attribute > (conf.version < 11000 ? 106 : 140))
			return INVALID_VALUE;
		*out = 0;
	}
	return OK;
}

API cuDeviceTotalMem_v2(size_t *out, CUdevice device) {
	CALL(NEED_INIT);
	if (!out)
		return INVALID_VALUE;
	if (!device_valid(device))
		return INVALID_DEVICE;
	*out = conf.total;
	return OK;
}

API cuDeviceGetPCIBusId(char *out, int n, CUdevice device) {
	CALL(NEED_INIT);
	if (!out || n < 13)
		return INVALID_VALUE;
	if (!device_valid(device))
		return INVALID_DEVICE;
	snprintf(out, (size_t)n, "0000:%02x:00.0", 1 + conf.visible[device]);
	return OK;
}

API cuDeviceGetByPCIBusId(CUdevice *out, const char *id) {
	CALL(NEED_INIT);
	if (!out || !id)
		return INVALID_VALUE;
	const char *bus = strchr(id, ':');
	int ordinal = bus ? gpu_uuid_ordinal((int)strtol(bus + 1, NULL, 16) - 1) : -1;
	if (ordinal < 0)
		return INVALID_DEVICE;
	*out = ordinal;
	return OK;
}

API cuDeviceCanAccessPeer(int *out, CUdevice a, CUdevice b) {
	CALL(NEED_INIT);
	if (!out)
		return INVALID_VALUE;
	if (!device_valid(a) || !device_valid(b))
		return INVALID_DEVICE;
	*out = 0;
	return OK;
}

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
	{0, "CUDA_SUCCESS", "no error"},
	{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	{34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
	{36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "API call is not supported in the installed CUDA driver"},
	{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
	{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{205, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
	{206, "CUDA_ERROR_UNMAP_FAILED", "unmapping of buffer object failed"},
	{208, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
	{214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
	{217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
	{304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
	{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{600, "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"},
	{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
	{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
	{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
	{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
	{801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
	{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
	{804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
	{999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static CUresult lookup(CUresult code, const char **out, bool name) {
	if (!out)
		return INVALID_VALUE;
	*out = NULL;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == code) {
			*out = name ? errors[i].name : errors[i].text;
			return OK;
		}
	return INVALID_VALUE;
}

API cuGetErrorName(CUresult code, const char **out) {
	CALL(NEED_NOTHING);
	return lookup(code, out, true);
}

API cuGetErrorString(CUresult code, const char **out) {
	CALL(NEED_NOTHING);
	return lookup(code, out, false);
}
