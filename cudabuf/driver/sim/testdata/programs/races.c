// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Missing order, within a process and between two.
#include "program.h"

#include <sys/wait.h>

static void no_wait(void) {
	init();
	struct memory m = make();
	CUstream s = stream(), t = stream();
	DO(cuMemsetD8Async(m.at, 1, SOME, s));
	DO(cuMemcpyDtoHAsync_v2(host(0), m.at, SOME, t));
	DO(cuCtxSynchronize());
}

// late_record publishes an event that was recorded before the copy.
static void late_record(void) {
	init();
	struct memory m = make();
	CUstream s = stream(), t = stream();
	CUevent e = event();
	DO(cuEventRecord(e, s));
	DO(cuMemsetD8Async(m.at, 1, SOME, s));
	DO(cuStreamWaitEvent(t, e, 0));
	DO(cuMemcpyDtoHAsync_v2(host(0), m.at, SOME, t));
	DO(cuCtxSynchronize());
}

static void same_target(void) {
	init();
	struct memory m = make();
	CUstream s = stream(), t = stream();
	DO(cuMemsetD8Async(m.at, 1, SOME, s));
	DO(cuMemsetD8Async(m.at + SOME - 1, 2, SOME, t));
	DO(cuCtxSynchronize());
}

// host_shared lets two streams write the same host memory.
static void host_shared(void) {
	init();
	struct memory m = make();
	unsigned char *h = host(0);
	DO(cuMemcpyDtoHAsync_v2(h, m.at, SOME, stream()));
	DO(cuMemcpyDtoHAsync_v2(h, m.at, SOME, stream()));
	DO(cuCtxSynchronize());
}

// torn looks at bytes before it waits: under delays it must see wrong ones.
static void torn(void) {
	init();
	struct memory m = make();
	unsigned char *h = host(0);
	CUstream s = stream();
	DO(cuMemsetD8Async(m.at, 1, SOME, s));
	DO(cuStreamSynchronize(s));
	int whole = 0, old = 0, part = 0;
	for (int i = 0; i < 40; i++) {
		memset(h, 0, SOME);
		DO(cuMemcpyDtoHAsync_v2(h, m.at, SOME, s));
		for (int k = 0; k < 50; k++) {
			bool first = *(volatile unsigned char *)h, last = *(volatile unsigned char *)(h + SOME - 1);
			whole += first && last;
			old += !first && !last;
			part += first && !last;
			usleep(100);
		}
		DO(cuStreamSynchronize(s));
	}
	CHECK(old > 0);
	CHECK(part > 0);
	CHECK(whole > 0);
}

// pair runs the two halves of a program in two processes that share memory;
// the second begins when the first says so, and the first ends when the
// second has.
static int wake[2], over[2];

static void tell(int *pipe) { CHECK(write(pipe[1], "", 1) == 1); }

static void wait_told(int *pipe) {
	char c;
	CHECK(read(pipe[0], &c, 1) == 1);
}

static void pair(void (*writer)(struct memory), void (*reader)(struct memory)) {
	int way[2];
	char path[64];
	CHECK(pipe(wake) == 0 && pipe(over) == 0 && pipe(way) == 0);
	pid_t pid = fork();
	init();
	if (!pid) {
		CHECK(read(way[0], path, sizeof path) == sizeof path);
		FILE *f = fopen(path, "r+");
		CHECK(f != NULL);
		reader(import(fileno(f), ACCESS_READ));
		_exit(0);
	}
	struct memory m = make();
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), export(m));
	CHECK(write(way[1], path, sizeof path) == sizeof path);
	writer(m);
	int status;
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void publishes_early(struct memory m) {
	CUstream s = stream();
	DO(cuMemsetD8Async(m.at, 1, SOME, s));
	tell(wake); // before it is known to be written
	wait_told(over);
	DO(cuStreamSynchronize(s));
}

static void reads(struct memory m) {
	CUstream s = stream();
	wait_told(wake);
	DO(cuMemcpyDtoHAsync_v2(host(0), m.at, SOME, s));
	tell(over);
	DO(cuStreamSynchronize(s));
}

static void early_publish(void) { pair(publishes_early, reads); }

static void releases_early(struct memory m) {
	CUstream s = stream();
	DO(cuMemcpyDtoHAsync_v2(host(0), m.at, SOME, s));
	tell(wake); // before it is known to be read
	wait_told(over);
	DO(cuStreamSynchronize(s));
}

static void reuses(struct memory m) {
	CUstream s = stream();
	wait_told(wake);
	DO(cuMemsetD8Async(m.at, 2, SOME, s));
	tell(over);
	DO(cuStreamSynchronize(s));
}

static void early_release(void) { pair(reuses, releases_early); }

static void dies(struct memory m) {
	DO(cuMemcpyDtoHAsync_v2(host(0), m.at, SOME, stream()));
	tell(wake);
	_exit(0);
}

static void goes_on(struct memory m) {
	CUstream s = stream();
	wait_told(wake);
	wait(NULL);
	DO(cuMemsetD8Async(m.at, 2, SOME, s));
	DO(cuStreamSynchronize(s));
	_exit(0);
}

// reader_dies is no mistake: the memory of a dead reader may be used again.
static void reader_dies(void) { pair(goes_on, dies); }

const struct program races[] = {
	{"missing-wait", no_wait}, {"record-before-copy", late_record}, {"two-writers", same_target}, {"host-shared", host_shared}, {"torn", torn},
	{"publish-before-completion", early_publish}, {"release-before-completion", early_release}, {"reader-dies", reader_dies}, {NULL, NULL},
};
