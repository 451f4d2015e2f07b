// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

#include "program.h"

#include <fcntl.h>

void expect(CUresult want, CUresult got, const char *call, const char *file, int line) {
	if (want == got)
		return;
	fprintf(stderr, "%s:%d: %s: got %d, want %d\n", file, line, call, got, want);
	_exit(1);
}

static CUcontext context;

void init(void) {
	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(&context, 0));
	DO(cuCtxSetCurrent(context));
}

void end(void) {
	DO(cuCtxSetCurrent(NULL));
	DO(cuDevicePrimaryCtxRelease_v2(0));
}

CUmemAllocationProp prop(int handle_types) {
	return (CUmemAllocationProp){.type = 1, .requestedHandleTypes = handle_types, .location = {.type = 1, .id = 0}};
}

static struct memory map(CUhandle h, int access) {
	struct memory m = {.handle = h};
	DO(cuMemAddressReserve(&m.at, MIB2, 0, 0, 0));
	DO(cuMemMap(m.at, MIB2, 0, h, 0));
	if (access) {
		CUmemAccessDesc d = {.location = {.type = 1, .id = 0}, .flags = access};
		DO(cuMemSetAccess(m.at, MIB2, &d, 1));
	}
	return m;
}

struct memory make_raw(int access) {
	CUmemAllocationProp p = prop(HANDLE_POSIX_FD);
	CUhandle h;
	DO(cuMemCreate(&h, MIB2, &p, 0));
	return map(h, access);
}

struct memory make(void) {
	struct memory m = make_raw(ACCESS_READWRITE);
	CUstream s = stream();
	DO(cuMemsetD8Async(m.at, 0, MIB2, s));
	DO(cuStreamSynchronize(s));
	DO(cuStreamDestroy_v2(s));
	return m;
}

struct memory import(int fd, int access) {
	CUhandle h;
	DO(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, HANDLE_POSIX_FD));
	return map(h, access);
}

void give_back(struct memory m) {
	DO(cuMemUnmap(m.at, MIB2));
	DO(cuMemAddressFree(m.at, MIB2));
	DO(cuMemRelease(m.handle));
}

CUstream stream(void) {
	CUstream s;
	DO(cuStreamCreateWithPriority(&s, 1, 0));
	return s;
}

CUevent event(void) {
	CUevent e;
	DO(cuEventCreate(&e, EVENT_BLOCKING_SYNC | EVENT_DISABLE_TIMING));
	return e;
}

unsigned char *host(unsigned char fill) {
	void *p;
	DO(cuMemHostAlloc(&p, SOME, 0));
	memset(p, fill, SOME);
	return p;
}

int export(struct memory m) {
	int fd = -1;
	DO(cuMemExportToShareableHandle(&fd, m.handle, HANDLE_POSIX_FD, 0));
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
	CHECK(ftruncate(fd, 0) != 0 && write(fd, "", 1) != 1);
	return fd;
}

int main(int argc, char **argv) {
	const struct program *all[] = {right, contexts, memories, streams, races, profiles};
	for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
		for (const struct program *p = all[i]; p->name; p++)
			if (!strcmp(p->name, argv[1])) {
				p->run();
				if (!strcmp(argv[1], "leak") || all[i] == right || all[i] == profiles)
					return 0;
				_exit(0); // what a mistake leaves behind is no second one
			}
	fprintf(stderr, "no such program\n");
	return 2;
}
