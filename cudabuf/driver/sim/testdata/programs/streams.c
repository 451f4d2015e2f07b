// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes with streams and events, and what becomes of a broken GPU.
#include "program.h"

static void default_stream(void) {
	init();
	struct memory m = make();
	DO(cuMemsetD8Async(m.at, 1, SOME, NULL));
	DO(cuCtxSynchronize());
}

static void blocking_stream(void) {
	init();
	CUstream s;
	DO(cuStreamCreateWithPriority(&s, 0, 0));
}

static void destroyed_stream(void) {
	init();
	CUstream s = stream();
	DO(cuStreamDestroy_v2(s));
	EXPECT(INVALID_HANDLE, cuStreamSynchronize(s));
}

static void destroyed_event(void) {
	init();
	CUevent e = event();
	DO(cuEventDestroy_v2(e));
	EXPECT(INVALID_HANDLE, cuEventRecord(e, stream()));
}

static void event_timed(void) {
	init();
	CUevent e;
	EXPECT(INVALID_VALUE, cuEventCreate(&e, EVENT_INTERPROCESS));
}

static void wait_unrecorded(void) {
	init();
	DO(cuStreamWaitEvent(stream(), event(), 0));
}

static void query_unrecorded(void) {
	init();
	DO(cuEventQuery(event()));
}

static void spinning_wait(void) {
	init();
	CUevent e;
	DO(cuEventCreate(&e, EVENT_DISABLE_TIMING));
	DO(cuEventRecord(e, stream()));
	DO(cuEventSynchronize(e));
}

static void legacy_of_mapped(void) {
	init();
	CUipcHandle h;
	EXPECT(INVALID_VALUE, cuIpcGetMemHandle(&h, make().at));
}

static void legacy_flags(void) {
	init();
	CUipcHandle h = {{0}};
	CUdeviceptr p;
	EXPECT(INVALID_VALUE, cuIpcOpenMemHandle_v2(&p, h, 0));
}

// breaks runs under the plan op:2:719: the first operation is make's.
static void breaks(void) {
	init();
	struct memory m = make();
	CUstream s = stream();
	DO(cuMemsetD8Async(m.at, 1, SOME, s));
	EXPECT(719, cuStreamSynchronize(s));
	EXPECT(719, cuMemsetD8Async(m.at, 1, SOME, s));
	CUcontext c;
	EXPECT(719, cuDevicePrimaryCtxRetain(&c, 0));
	EXPECT(719, cuMemUnmap(m.at, MIB2)); // it is done nevertheless
	EXPECT(719, cuMemAddressFree(m.at, MIB2));
	EXPECT(719, cuMemRelease(m.handle));
}

// many runs under CUDASIM_MAX_EVENTS=3 and CUDASIM_MAX_STREAMS=2.
static void many(void) {
	init();
	CUevent e;
	CUstream s;
	for (int i = 0; i < 3; i++)
		event();
	EXPECT(OUT_OF_MEMORY, cuEventCreate(&e, EVENT_DISABLE_TIMING));
	stream();
	stream();
	EXPECT(OUT_OF_MEMORY, cuStreamCreateWithPriority(&s, 1, 0));
}

// full runs under CUDASIM_MEMORY=4194304.
static void full(void) {
	init();
	CUmemAllocationProp p = prop(HANDLE_POSIX_FD);
	CUhandle h, a, b;
	DO(cuMemCreate(&a, MIB2, &p, 0));
	DO(cuMemCreate(&b, MIB2, &p, 0));
	EXPECT(OUT_OF_MEMORY, cuMemCreate(&h, MIB2, &p, 0));
	DO(cuMemRelease(a));
	DO(cuMemCreate(&a, MIB2, &p, 0));
}

// third runs under the plan cuMemCreate:3:2.
static void third(void) {
	init();
	make();
	make();
	CUmemAllocationProp p = prop(HANDLE_POSIX_FD);
	CUhandle h;
	EXPECT(OUT_OF_MEMORY, cuMemCreate(&h, MIB2, &p, 0));
	make();
}

const struct program streams[] = {
	{"default-stream", default_stream}, {"blocking-stream", blocking_stream}, {"destroyed-stream", destroyed_stream},
	{"destroyed-event", destroyed_event}, {"interprocess-event-with-times", event_timed}, {"wait-never-recorded", wait_unrecorded},
	{"query-never-recorded", query_unrecorded}, {"spinning-wait", spinning_wait}, {"legacy-handle-of-mapped", legacy_of_mapped},
	{"legacy-open-flags", legacy_flags}, {"gpu-breaks", breaks}, {"limits", many}, {"memory-full", full}, {"third-allocation-fails", third}, {NULL, NULL},
};
