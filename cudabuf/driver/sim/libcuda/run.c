// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// The run directory:
//
//	proc-PID-KEY     the counts of a process; locked while the process lives
//	mem-GPU-BYTES-ID memory; locked while a handle, a descriptor or a mapping
//	                 of any process holds it, one in flight included
//	gpu-N            locked by the one process that has an exclusive GPU
//	control          the plan of failures given at run time
//	reports.jsonl    broken rules
//
// The locks are flock's: they belong to the open file, which duplicated and
// passed descriptors and mappings share, and end with the last of them.
#include "sim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

// page is the content of proc-PID-KEY. sim/process.go reads it.
struct page {
	u32 magic, pid;
	_Atomic(int32_t) counts[16];
	struct {
		char name[56];
		_Atomic(u64) calls;
	} functions[MAX_FUNCTIONS];
};

// control is the content of the file control. sim/control.go writes it.
struct control {
	_Atomic(u32) generation;
	char plan[PAGE - 4];
};

enum { PAGE_MAGIC = 0x4d495343 };

static struct page *page;
static struct control *control;
static _Atomic(int) functions;
static int gpu_fd[MAX_DEVICES];
static u64 process;
static _Atomic(u32) serial;

static void path_of(char *path, size_t n, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void path_of(char *path, size_t n, const char *format, ...) {
	va_list args;
	int used = snprintf(path, n, "%s/", conf.dir);
	va_start(args, format);
	vsnprintf(path + used, n - (size_t)used, format, args);
	va_end(args);
}

static void *map_file(const char *path, size_t bytes, bool locked) {
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	fchmod(fd, 0666);
	struct stat st;
	void *p = MAP_FAILED;
	if ((!locked || flock(fd, LOCK_EX) == 0) && fstat(fd, &st) == 0 &&
	    ((size_t)st.st_size >= bytes || ftruncate(fd, (off_t)bytes) == 0))
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd); // the mapping keeps the lock
	return p == MAP_FAILED ? NULL : p;
}

int run_open(void) {
	char path[2300];
	if (mkdir(conf.dir, 0777) == 0)
		chmod(conf.dir, 0777);
	if (getrandom(&process, sizeof process, 0) != sizeof process || !process)
		process = now_ns() | 1;
	path_of(path, sizeof path, "proc-%d-%016" PRIx64, (int)getpid(), process);
	page = map_file(path, sizeof *page, true);
	path_of(path, sizeof path, "control");
	control = map_file(path, sizeof *control, false);
	if (!page || !control) {
		fprintf(stderr, "cudasim: run directory %s: %s\n", conf.dir, strerror(errno));
		page = NULL;
		return -1;
	}
	page->pid = (u32)getpid();
	page->magic = PAGE_MAGIC;
	return 0;
}

u64 run_process(void) { return process; }

void run_count(enum count what, int by) {
	if (page)
		atomic_fetch_add(&page->counts[what], by);
}

void run_call(struct function *f) {
	if (!page)
		return;
	int i = atomic_load(&f->index);
	if (!i) {
		lock();
		i = atomic_load(&f->index);
		if (!i && (i = atomic_load(&functions)) < MAX_FUNCTIONS) {
			snprintf(page->functions[i].name, sizeof page->functions[i].name, "%s", f->name);
			atomic_store(&functions, ++i);
			atomic_store(&f->index, i);
		}
		unlock();
	}
	if (i > 0 && i <= MAX_FUNCTIONS)
		atomic_fetch_add(&page->functions[i - 1].calls, 1);
}

const char *run_control(u32 *seen) {
	if (!control)
		return NULL;
	u32 g = atomic_load(&control->generation);
	if (g == *seen)
		return NULL;
	*seen = g;
	return control->plan;
}

// nobody_holds is whether a file lost the last holder of its lock.
static bool nobody_holds(const char *path) {
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	bool nobody = flock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	return nobody;
}

bool run_process_alive(u64 who) {
	char path[2300], end[24];
	snprintf(end, sizeof end, "-%016" PRIx64, who);
	DIR *d = opendir(conf.dir);
	if (!d)
		return true;
	bool alive = false;
	for (struct dirent *e; (e = readdir(d));) {
		size_t n = strlen(e->d_name);
		if (n < 17 || strncmp(e->d_name, "proc-", 5) || strcmp(e->d_name + n - 17, end))
			continue;
		path_of(path, sizeof path, "%s", e->d_name);
		alive = !nobody_holds(path);
		break;
	}
	closedir(d);
	return alive;
}

int run_create(u64 bytes, u64 extra, int gpu, u64 *id) {
	char path[2300], final[2300];
	*id = process ^ (u64)(atomic_fetch_add(&serial, 1) + 1) * 0x9e3779b97f4a7c15u;
	path_of(path, sizeof path, "new-%016" PRIx64, *id);
	path_of(final, sizeof final, "mem-%d-%" PRIu64 "-%016" PRIx64, gpu, bytes, *id);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -1;
	fchmod(fd, 0666);
	if (flock(fd, LOCK_SH) || posix_fallocate(fd, 0, (off_t)(bytes + extra)) || rename(path, final)) {
		unlink(path);
		close(fd);
		return -1;
	}
	return fd;
}

// run_reopen opens memory anew, held by a lock of its own; -1 where it is gone.
int run_reopen(u64 bytes, int gpu, u64 id, int flags) {
	char path[2300];
	path_of(path, sizeof path, "mem-%d-%" PRIu64 "-%016" PRIx64, gpu, bytes, id);
	int fd = open(path, flags);
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB)) {
		close(fd);
		return -1;
	}
	return fd;
}

// run_used removes the memory that nobody holds, and adds up the rest.
u64 run_used(int gpu) {
	DIR *d = opendir(conf.dir);
	if (!d)
		return 0;
	u64 used = 0;
	for (struct dirent *e; (e = readdir(d));) {
		int on;
		u64 bytes, id;
		char path[2300];
		if (sscanf(e->d_name, "mem-%d-%" SCNu64 "-%" SCNx64, &on, &bytes, &id) != 3)
			continue;
		path_of(path, sizeof path, "%s", e->d_name);
		if (nobody_holds(path))
			unlink(path);
		else if (on == gpu)
			used += bytes;
	}
	closedir(d);
	return used;
}

bool run_claim_gpu(int gpu) {
	char path[2300];
	path_of(path, sizeof path, "gpu-%d", gpu);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return true;
	fchmod(fd, 0666);
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return false;
	}
	gpu_fd[gpu] = fd;
	return true;
}

void run_disclaim_gpu(int gpu) {
	if (gpu_fd[gpu] > 0)
		close(gpu_fd[gpu]);
	gpu_fd[gpu] = 0;
}

// at_end tells what is left when the program ends by exit. One that ends
// otherwise leaves the counts in its file.
__attribute__((destructor)) static void at_end(void) {
	static const char *const what[COUNTS] = {"contexts", "streams", "events", "handles of memory", "reservations of addresses", "mappings",
		"pieces of device memory", "host allocations", "registrations of host memory"};
	char left[512] = "";
	if (!page || page->pid != (u32)getpid())
		return;
	for (size_t i = 0, n = 0; i < COUNTS && n < sizeof left; i++) {
		int count = atomic_load(&page->counts[i]);
		if (count)
			n += (size_t)snprintf(left + n, sizeof left - n, "%s%d %s", n ? ", " : "", count, what[i]);
	}
	if (*left && !lost())
		report("S38", "exit", "left: %s", left);
}
