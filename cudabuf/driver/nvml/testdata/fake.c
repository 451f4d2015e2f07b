// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// A management library with one GPU whose figures the test knows. FAKE_NVML_UUID
// is its UUID, so that it can stand beside a simulated driver.

#include <stdlib.h>
#include <string.h>

static int opened, fail;

void fake_fail(int code) { fail = code; }
int fake_opened(void) { return opened; }

int nvmlInit_v2(void) { opened++; return fail; }
int nvmlShutdown(void) { opened--; return 0; }
int nvmlSystemGetDriverVersion(char *out, unsigned length) { strncpy(out, "580.65.06", length); return fail; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
	const char *named = getenv("FAKE_NVML_UUID");
	*out = (void *)0x123456789abcUL;
	if (named) return strcmp(uuid, named) ? 6 : fail;
	return strcmp(uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f") && strcmp(uuid, "MIG-10010203-0405-0607-0809-0a0b0c0d0e0f") ? 6 : fail;
}
int nvmlDeviceGetUtilizationRates(void *gpu, unsigned *out) {
	out[0] = 37, out[1] = 12;
	return gpu != (void *)0x123456789abcUL ? 2 : fail;
}
int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long *out) {
	out[0] = 80ULL << 30, out[1] = 70ULL << 30, out[2] = 10ULL << 30;
	return gpu != (void *)0x123456789abcUL ? 2 : fail;
}
struct process { unsigned pid; unsigned long long used; unsigned gpu, compute; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *count, struct process *out) {
	if (gpu != (void *)0x123456789abcUL || *count < 2) return 7;
	*count = 2;
	out[0] = (struct process){4711, 5ULL << 30, -1, -1};
	out[1] = (struct process){4712, -1, -1, -1};
	return fail;
}
