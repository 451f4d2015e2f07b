/* SPDX-FileCopyrightText: The camd authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * baseline.c: the floor that camd's path over memory of a GPU is held against.
 * Two processes, and between them nothing but what it takes: the first copies a
 * frame from pinned memory to the GPU, waits until it is there and wakes the
 * second, which has the GPU read all of it, by a copy within its memory.
 *
 *     baseline --library FILE --bytes N --frames N --interval-us N [--open]
 *
 * The memory is shared as a file descriptor and imported once; with --open it is
 * imported and given back for every frame. Prints a line for each frame,
 * nanoseconds of CLOCK_MONOTONIC:
 *
 *     sequence,ready,publish,held,consumed
 *
 * Structures and values are those of cuda.h (CUDA 11.0 to 13).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 4, NON_BLOCKING = 1, DISABLE_TIMING = 2, NOT_READY = 600 };

/* CUmemAllocationProp and CUmemAccessDesc. */
struct property {
	int type, handles, location, device;
	void *windows;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char reserved[4];
};
struct access {
	int location, device, flags;
};

#define FUNCTIONS(F) \
	F(cuInit, (unsigned)) \
	F(cuDeviceGet, (int *, int)) \
	F(cuDevicePrimaryCtxRetain, (void **, int)) \
	F(cuDevicePrimaryCtxRelease_v2, (int)) \
	F(cuCtxSetCurrent, (void *)) \
	F(cuStreamCreateWithPriority, (void **, unsigned, int)) \
	F(cuStreamDestroy_v2, (void *)) \
	F(cuEventCreate, (void **, unsigned)) \
	F(cuEventRecord, (void *, void *)) \
	F(cuEventQuery, (void *)) \
	F(cuEventDestroy_v2, (void *)) \
	F(cuMemAlloc_v2, (uint64_t *, size_t)) \
	F(cuMemFree_v2, (uint64_t)) \
	F(cuMemHostAlloc, (void **, size_t, unsigned)) \
	F(cuMemFreeHost, (void *)) \
	F(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
	F(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *)) \
	F(cuMemcpyDtoDAsync_v2, (uint64_t, uint64_t, size_t, void *)) \
	F(cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *)) \
	F(cuMemGetAllocationGranularity, (size_t *, const struct property *, int)) \
	F(cuMemCreate, (uint64_t *, size_t, const struct property *, uint64_t)) \
	F(cuMemRelease, (uint64_t)) \
	F(cuMemAddressReserve, (uint64_t *, size_t, size_t, uint64_t, uint64_t)) \
	F(cuMemAddressFree, (uint64_t, size_t)) \
	F(cuMemMap, (uint64_t, size_t, size_t, uint64_t, uint64_t)) \
	F(cuMemUnmap, (uint64_t, size_t)) \
	F(cuMemSetAccess, (uint64_t, size_t, const struct access *, size_t)) \
	F(cuMemExportToShareableHandle, (void *, uint64_t, int, uint64_t)) \
	F(cuMemImportFromShareableHandle, (uint64_t *, void *, int))

static struct {
#define F(name, arguments) int(*name) arguments;
	FUNCTIONS(F)
#undef F
} cu;

/* What both processes see. */
struct board {
	_Atomic uint32_t published, consumed; /* sequence numbers */
	_Atomic int64_t ready[SLOTS], publish[SLOTS];
};

static struct board *board;
static const char *who = "writer";
static size_t size, bytes; /* of an allocation, of a frame */
static int device;
static void *context, *stream, *event;

static void die(const char *call, int code)
{
	fprintf(stderr, "baseline: %s: %s: error %d\n", who, call, code);
	_exit(1);
}

#define CU(call, ...) \
	do { \
		int code_ = cu.call(__VA_ARGS__); \
		if (code_ != 0) \
			die(#call, code_); \
	} while (0)

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void open_driver(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *address;
	if (library == NULL) {
		fprintf(stderr, "baseline: %s\n", dlerror());
		_exit(1);
	}
#define F(name, arguments) \
	if ((address = dlsym(library, #name)) == NULL) { \
		fprintf(stderr, "baseline: no %s in %s\n", #name, path); \
		_exit(1); \
	} \
	memcpy(&cu.name, &address, sizeof address);
	FUNCTIONS(F)
#undef F
	CU(cuInit, 0);
	CU(cuDeviceGet, &device, 0);
	CU(cuDevicePrimaryCtxRetain, &context, device);
	CU(cuCtxSetCurrent, context);
	CU(cuStreamCreateWithPriority, &stream, NON_BLOCKING, 0);
	CU(cuEventCreate, &event, DISABLE_TIMING);
}

static void close_driver(void)
{
	CU(cuEventDestroy_v2, event);
	CU(cuStreamDestroy_v2, stream);
	CU(cuCtxSetCurrent, NULL);
	CU(cuDevicePrimaryCtxRelease_v2, device);
}

/* Waits for all that is in the stream, awake: nothing is quicker. */
static void finish(void)
{
	int code;
	CU(cuEventRecord, event, stream);
	while ((code = cu.cuEventQuery(event)) == NOT_READY)
		;
	if (code != 0)
		die("cuEventQuery", code);
}

static uint64_t map(uint64_t handle)
{
	struct access access = {.location = 1, .device = device, .flags = 3}; /* CU_MEM_LOCATION_TYPE_DEVICE, read and write */
	uint64_t at;
	CU(cuMemAddressReserve, &at, size, 0, 0, 0);
	CU(cuMemMap, at, size, 0, handle, 0);
	CU(cuMemRelease, handle);
	CU(cuMemSetAccess, at, size, &access, 1);
	return at;
}

static void unmap(uint64_t at)
{
	CU(cuMemUnmap, at, size);
	CU(cuMemAddressFree, at, size);
}

static uint64_t import(int fd)
{
	uint64_t handle;
	CU(cuMemImportFromShareableHandle, &handle, (void *)(intptr_t)fd, 1); /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
	return map(handle);
}

/* ---- Descriptors through a socket ---- */

union control {
	char room[CMSG_SPACE(SLOTS * sizeof(int))];
	struct cmsghdr align;
};

static void send_fds(int to, const int *fds)
{
	union control control;
	struct iovec one = {.iov_base = &size, .iov_len = sizeof size};
	struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	memset(&control, 0, sizeof control);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(SLOTS * sizeof(int));
	memcpy(CMSG_DATA(c), fds, SLOTS * sizeof(int));
	if (sendmsg(to, &m, 0) != sizeof size)
		die("sendmsg", 0);
}

static void receive_fds(int from, int *fds)
{
	union control control;
	struct iovec one = {.iov_base = &size, .iov_len = sizeof size};
	struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) != sizeof size || CMSG_FIRSTHDR(&m) == NULL)
		die("recvmsg", 0);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), SLOTS * sizeof(int));
}

/* ---- The two processes ---- */

static void write_frames(int to, unsigned frames, int64_t interval)
{
	struct property property = {.type = 1, .handles = 1, .location = 1, .device = device};
	size_t step;
	uint64_t at[SLOTS];
	int fds[SLOTS];
	void *host;
	CU(cuMemGetAllocationGranularity, &step, &property, 0);
	size = (bytes + step - 1) / step * step;
	for (int i = 0; i < SLOTS; i++) {
		uint64_t handle;
		CU(cuMemCreate, &handle, size, &property, 0);
		CU(cuMemExportToShareableHandle, &fds[i], handle, 1, 0);
		if (fcntl(fds[i], F_SETFD, FD_CLOEXEC) != 0)
			die("fcntl", 0);
		at[i] = map(handle);
		CU(cuMemsetD8Async, at[i], 0, size, stream);
	}
	finish();
	CU(cuMemHostAlloc, &host, bytes, 0);
	memset(host, 0x5a, bytes);
	send_fds(to, fds);
	char up; /* the reader is ready */
	if (read(to, &up, 1) != 1)
		die("read", 0);
	int64_t next = now();
	uint32_t n = 1; /* of the frame; those that are dropped have none */
	for (unsigned tries = 0; n <= frames && tries < 8 * frames; tries++) {
		struct timespec t;
		next += interval;
		t.tv_sec = next / 1000000000;
		t.tv_nsec = next % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		if (n - atomic_load(&board->consumed) > SLOTS - 1)
			continue; /* the reader has them all: this one is dropped, as camd does */
		memcpy(host, &n, sizeof n);
		int64_t ready = now();
		CU(cuMemcpyHtoDAsync_v2, at[n % SLOTS], host, bytes, stream);
		finish();
		atomic_store(&board->ready[n % SLOTS], ready);
		atomic_store(&board->publish[n % SLOTS], now());
		atomic_store(&board->published, n);
		syscall(SYS_futex, &board->published, FUTEX_WAKE, 1, NULL, NULL, 0);
		n++;
	}
	atomic_store(&board->published, UINT32_MAX);
	syscall(SYS_futex, &board->published, FUTEX_WAKE, 1, NULL, NULL, 0);
	if (read(to, &up, 1) != 1) /* the reader has let go of all */
		die("read", 0);
	for (int i = 0; i < SLOTS; i++) {
		unmap(at[i]);
		close(fds[i]);
	}
	CU(cuMemFreeHost, host);
}

struct line {
	uint32_t sequence;
	int64_t ready, publish, held, consumed;
};

static void read_frames(int from, unsigned frames, bool every)
{
	int fds[SLOTS];
	uint64_t at[SLOTS], scratch;
	uint32_t *number, last = 0;
	void *host;
	struct line *lines = calloc(frames + 1, sizeof *lines);
	unsigned n = 0;
	if (lines == NULL)
		die("calloc", 0);
	receive_fds(from, fds);
	for (int i = 0; i < SLOTS && !every; i++)
		at[i] = import(fds[i]);
	CU(cuMemAlloc_v2, &scratch, bytes);
	CU(cuMemHostAlloc, &host, sizeof *number, 0);
	number = host;
	if (write(from, "", 1) != 1)
		die("write", 0);
	for (;;) {
		uint32_t published;
		while ((published = atomic_load(&board->published)) == last)
			syscall(SYS_futex, &board->published, FUTEX_WAIT, last, NULL, NULL, 0);
		if (published == UINT32_MAX)
			break;
		int slot = published % SLOTS;
		struct line *l = &lines[n++];
		*l = (struct line){.sequence = published, .ready = atomic_load(&board->ready[slot]), .publish = atomic_load(&board->publish[slot])};
		uint64_t frame = every ? import(fds[slot]) : at[slot];
		l->held = now();
		CU(cuMemcpyDtoDAsync_v2, scratch, frame, bytes, stream);
		finish();
		l->consumed = now();
		CU(cuMemcpyDtoHAsync_v2, number, scratch, sizeof *number, stream);
		finish();
		if (every)
			unmap(frame);
		if (*number != published) {
			fprintf(stderr, "baseline: frame %u has the number %u\n", published, *number);
			_exit(1);
		}
		atomic_store(&board->consumed, published);
		last = published;
	}
	for (int i = 0; i < SLOTS; i++) {
		if (!every)
			unmap(at[i]);
		close(fds[i]);
	}
	CU(cuMemFree_v2, scratch);
	CU(cuMemFreeHost, host);
	if (write(from, "", 1) != 1)
		die("write", 0);
	printf("sequence,ready,publish,held,consumed\n");
	for (unsigned i = 0; i < n; i++)
		printf("%u,%lld,%lld,%lld,%lld\n", lines[i].sequence, (long long)lines[i].ready, (long long)lines[i].publish,
			(long long)lines[i].held, (long long)lines[i].consumed);
	free(lines);
}

int main(int argc, char **argv)
{
	const char *library = "libcuda.so.1";
	unsigned frames = 300;
	int64_t interval = 10000000;
	bool every = false;
	bytes = 1920 * 1080 * 3;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--open") == 0)
			every = true;
		else if (i + 1 < argc && strcmp(argv[i], "--library") == 0)
			library = argv[++i];
		else if (i + 1 < argc && strcmp(argv[i], "--bytes") == 0)
			bytes = strtoul(argv[++i], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "--frames") == 0)
			frames = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "--interval-us") == 0)
			interval = (int64_t)strtoul(argv[++i], NULL, 10) * 1000;
		else {
			fprintf(stderr, "usage: baseline [--library FILE] [--bytes N] [--frames N] [--interval-us N] [--open]\n");
			return 2;
		}
	}
	if (bytes < sizeof(uint32_t) || frames == 0 || interval <= 0)
		return 2;
	int pair[2];
	board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		die("socketpair", 0);
	/* Before the driver is there: it does not survive a fork. */
	pid_t writer = fork();
	if (writer < 0)
		die("fork", 0);
	if (writer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		open_driver(library);
		write_frames(pair[1], frames, interval);
		close_driver();
		_exit(0);
	}
	who = "reader";
	close(pair[1]);
	open_driver(library);
	read_frames(pair[0], frames, every);
	close_driver();
	int status;
	if (waitpid(writer, &status, 0) != writer || status != 0) {
		fprintf(stderr, "baseline: the writer failed\n");
		return 1;
	}
	return 0;
}
