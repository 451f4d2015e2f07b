// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Programs without a mistake, which must not be blamed for one.
#include "program.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void whole(void) {
	init();
	struct memory a = make(), b = make();
	unsigned char *in = host(7), *out = host(0);
	CUstream s = stream(), t = stream();
	CUevent e = event();
	for (int i = 0; i < 20; i++) {
		memset(in, i, SOME);
		DO(cuMemcpyHtoDAsync_v2(a.at, in, SOME, s));
		DO(cuEventRecord(e, s));
		DO(cuStreamWaitEvent(t, e, 0));
		DO(cuMemcpyDtoDAsync_v2(b.at + MIB2 - SOME, a.at, SOME, t));
		DO(cuMemcpyDtoHAsync_v2(out, b.at + MIB2 - SOME, SOME, t));
		DO(cuEventRecord(e, t));
		CUresult r;
		while ((r = cuEventQuery(e)) == NOT_READY)
			usleep(200);
		DO(r);
		for (int k = 0; k < SOME; k++)
			CHECK(out[k] == i);
	}
	DO(cuEventDestroy_v2(e));
	DO(cuStreamDestroy_v2(s));
	DO(cuStreamDestroy_v2(t));
	DO(cuMemFreeHost(in));
	DO(cuMemFreeHost(out));
	give_back(a);
	give_back(b);
	end();
}

// pitched copies a rectangle out of the middle, by rows.
static void pitched(void) {
	init();
	struct memory m = make();
	unsigned char *in = host(0), *out = host(0);
	for (int i = 0; i < SOME; i++)
		in[i] = (unsigned char)(i * 31 >> 3);
	CUstream s = stream();
	CUDA_MEMCPY2D c = {.srcMemoryType = MEM_HOST, .srcHost = in, .srcPitch = 640, .srcXInBytes = 40, .srcY = 3, .dstMemoryType = MEM_DEVICE,
		.dstDevice = m.at, .dstPitch = 1024, .WidthInBytes = 500, .Height = 100};
	DO(cuMemcpy2DAsync_v2(&c, s));
	DO(cuMemcpyDtoHAsync_v2(out, m.at, 1024 * 100, s));
	DO(cuStreamSynchronize(s));
	for (int y = 0; y < 100; y++)
		CHECK(!memcmp(out + y * 1024, in + (y + 3) * 640 + 40, 500));
	DO(cuStreamDestroy_v2(s));
	DO(cuMemFreeHost(in));
	DO(cuMemFreeHost(out));
	give_back(m);
	end();
}

// registered uses memory of the program itself, read-only as well.
static void registered(void) {
	init();
	struct memory m = make();
	int fd = memfd_create("ring", MFD_CLOEXEC);
	CHECK(ftruncate(fd, SOME) == 0);
	unsigned char *w = mmap(NULL, SOME, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *r = mmap(NULL, SOME, PROT_READ, MAP_SHARED, fd, 0);
	DO(cuMemHostRegister_v2(w, SOME, REGISTER_PORTABLE));
	DO(cuMemHostRegister_v2(r, SOME, REGISTER_PORTABLE | REGISTER_READ_ONLY));
	CUstream s = stream();
	memset(w, 9, SOME);
	DO(cuMemcpyHtoDAsync_v2(m.at, r, SOME, s));
	DO(cuStreamSynchronize(s));
	memset(w, 0, SOME);
	DO(cuMemcpyDtoHAsync_v2(w, m.at, SOME, s));
	DO(cuStreamSynchronize(s));
	CHECK(r[SOME - 1] == 9);
	DO(cuMemHostUnregister(w));
	DO(cuMemHostUnregister(r));
	DO(cuStreamDestroy_v2(s));
	give_back(m);
	end();
}

// other_process is told by a pipe when the memory is ready, as a good reader.
static void other_process(void) {
	int ready[2], done[2], memory[2];
	CHECK(pipe(ready) == 0 && pipe(done) == 0 && pipe(memory) == 0);
	char c;
	pid_t pid = fork(); // before the driver is initialised
	if (!pid) {
		init();
		// The descriptor by way of /proc: the same open file.
		char path[64];
		CHECK(read(memory[0], path, sizeof path) == sizeof path);
		int fd = -1;
		FILE *f = fopen(path, "r+");
		CHECK(f != NULL);
		fd = fileno(f);
		struct memory m = import(fd, ACCESS_READ);
		fclose(f);
		unsigned char *out = host(0);
		CUstream s = stream();
		for (int i = 1; i < 20; i++) {
			CHECK(read(ready[0], &c, 1) == 1);
			DO(cuMemcpyDtoHAsync_v2(out, m.at, SOME, s));
			DO(cuStreamSynchronize(s));
			for (int k = 0; k < SOME; k++)
				CHECK(out[k] == i);
			CHECK(write(done[1], "", 1) == 1);
		}
		DO(cuStreamDestroy_v2(s));
		DO(cuMemFreeHost(out));
		give_back(m);
		end();
		exit(0);
	}
	init();
	struct memory m = make();
	CUstream s = stream();
	int fd = export(m);
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
	CHECK(write(memory[1], path, sizeof path) == sizeof path);
	for (int i = 1; i < 20; i++) {
		DO(cuMemsetD8Async(m.at, (unsigned char)i, SOME, s));
		DO(cuStreamSynchronize(s));
		CHECK(write(ready[1], "", 1) == 1);
		CHECK(read(done[0], &c, 1) == 1);
	}
	int status;
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	close(fd);
	DO(cuStreamDestroy_v2(s));
	give_back(m);
	end();
}

// threads use the driver from several threads at once.
static void *thread(void *arg) {
	CUcontext c;
	DO(cuDevicePrimaryCtxRetain(&c, 0));
	DO(cuCtxSetCurrent(c));
	struct memory m = make();
	CUstream s = stream();
	CUevent e = event();
	unsigned char *h = host(0);
	for (int i = 0; i < 20; i++) {
		DO(cuMemsetD8Async(m.at, (unsigned char)(i + (intptr_t)arg), SOME, s));
		DO(cuMemcpyDtoHAsync_v2(h, m.at, SOME, s));
		DO(cuEventRecord(e, s));
		DO(cuEventSynchronize(e));
		CHECK(h[SOME / 2] == (unsigned char)(i + (intptr_t)arg));
	}
	DO(cuMemFreeHost(h));
	DO(cuEventDestroy_v2(e));
	DO(cuStreamDestroy_v2(s));
	give_back(m);
	DO(cuCtxSetCurrent(NULL));
	DO(cuDevicePrimaryCtxRelease_v2(0));
	return NULL;
}

static void threads(void) {
	DO(cuInit(0));
	pthread_t t[6];
	for (intptr_t i = 0; i < 6; i++)
		CHECK(pthread_create(&t[i], NULL, thread, (void *)(i * 40)) == 0);
	for (int i = 0; i < 6; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

// survives reads memory whose exporter is dead.
static void survives(void) {
	int path_pipe[2];
	CHECK(pipe(path_pipe) == 0);
	pid_t pid = fork();
	char path[64];
	if (!pid) {
		init();
		struct memory m = make();
		CUstream s = stream();
		DO(cuMemsetD8Async(m.at, 42, MIB2, s));
		DO(cuStreamSynchronize(s));
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), export(m));
		CHECK(write(path_pipe[1], path, sizeof path) == sizeof path);
		pause();
	}
	init();
	CHECK(read(path_pipe[0], path, sizeof path) == sizeof path);
	FILE *f = fopen(path, "r+");
	CHECK(f != NULL);
	struct memory m = import(fileno(f), ACCESS_READ);
	fclose(f);
	CHECK(kill(pid, 9) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
	unsigned char *h = host(0);
	CUstream s = stream();
	DO(cuMemcpyDtoHAsync_v2(h, m.at, SOME, s));
	DO(cuStreamSynchronize(s));
	CHECK(h[0] == 42 && h[SOME - 1] == 42);
	size_t available, total;
	DO(cuMemGetInfo_v2(&available, &total));
	CHECK(total - available == MIB2);
	DO(cuMemFreeHost(h));
	DO(cuStreamDestroy_v2(s));
	give_back(m);
	DO(cuMemGetInfo_v2(&available, &total));
	CHECK(total == available);
	end();
}

static void names(void) {
	void *f = NULL;
	int status = -1;
	DO(cuGetProcAddress_v2("cuMemAlloc", &f, 13000, 0, &status));
	CHECK(f == (void *)(uintptr_t)cuMemAlloc_v2 && status == 0);
	DO(cuGetProcAddress_v2("cuMemCreate", &f, 10000, 0, &status));
	CHECK(f == NULL && status == 2);
	DO(cuGetProcAddress_v2("cuNoSuchThing", &f, 13000, 0, &status));
	CHECK(f == NULL && status == 1);
	EXPECT(INVALID_VALUE, cuGetProcAddress_v2("cuMemAlloc", &f, 13010, 0, &status));
}

const struct program right[] = {
	{"whole", whole}, {"pitched", pitched}, {"registered", registered}, {"other-process", other_process},
	{"threads", threads}, {"survives", survives}, {"names", names}, {NULL, NULL},
};
