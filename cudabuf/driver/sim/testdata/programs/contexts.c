// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes with the driver's start, contexts, threads and processes.
#include "program.h"

#include <pthread.h>
#include <sys/wait.h>

static void no_init(void) {
	int n;
	EXPECT(NOT_INITIALIZED, cuDeviceGetCount(&n));
}

static void no_context(void) {
	DO(cuInit(0));
	CUcontext c;
	DO(cuDevicePrimaryCtxRetain(&c, 0)); // does not bind it
	CUstream s;
	EXPECT(INVALID_CONTEXT, cuStreamCreateWithPriority(&s, 1, 0));
}

static void *no_context_here(void *arg) {
	EXPECT(INVALID_CONTEXT, cuStreamSynchronize(arg));
	return NULL;
}

static void other_thread(void) {
	init();
	pthread_t t;
	CHECK(pthread_create(&t, NULL, no_context_here, stream()) == 0);
	CHECK(pthread_join(t, NULL) == 0);
}

static void *leaves_bound(void *arg) {
	DO(cuCtxSetCurrent(arg));
	return NULL;
}

static void context_left(void) {
	DO(cuInit(0));
	CUcontext c;
	DO(cuDevicePrimaryCtxRetain(&c, 0));
	pthread_t t;
	CHECK(pthread_create(&t, NULL, leaves_bound, c) == 0);
	CHECK(pthread_join(t, NULL) == 0);
}

static void released_twice(void) {
	init();
	end();
	EXPECT(INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
}

static void released_full(void) {
	init();
	stream();
	end();
}

static void destroyed_context(void) {
	CUcontext c;
	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(&c, 0));
	DO(cuDevicePrimaryCtxRelease_v2(0));
	EXPECT(INVALID_CONTEXT, cuCtxSetCurrent(c));
}

static void forked(void) {
	init();
	pid_t pid = fork();
	if (!pid) {
		EXPECT(NOT_INITIALIZED, cuCtxSynchronize());
		_exit(0);
	}
	int status;
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void calls_back(void *arg) { EXPECT(NOT_PERMITTED, cuStreamQuery(arg)); }

static void in_callback(void) {
	init();
	CUstream s = stream();
	DO(cuLaunchHostFunc(s, calls_back, s));
	DO(cuStreamSynchronize(s));
}

static void leak(void) {
	init();
	make();
}

static void event_elsewhere(void) {
	init();
	CUevent e = event();
	CUcontext other;
	DO(cuDevicePrimaryCtxRetain(&other, 1));
	DO(cuCtxSetCurrent(other));
	EXPECT(INVALID_HANDLE, cuEventRecord(e, stream()));
}

// wrong_gpu gives the exporter's ordinal where its own is wanted.
static void wrong_gpu(void) {
	init();
	CUmemAllocationProp p = prop(HANDLE_POSIX_FD);
	CUhandle h;
	DO(cuMemCreate(&h, MIB2, &p, 0));
	CUdeviceptr at;
	DO(cuMemAddressReserve(&at, MIB2, 0, 0, 0));
	DO(cuMemMap(at, MIB2, 0, h, 0));
	CUmemAccessDesc d = {.location = {.type = 1, .id = 1}, .flags = ACCESS_READ};
	EXPECT(PEER_ACCESS_UNSUPPORTED, cuMemSetAccess(at, MIB2, &d, 1));
}

const struct program contexts[] = {
	{"no-init", no_init}, {"no-context", no_context}, {"no-context-on-thread", other_thread}, {"context-left-on-thread", context_left},
	{"context-released-twice", released_twice}, {"context-released-full", released_full}, {"context-destroyed", destroyed_context},
	{"fork-after-init", forked}, {"call-in-callback", in_callback}, {"leak", leak}, {"event-of-other-context", event_elsewhere},
	{"access-for-wrong-gpu", wrong_gpu}, {NULL, NULL},
};
