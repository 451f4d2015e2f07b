// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// What every call passes first, and contexts: the primary one of each device,
// bound to threads of the operating system one by one.
#include "sim.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_CONTEXTS = 4096, DEPTH = 16 };

pthread_mutex_t G = PTHREAD_MUTEX_INITIALIZER;

static struct context contexts[MAX_CONTEXTS]; // each used once: an old one stays recognisable
static int ncontexts;
static struct context *primary[MAX_DEVICES];

static _Atomic(int) initialized; // 1 once cuInit has returned 0
static _Atomic(bool) forked;
static _Atomic(CUresult) lost_code;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;
static _Atomic(u32) control_seen;

static __thread struct {
	struct context *stack[DEPTH]; // stack[depth] is current
	int depth, tid, exported;
	ino_t exported_inode;
	bool in_callback;
	const char *call;
} thread;

const char *calling(void) { return thread.call ? thread.call : "worker"; }

int thread_id(void) {
	if (!thread.tid)
		thread.tid = (int)syscall(SYS_gettid);
	return thread.tid;
}

void thread_in_callback(bool in) { thread.in_callback = in; }

void thread_exported(int fd) {
	struct stat st;
	if (fstat(fd, &st))
		return;
	thread.exported = fd + 1;
	thread.exported_inode = st.st_ino;
}

static void in_child(void) {
	atomic_store(&forked, true);
	report_in_child();
}

static void thread_exit(void *bound) {
	(void)bound;
	for (int i = 0; i <= thread.depth; i++)
		if (thread.stack[i] && !thread.stack[i]->dead) {
			report("S3", "thread exit", "thread ends with a context bound: unbind it before the thread goes back");
			return;
		}
}

static void load(void) {
	conf_load();
	pthread_key_create(&at_exit, thread_exit);
	pthread_atfork(NULL, NULL, in_child);
}

CUresult lost(void) { return atomic_load(&lost_code); }

void lose(CUresult code) {
	CUresult none = OK;
	atomic_compare_exchange_strong(&lost_code, &none, code);
}

struct context *current(void) { return thread.stack[thread.depth]; }

CUresult leave(void) { return lost(); }

void plan_at_run_time(void) {
	u32 seen = atomic_load(&control_seen), was = seen;
	const char *plan = run_control(&seen);
	if (plan && atomic_compare_exchange_strong(&control_seen, &was, seen))
		fault_load(plan);
}

CUresult enter(struct function *f, enum need need) {
	pthread_once(&once, load);
	thread.call = f->name;
	if (atomic_load(&forked)) {
		report("S34", f->name, "called in a child of fork: CUDA does not survive it");
		return NOT_INITIALIZED;
	}
	if (need >= NEED_INIT && atomic_load(&initialized) != 1) {
		report("S1", f->name, "called before cuInit has succeeded");
		return NOT_INITIALIZED;
	}
	run_call(f);
	plan_at_run_time();
	if (thread.in_callback) {
		report("S35", f->name, "called from a host function of a stream");
		return NOT_PERMITTED;
	}
	if (thread.exported) {
		struct stat st;
		int fd = thread.exported - 1, flags = fcntl(fd, F_GETFD);
		if (flags >= 0 && !(flags & FD_CLOEXEC) && fstat(fd, &st) == 0 && st.st_ino == thread.exported_inode)
			report("S28", f->name, "the descriptor exported before is not close-on-exec: a program started now gets it");
		thread.exported = 0;
	}
	CUresult code = fault_at_call(f->name);
	if (code)
		return code;
	if (need >= NEED_CONTEXT) {
		struct context *c = current();
		if (!c || c->dead) {
			report("S2", f->name, c ? "the context of this thread is destroyed" : "thread has no context");
			return INVALID_CONTEXT;
		}
		if (need == NEED_CONTEXT && lost())
			return lost();
	}
	return OK;
}

API cuInit(unsigned flags) {
	CALL(NEED_NOTHING);
	if (flags)
		return INVALID_VALUE;
	if (conf.init_code)
		return conf.init_code;
	if (!conf.devices)
		return NO_DEVICE;
	lock();
	bool first = !atomic_load(&initialized);
	if (first && run_open() == 0)
		atomic_store(&initialized, 1);
	unlock();
	if (atomic_load(&initialized) != 1)
		return OPERATING_SYSTEM;
	plan_at_run_time();
	return OK;
}

API cuDriverGetVersion(int *version) {
	CALL(NEED_NOTHING);
	if (!version)
		return INVALID_VALUE;
	*version = conf.version;
	return conf.init_code == STUB_LIBRARY ? STUB_LIBRARY : OK;
}

// context_of says whether a pointer from outside is a context of ours.
static struct context *context_of(CUcontext p) {
	struct context *c = (struct context *)p;
	return c >= contexts && c < contexts + ncontexts && (size_t)((char *)c - (char *)contexts) % sizeof *c == 0 ? c : NULL;
}

static CUresult bind(CUcontext p) {
	struct context *c = NULL;
	if (p) {
		lock();
		c = context_of(p);
		bool dead = !c || c->dead;
		unlock();
		if (dead) {
			report("S4", calling(), "no such context: destroyed with the last release of it, or never made");
			return INVALID_CONTEXT;
		}
	}
	thread.stack[thread.depth] = c;
	pthread_setspecific(at_exit, c || thread.depth ? &thread : NULL);
	return OK;
}

API cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
	CALL(NEED_INIT);
	if (!out)
		return INVALID_VALUE;
	if (!device_valid(device))
		return INVALID_DEVICE;
	if (lost())
		return lost();
	CUresult r = OK;
	lock();
	struct context *c = primary[device];
	if (!c) {
		if (conf.exclusive && !run_claim_gpu(conf.visible[device])) {
			r = DEVICE_UNAVAILABLE;
		} else if (ncontexts == MAX_CONTEXTS) {
			r = OUT_OF_MEMORY;
		} else {
			c = primary[device] = &contexts[ncontexts++];
			c->device = device;
			run_count(COUNT_CONTEXT, 1);
		}
	}
	if (c) {
		c->retained++;
		*out = (CUcontext)c;
	}
	unlock();
	cost_us(2000);
	return r;
}

API cuDevicePrimaryCtxRelease_v2(CUdevice device) {
	CALL(NEED_INIT);
	if (!device_valid(device))
		return INVALID_DEVICE;
	lock();
	struct context *c = primary[device];
	if (!c) {
		unlock();
		report("S4", calling(), "released more often than retained");
		return INVALID_CONTEXT;
	}
	if (--c->retained == 0) {
		context_drop(c); // may let go of G while streams finish
		c->dead = true;
		primary[device] = NULL;
		run_count(COUNT_CONTEXT, -1);
		run_disclaim_gpu(conf.visible[device]);
	}
	unlock();
	return leave();
}

void context_busy(struct context *c, const char *what, u32 n) {
	(void)c;
	if (n && !lost())
		report("S4", calling(), "the last release of the context destroys %u %s with it", n, what);
}

API cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
	CALL(NEED_INIT);
	if (!device_valid(device))
		return INVALID_DEVICE;
	return flags & ~0x9fu ? INVALID_VALUE : OK;
}

API cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
	CALL(NEED_INIT);
	if (!device_valid(device))
		return INVALID_DEVICE;
	if (!flags || !active)
		return INVALID_VALUE;
	lock();
	*flags = 0;
	*active = primary[device] != NULL;
	unlock();
	return OK;
}

API cuCtxSetCurrent(CUcontext c) {
	CALL(NEED_INIT);
	return bind(c);
}

API cuCtxGetCurrent(CUcontext *out) {
	CALL(NEED_INIT);
	if (!out)
		return INVALID_VALUE;
	*out = (CUcontext)current();
	return OK;
}

API cuCtxPushCurrent_v2(CUcontext c) {
	CALL(NEED_INIT);
	if (!c || thread.depth + 1 == DEPTH)
		return INVALID_VALUE;
	thread.depth++;
	CUresult r = bind(c);
	if (r)
		thread.depth--;
	return r;
}

API cuCtxPopCurrent_v2(CUcontext *out) {
	CALL(NEED_INIT);
	struct context *c = current();
	if (!c)
		return INVALID_CONTEXT;
	if (out)
		*out = (CUcontext)c;
	if (thread.depth)
		thread.depth--;
	else
		thread.stack[0] = NULL;
	pthread_setspecific(at_exit, current() || thread.depth ? &thread : NULL);
	return OK;
}

API cuCtxGetDevice(CUdevice *out) {
	CALL(NEED_CONTEXT);
	if (!out)
		return INVALID_VALUE;
	*out = current()->device;
	return OK;
}

API cuCtxSynchronize(void) {
	CALL(NEED_CONTEXT);
	lock();
	while (!streams_drain(current()) && !lost())
		plan_at_run_time();
	if (!lost())
		race_observe_all(current());
	unlock();
	return leave();
}

API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
	CALL(NEED_CONTEXT);
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return OK;
}

// cudasim_thread_unbound is for tests: 0 unless the calling thread has a
// context bound, which is reported.
API cudasim_thread_unbound(void) {
	for (int i = 0; i <= thread.depth; i++)
		if (thread.stack[i] && !thread.stack[i]->dead) {
			report("S3", __func__, "an ordinary thread has a context bound");
			return INVALID_CONTEXT;
		}
	return OK;
}
