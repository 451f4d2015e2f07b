// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes with memory: addresses, mappings, descriptors, host memory.
#include "program.h"

#include <fcntl.h>
#include <sys/mman.h>

static void beyond(void) {
	init();
	struct memory m = make();
	EXPECT(INVALID_VALUE, cuMemcpyHtoDAsync_v2(m.at + MIB2 - SOME + 1, host(1), SOME, stream()));
}

static void no_memory(void) {
	init();
	EXPECT(INVALID_VALUE, cuMemsetD8Async(4096, 1, 16, stream()));
}

static void device_as_host(void) {
	init();
	struct memory a = make(), b = make();
	EXPECT(INVALID_VALUE, cuMemcpyHtoDAsync_v2(a.at, (void *)(uintptr_t)b.at, SOME, stream()));
}

static void unwritten(void) {
	init();
	CUstream s = stream();
	DO(cuMemcpyDtoHAsync_v2(host(0), make_raw(ACCESS_READWRITE).at, SOME, s));
	DO(cuStreamSynchronize(s));
}

static void pageable(void) {
	init();
	CUstream s = stream();
	DO(cuMemcpyHtoDAsync_v2(make().at, calloc(1, SOME), SOME, s));
	DO(cuStreamSynchronize(s));
}

static void source_reused(void) {
	init();
	CUstream s = stream();
	unsigned char *h = host(1);
	struct memory m = make();
	DO(cuMemcpyHtoDAsync_v2(m.at, h, SOME, s));
	memset(h, 2, SOME);
	DO(cuStreamSynchronize(s));
}

static void source_gone(void) {
	init();
	CUstream s = stream();
	struct memory m = make();
	void *h = mmap(NULL, SOME, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DO(cuMemHostRegister_v2(h, SOME, 0));
	DO(cuMemcpyHtoDAsync_v2(m.at, h, SOME, s));
	munmap(h, SOME);
	EXPECT(ILLEGAL_ADDRESS, cuStreamSynchronize(s));
}

static void registered_twice(void) {
	init();
	char *h = mmap(NULL, SOME, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DO(cuMemHostRegister_v2(h, 5000, 0));
	EXPECT(HOST_ALREADY_REGISTERED, cuMemHostRegister_v2(h + 4096 + 2000, 100, 0));
}

static void not_registered(void) {
	init();
	EXPECT(HOST_NOT_REGISTERED, cuMemHostUnregister(calloc(1, SOME)));
}

static void registered_read_only(void) {
	init();
	void *h = mmap(NULL, SOME, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(INVALID_VALUE, cuMemHostRegister_v2(h, SOME, 0));
}

static void unregistered_queued(void) {
	init();
	CUstream s = stream();
	struct memory m = make();
	void *h = mmap(NULL, SOME, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DO(cuMemHostRegister_v2(h, SOME, 0));
	DO(cuMemcpyHtoDAsync_v2(m.at, h, SOME, s));
	DO(cuMemHostUnregister(h));
	cuStreamSynchronize(s);
}

static void host_freed_queued(void) {
	init();
	CUstream s = stream();
	struct memory m = make();
	void *h = host(1);
	DO(cuMemcpyHtoDAsync_v2(m.at, h, SOME, s));
	DO(cuMemFreeHost(h));
}

static void unmapped_queued(void) {
	init();
	CUstream s = stream();
	struct memory m = make();
	DO(cuMemsetD8Async(m.at, 1, MIB2, s));
	cuMemUnmap(m.at, MIB2); // tells perhaps already what came of it
}

static void freed_queued(void) {
	init();
	CUstream s = stream();
	CUdeviceptr p;
	DO(cuMemAlloc_v2(&p, SOME));
	DO(cuMemsetD8Async(p, 1, SOME, s));
	DO(cuMemFree_v2(p));
}

static void freed_twice(void) {
	init();
	CUdeviceptr p;
	DO(cuMemAlloc_v2(&p, SOME));
	DO(cuMemFree_v2(p));
	EXPECT(INVALID_VALUE, cuMemFree_v2(p));
}

static void freed_inside(void) {
	init();
	CUdeviceptr p;
	DO(cuMemAlloc_v2(&p, SOME));
	EXPECT(INVALID_VALUE, cuMemFree_v2(p + 256));
}

static void freed_mapped(void) {
	init();
	EXPECT(INVALID_VALUE, cuMemFree_v2(make().at));
}

static void old_form(void) {
	init();
	unsigned p;
	EXPECT(INVALID_VALUE, cuMemAlloc(&p, SOME));
}

static void odd_size(void) {
	init();
	CUhandle h;
	CUmemAllocationProp p = prop(HANDLE_POSIX_FD);
	EXPECT(INVALID_VALUE, cuMemCreate(&h, SOME, &p, 0));
}

static void map_offset(void) {
	init();
	struct memory m = make();
	DO(cuMemUnmap(m.at, MIB2));
	EXPECT(INVALID_VALUE, cuMemMap(m.at, MIB2, 4096, m.handle, 0));
}

static void map_twice(void) {
	init();
	struct memory m = make();
	EXPECT(INVALID_VALUE, cuMemMap(m.at, MIB2, 0, m.handle, 0));
}

static void map_unreserved(void) {
	init();
	struct memory m = make();
	EXPECT(INVALID_VALUE, cuMemMap(m.at + MIB2, MIB2, 0, m.handle, 0));
}

static void no_access(void) {
	init();
	CUstream s = stream();
	DO(cuMemsetD8Async(make_raw(ACCESS_NONE).at, 1, SOME, s));
	EXPECT(ILLEGAL_ADDRESS, cuStreamSynchronize(s));
	EXPECT(ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void write_read_only(void) {
	init();
	CUstream s = stream();
	DO(cuMemsetD8Async(make_raw(ACCESS_READ).at, 1, SOME, s));
	EXPECT(ILLEGAL_ADDRESS, cuStreamSynchronize(s));
}

static void unmap_part(void) {
	init();
	struct memory m = make();
	EXPECT(INVALID_VALUE, cuMemUnmap(m.at, MIB2 / 2));
}

static void address_free_mapped(void) {
	init();
	EXPECT(INVALID_VALUE, cuMemAddressFree(make().at, MIB2));
}

static void released_twice(void) {
	init();
	struct memory m = make();
	DO(cuMemRelease(m.handle));
	EXPECT(INVALID_VALUE, cuMemRelease(m.handle));
}

static void unmapped_used(void) {
	init();
	struct memory m = make();
	DO(cuMemUnmap(m.at, MIB2));
	EXPECT(INVALID_VALUE, cuMemsetD8Async(m.at, 1, SOME, stream()));
}

static void import_other(void) {
	init();
	CUhandle h;
	int fd = memfd_create("other", MFD_CLOEXEC);
	CHECK(ftruncate(fd, MIB2) == 0);
	EXPECT(INVALID_VALUE, cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, HANDLE_POSIX_FD));
}

static void import_closed(void) {
	init();
	CUhandle h;
	EXPECT(OPERATING_SYSTEM, cuMemImportFromShareableHandle(&h, (void *)(intptr_t)777, HANDLE_POSIX_FD));
}

static void import_address(void) {
	init();
	CUhandle h;
	int fd = export(make());
	EXPECT(INVALID_VALUE, cuMemImportFromShareableHandle(&h, &fd, HANDLE_POSIX_FD));
}

static void export_open(void) {
	init();
	int fd;
	struct memory m = make();
	DO(cuMemExportToShareableHandle(&fd, m.handle, HANDLE_POSIX_FD, 0));
	DO(cuCtxSynchronize());
}

static void export_unfit(void) {
	init();
	CUhandle h;
	CUmemAllocationProp p = prop(HANDLE_NONE);
	DO(cuMemCreate(&h, MIB2, &p, 0));
	int fd;
	EXPECT(INVALID_VALUE, cuMemExportToShareableHandle(&fd, h, HANDLE_POSIX_FD, 0));
}

const struct program memories[] = {
	{"copy-beyond", beyond}, {"copy-to-nowhere", no_memory}, {"device-address-as-host", device_as_host}, {"read-unwritten", unwritten},
	{"pageable", pageable}, {"source-reused-early", source_reused}, {"source-gone", source_gone}, {"registered-twice", registered_twice},
	{"not-registered", not_registered}, {"read-only-registered-as-writable", registered_read_only}, {"unregistered-while-queued", unregistered_queued},
	{"host-freed-while-queued", host_freed_queued}, {"unmapped-while-queued", unmapped_queued}, {"freed-while-queued", freed_queued},
	{"freed-twice", freed_twice}, {"freed-inside", freed_inside}, {"freed-mapped", freed_mapped}, {"old-form", old_form}, {"odd-size", odd_size},
	{"map-offset", map_offset}, {"map-twice", map_twice}, {"map-unreserved", map_unreserved}, {"no-access", no_access},
	{"write-read-only", write_read_only}, {"unmap-part", unmap_part}, {"address-freed-mapped", address_free_mapped},
	{"released-twice", released_twice}, {"use-after-unmap", unmapped_used}, {"import-other-file", import_other}, {"import-closed", import_closed},
	{"import-address-of-descriptor", import_address}, {"export-left-open-over-exec", export_open}, {"export-unfit", export_unfit}, {NULL, NULL},
};
