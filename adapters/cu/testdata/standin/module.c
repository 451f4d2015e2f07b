// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Modules and launches on top of the simulated driver, which has none: a kernel
// is a copy of what it reads, a host function that runs its PTX, and a copy of what
// it writes, all in the stream. So the simulated driver delays it, and sees and
// judges which memory it touches when. This is no GPU: nothing here says how fast a
// kernel is.
#include "ptx.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default"))) CUresult CUDAAPI

struct task { // a launch that is queued
	struct task *next;
	struct kernel *kernel;
	struct launch launch;
	uint8_t *staged;
	_Atomic(bool) done;
	bool failed;
};

struct CUmod_st {
	struct kernel kernel;
	struct task *tasks;
};

API cuModuleLoadData(CUmodule *out, const void *image) {
	CUcontext c;
	CUresult r = cuCtxGetCurrent(&c);
	if (r || !c || !out || !image)
		return r ? r : c ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
	struct CUmod_st *m = calloc(1, sizeof *m);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	const char *bad = ptx_parse(&m->kernel, image);
	if (bad) {
		fprintf(stderr, "simulated: PTX: %s\n", bad);
		free(m);
		return CUDA_ERROR_INVALID_PTX;
	}
	*out = m;
	return CUDA_SUCCESS;
}

API cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name) {
	if (!out || !m || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (strcmp(name, m->kernel.name))
		return CUDA_ERROR_NOT_FOUND;
	*out = (CUfunction)m;
	return CUDA_SUCCESS;
}

// collect frees what launches that are over were staged in.
static CUresult collect(struct CUmod_st *m) {
	CUresult r = CUDA_SUCCESS;
	for (struct task **at = &m->tasks; *at && !r;) {
		struct task *t = *at;
		if (!t->done) {
			at = &t->next;
			continue;
		}
		r = t->failed ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
		CUresult freed = cuMemFreeHost(t->staged);
		r = r ? r : freed;
		*at = t->next;
		free(t);
	}
	return r;
}

API cuModuleUnload(CUmodule m) {
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = cuCtxSynchronize();
	r = r ? r : collect(m);
	if (!r)
		free(m);
	return r;
}

static void CUDA_CB run(void *arg) {
	struct task *t = arg;
	t->failed = !ptx_run(t->kernel, &t->launch);
}

static void CUDA_CB finish(void *arg) { ((struct task *)arg)->done = true; }

// enqueue gives a launch to the stream.
static CUresult enqueue(struct task *t, CUstream stream) {
	struct range *in = &t->launch.read, *out = &t->launch.write;
	size_t read = in->to - in->from, written = out->to - out->from;
	CUresult r = cuMemHostAlloc((void **)&t->staged, read + written + 1, 0);
	if (r)
		return r;
	in->bytes = t->staged;
	out->bytes = t->staged + read;
	if (read)
		r = cuMemcpyDtoHAsync(in->bytes, in->from, read, stream);
	r = r ? r : cuLaunchHostFunc(stream, run, t);
	// By its device address: the bytes are not there yet when the copy is queued.
	if (!r && written)
		r = cuMemcpyDtoDAsync(out->from, (CUdeviceptr)(uintptr_t)out->bytes, written, stream);
	return r ? r : cuLaunchHostFunc(stream, finish, t);
}

API cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params, void **extra) {
	struct CUmod_st *m = (struct CUmod_st *)f;
	if (!m || extra || shared || !gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || (m->kernel.params && !params))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = collect(m);
	if (r)
		return r;
	struct task *t = calloc(1, sizeof *t);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->kernel = &m->kernel;
	t->launch = (struct launch){.grid = {gx, gy, gz}, .block = {bx, by, bz}};
	for (int i = 0; i < m->kernel.params; i++)
		memcpy(&t->launch.param[i], params[i], sizeof t->launch.param[i]);
	// Which memory it touches must be known first, and must not hang on what is in it.
	struct range *out = &t->launch.write;
	if (!ptx_run(t->kernel, &t->launch) || out->touches != out->to - out->from) {
		fprintf(stderr, "simulated: %s does not end, or writes other than each byte of one range once\n", m->kernel.name);
		free(t);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	t->next = m->tasks;
	m->tasks = t;
	r = enqueue(t, stream);
	if (r)
		t->done = true; // as far as it came, which is nothing where it matters: a mistake in a test
	return r;
}

// What cu.MakeStream calls.
API cuStreamCreate(CUstream *out, unsigned flags) { return cuStreamCreateWithPriority(out, flags, 0); }
