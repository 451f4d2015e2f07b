// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// A driver library that does nothing but write down how it was called. The test
// adds a function for each name of its table that has none here.

#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

typedef unsigned long word;

static __thread word current;
static word last[8];
static const char *name = "";
static int init, count = 1, retain, retained, bound, flagged, active, pending, fail;

const char *fake_name(void) { return name; }
word fake_last(word i) { return last[i]; }
int fake_retained(void) { return retained; }
int fake_bound(void) { return bound; }      // threads with a context
int fake_flagged(void) { return flagged; }  // calls that set flags
word fake_current(void) { return current; }
void fake_init(int code) { init = code; }
void fake_count(int devices) { count = devices; }
void fake_retain(int code) { retain = code; }
void fake_active(int flag) { active = flag; }  // somebody else has the context
void fake_pending(int queries) { pending = queries; }
void fake_fail(int code) { fail = code; }  // what all further calls return

static int record(const char *n, word a, word b, word c, word d, word e, word f) {
	name = n;
	last[0] = a, last[1] = b, last[2] = c, last[3] = d, last[4] = e, last[5] = f;
	return fail;
}

// needs_context is record for what works only with one.
static int needs_context(const char *n, word a, word b, word c, word d, word e, word f) {
	int r = record(n, a, b, c, d, e, f);
	return r ? r : current ? 0 : 201;
}

int cuInit(int flags) { record("cuInit", flags, 0, 0, 0, 0, 0); return init; }
int cuDriverGetVersion(int *out) { *out = 12090; return 0; }
int cuDeviceGetCount(int *out) { *out = count; return 0; }
int cuDeviceGet(int *out, int ordinal) { *out = 70 + ordinal; return ordinal < count ? 0 : 101; }
int cuDeviceGetName(char *out, int len, int dev) { strncpy(out, "Fake GPU", len); return dev < 70; }
int cuDeviceGetUuid_v2(unsigned char *out, int dev) { for (int i = 0; i < 16; i++) out[i] = 16 * (dev - 70) + i; return 0; }
int cuDeviceGetUuid(unsigned char *out, int dev) { for (int i = 0; i < 16; i++) out[i] = i + 1; return dev < 70; }
int cuDeviceTotalMem_v2(word *out, int dev) { *out = 5UL << 32; return dev < 70; }
int cuDeviceGetPCIBusId(char *out, int len, int dev) { strncpy(out, "0000:0A:00.0", len); return dev < 70; }
int cuDeviceGetAttribute(int *out, int attribute, int dev) {
	*out = attribute == 75 ? 9 : attribute == 18 ? 0 : 1;
	return attribute == 113 || dev < 70;  // one that an older driver does not know
}
int cuDevicePrimaryCtxRetain(word *out, int dev) {
	if (retain) return retain;
	*out = 0x5000 + dev;
	retained++;
	return 0;
}
int cuDevicePrimaryCtxRelease_v2(int dev) { retained--; return fail; }
int cuDevicePrimaryCtxGetState(int dev, unsigned *flags, int *is) { *flags = 1; *is = active; return 0; }
int cuDevicePrimaryCtxSetFlags_v2(int dev, unsigned flags) { flagged++; return record("cuDevicePrimaryCtxSetFlags_v2", dev, flags, 0, 0, 0, 0); }
int cuCtxSetCurrent(word context) {
	bound += !!context - !!current;
	current = context;
	return fail;
}
int cuCtxGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -5; return 0; }
int cuEventQuery(word ev) {
	int r = needs_context("cuEventQuery", ev, 0, 0, 0, 0, 0);
	return r ? r : pending-- > 0 ? 600 : 0;
}
int cuStreamQuery(word s) {
	int r = needs_context("cuStreamQuery", s, 0, 0, 0, 0, 0);
	return r ? r : pending-- > 0 ? 600 : 0;
}
int cuMemGetInfo_v2(word *available, word *total) { *available = 7UL << 30; *total = 9UL << 32; return 0; }
int cuMemExportToShareableHandle(void *out, word handle, int type, word flags) {
	int r = needs_context("cuMemExportToShareableHandle", (word)out, handle, type, flags, 0, 0);
	if (!r) *(int *)out = memfd_create("fake", 0);
	return r;
}
int cuMemHostAlloc(void **out, word bytes, unsigned flags) {
	static char memory[4096];
	*out = memory;
	return needs_context("cuMemHostAlloc", (word)out, bytes, flags, 0, 0, 0);
}
int cuMemGetAddressRange_v2(word *base, word *bytes, word p) { *base = p & ~0xfffUL; *bytes = 1UL << 33; return 0; }
int cuPointerGetAttribute(void *out, int attribute, word p) {
	if (attribute == 7) *(word *)out = 77UL << 32; else *(int *)out = attribute == 2 ? 2 : attribute == 14 ? 9 : 3;
	return needs_context("cuPointerGetAttribute", (word)out, attribute, p, 0, 0, 0);
}
int cuMemCreate(word *out, word bytes, const int *prop, word flags) {
	*out = prop[0] == 1 && prop[1] == 1 && prop[2] == 1 ? 0xffff0000UL + prop[3] : 0;
	return needs_context("cuMemCreate", (word)out, bytes, (word)prop, flags, 0, 0);
}
int cuMemGetAllocationGranularity(word *out, const int *prop, int option) {
	*out = prop[0] == 1 && prop[1] == 1 && prop[2] == 1 ? 2UL << 20 : 0;
	return needs_context("cuMemGetAllocationGranularity", (word)out, (word)prop, option, 0, 0, 0);
}
int cuMemSetAccess(word p, word bytes, const int *desc, word count) {
	return needs_context("cuMemSetAccess", p, bytes, 1000000UL * desc[0] + 1000UL * desc[1] + desc[2], count, 0, 0);
}
int cuMemcpy2DAsync_v2(const word *c, word stream) {
	int r = needs_context("cuMemcpy2DAsync_v2", 0, stream, 0, 0, 0, 0);
	word sum = 0;
	for (int i = 0; i < 16; i++) sum += (i + 1) * (i == 2 || i == 9 ? (unsigned)c[i] : c[i]);
	last[0] = sum;
	return r;
}
