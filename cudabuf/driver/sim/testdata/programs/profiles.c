// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Programs that say what they found, or go on until told that something broke.
#include "program.h"

#include <fcntl.h>

// machine says of the machine what a program would go by.
static void machine(void) {
	CUresult r = cuInit(0);
	printf("init %d\n", r);
	if (r)
		return;
	int n, integrated, vmm, fd_handles;
	DO(cuDeviceGetCount(&n));
	for (int i = 0; i < n; i++) {
		char name[64];
		CUuuid u;
		DO(cuDeviceGetName(name, sizeof name, i));
		DO(cuDeviceGetUuid_v2(&u, i));
		DO(cuDeviceGetAttribute(&integrated, 18, i));
		DO(cuDeviceGetAttribute(&vmm, 102, i));
		DO(cuDeviceGetAttribute(&fd_handles, 103, i));
		printf("%s, ends in %02x, integrated %d, vmm %d, fd %d\n", name, (unsigned char)u.bytes[15], integrated, vmm, fd_handles);
	}
	CUcontext c;
	r = cuDevicePrimaryCtxRetain(&c, 0);
	printf("context %d\n", r);
	if (r)
		return;
	DO(cuCtxSetCurrent(c));
	CUmemAllocationProp p = prop(HANDLE_POSIX_FD);
	CUhandle h, again;
	r = cuMemCreate(&h, MIB2, &p, 0);
	printf("create %d\n", r);
	if (!r) {
		int fd = -1;
		r = cuMemExportToShareableHandle(&fd, h, HANDLE_POSIX_FD, 0);
		printf("export %d\n", r);
		if (!r) {
			fcntl(fd, F_SETFD, FD_CLOEXEC);
			r = cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, HANDLE_POSIX_FD);
			printf("import %d\n", r);
			if (!r)
				DO(cuMemRelease(again));
			close(fd);
		}
		DO(cuMemRelease(h));
	}
	CUipcHandle ipc = {{0}};
	CUdeviceptr at;
	if (integrated)
		printf("legacy open %d\n", cuIpcOpenMemHandle_v2(&at, ipc, 1));
	end();
}

// exclusive has a second process try for the GPU of the first.
static void exclusive(void) {
	init();
	char self[4096], command[4200];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	CHECK(n > 0);
	self[n] = 0;
	snprintf(command, sizeof command, "%s machine", self);
	CHECK(system(command) == 0);
	end();
	CHECK(system(command) == 0);
}

// goes_on works until it is told that the GPU is lost.
static void goes_on(void) {
	init();
	struct memory m = make();
	CUstream s = stream();
	CUresult r = OK;
	puts("running");
	fflush(stdout);
	for (int i = 0; i < 20000 && !r; i++) {
		r = cuMemsetD8Async(m.at, 1, SOME, s);
		if (!r)
			r = cuStreamSynchronize(s);
		usleep(500);
	}
	printf("ended %d\n", r);
	fflush(stdout);
	_exit(0); // a broken GPU gives nothing back
}

// hangs works until operations do not finish any more, and till they do again.
static void hangs(void) {
	init();
	struct memory m = make();
	CUstream s = stream();
	puts("running");
	fflush(stdout);
	for (bool hung = false; !hung;) {
		DO(cuMemsetD8Async(m.at, 1, SOME, s));
		CUresult r;
		for (int i = 0; (r = cuStreamQuery(s)) == NOT_READY; i++) {
			if (i == 400) {
				hung = true;
				puts("hangs");
				fflush(stdout);
			}
			usleep(500);
		}
		DO(r);
	}
	DO(cuStreamDestroy_v2(s));
	give_back(m);
	end();
	puts("ended");
}

// fills asks for memory until there is none.
static void fills(void) {
	init();
	puts("running");
	fflush(stdout);
	CUresult r = OK;
	for (int i = 0; i < 20000 && !r; i++) {
		CUmemAllocationProp p = prop(HANDLE_POSIX_FD);
		CUhandle h;
		r = cuMemCreate(&h, MIB2, &p, 0);
		if (!r)
			DO(cuMemRelease(h));
		usleep(500);
	}
	printf("ended %d\n", r);
	end();
}

// churn makes, uses, exports and gives back memory until it is killed.
static void churn(void) {
	init();
	CUstream s = stream();
	unsigned char *h = host(3);
	for (int i = 0; i < 100000; i++) {
		struct memory m = make_raw(ACCESS_READWRITE);
		int fd = export(m);
		struct memory again = import(fd, ACCESS_READWRITE);
		DO(cuMemcpyHtoDAsync_v2(again.at, h, SOME, s));
		DO(cuStreamSynchronize(s));
		give_back(m);
		close(fd);
		give_back(again);
		if (i % 4 == 0) {
			puts("again");
			fflush(stdout);
		}
	}
}

// unbound is a thread that is asked whether it has a context.
static void unbound(void) {
	DO(cudasim_thread_unbound());
	init();
	EXPECT(INVALID_CONTEXT, cudasim_thread_unbound());
	end();
	DO(cudasim_thread_unbound());
}

const struct program profiles[] = {
	{"machine", machine}, {"exclusive", exclusive}, {"goes-on", goes_on}, {"hangs", hangs}, {"fills", fills}, {"unbound", unbound}, {"churn", churn}, {NULL, NULL},
};
