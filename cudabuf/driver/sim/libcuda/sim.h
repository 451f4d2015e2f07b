// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// What the files of the simulated driver share. One lock, G, guards every
// table of the process; copies run without it. What processes share lies in
// files of the run directory, and who is alive is told by locks on them, which
// the kernel drops with their holder however it dies.
#ifndef CUDASIM_SIM_H
#define CUDASIM_SIM_H

#include "abi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define API __attribute__((visibility("default"))) CUresult
#ifdef CUDASIM_OLD // a driver from before virtual memory management
#define NEW_API __attribute__((visibility("hidden"))) CUresult
#else
#define NEW_API API
#endif

enum {
	MAX_DEVICES = 4,
	MAX_STREAMS = 128,
	MAX_EVENTS = 4096,
	MAX_HANDLES = 4096,
	MAX_FUNCTIONS = 192,
	PAGE = 4096,
	GRANULE = 2 << 20, // bytes: of physical memory and of addresses
};

// conf.c: what the environment asks for.

enum delay { DELAY_NONE, DELAY_UNIFORM, DELAY_HEAVY, DELAY_HOLD };

struct conf {
	char dir[2048];
	u64 seed;
	enum delay delay;
	u32 delay_us; // the longest ordinary delay of an operation
	int version;
	int init_code;
	bool integrated, vmm, posix_fd, host_register, read_only_register;
	int legacy_code; // what the calls of legacy memory sharing return; 0: they work
	int export_code, import_code;
	bool exclusive, event_hang, pageable, cost, echo;
	int physical;              // GPUs of the machine
	int visible[MAX_DEVICES];  // ordinal to GPU of the machine
	int devices;               // how many are visible
	u64 total;                 // bytes of memory of each GPU
	u32 max_events, max_streams;
};

extern struct conf conf;
void conf_load(void);

// fault.c: failures by plan, from the environment or given at run time.

void fault_load(const char *plan);
CUresult fault_at_call(const char *name); // what the call must return, or 0
CUresult fault_at_operation(void);        // with what the operation breaks, or 0
bool fault_hang(void);
bool fault_out_of_memory(void);

// report.c

void report(const char *rule, const char *call, const char *format, ...) __attribute__((format(printf, 3, 4)));
void report_in_child(void);

// run.c: the run directory, this process in it, and memory over all processes.

enum count { COUNT_CONTEXT, COUNT_STREAM, COUNT_EVENT, COUNT_HANDLE, COUNT_RESERVATION, COUNT_MAPPING, COUNT_ALLOCATION, COUNT_HOST, COUNT_REGISTRATION, COUNTS };

struct function {
	const char *name;
	_Atomic(int) index; // in the page of the process, plus one
};

int run_open(void); // 0, or -1 without a usable run directory
void run_count(enum count what, int by);
void run_call(struct function *f);
const char *run_control(u32 *seen);             // the plan given at run time when it is new, else NULL
u64 run_process(void);                          // names this process among those of the run
bool run_process_alive(u64 process);
int run_create(u64 bytes, u64 extra, int gpu, u64 *id); // a locked file for memory, or -1
int run_reopen(u64 bytes, int gpu, u64 id, int flags);
u64 run_used(int gpu);                          // bytes alive on the GPU, over all processes
bool run_claim_gpu(int gpu);                    // false: another process has it
void run_disclaim_gpu(int gpu);

// context.c

struct context {
	int device, retained;
	_Atomic(bool) dead;
};

enum need { NEED_NOTHING, NEED_INIT, NEED_CONTEXT, NEED_CONTEXT_EVEN_LOST };

CUresult enter(struct function *f, enum need need);
CUresult leave(void); // 0, or the error that has made the GPU unusable
#define CALL(need) \
	static struct function function_ = {.name = __func__}; \
	CUresult entered_ = enter(&function_, need); \
	if (entered_) \
	return entered_
struct context *current(void);
const char *calling(void);    // the function of the API that this thread is in
int thread_id(void);
void thread_in_callback(bool in);
void thread_exported(int fd); // must be close-on-exec by the thread's next call
void lose(CUresult code);     // sticky
CUresult lost(void);
void plan_at_run_time(void);
void context_drop(struct context *c); // with G held: all that it holds
void context_busy(struct context *c, const char *what, u32 n);

extern pthread_mutex_t G;
static inline void lock(void) { pthread_mutex_lock(&G); }
static inline void unlock(void) { pthread_mutex_unlock(&G); }

// clock.c

u64 now_ns(void);
void pause_us(u64 us);
void cost_us(u64 us); // what a call costs that is no call for every frame
void deadline(struct timespec *t, u64 us);
u64 chance(u64 *state); // the next of a sequence of random numbers

// device.c

int gpu_uuid_ordinal(int gpu); // ordinal of the machine's GPU, or -1
bool device_valid(int device);

// memory.c: physical memory and the addresses it is seen at.

struct phys {
	struct phys *next;
	u64 id, bytes;
	int fd, gpu, requested;
	u8 *data;
	struct shared *shared; // behind the data in the same file
	size_t length;         // of the file
	int handles, maps, busy;
	int row; // of this process in the shared part, plus one
	bool legacy;
	struct context *context;
};

struct mapping {
	struct mapping *next;
	u64 address, bytes;
	struct phys *phys;
	int access;
	struct context *context;
};

struct phys *phys_create(u64 bytes, int gpu, int requested, CUresult *why);
struct phys *phys_import(int fd, CUresult *why);
void phys_drop(struct phys *p); // when nothing holds it any more
u64 address_take(u64 bytes, u64 align);
void address_give(u64 address, u64 bytes);
u64 address_space(u64 *bytes);
struct mapping *mapping_at(u64 address);
bool mapping_add(u64 address, struct phys *p, int access, struct context *c);
struct mapping *mapping_first(struct context *c);
void mapping_remove(struct mapping *m);
bool mapped(u64 address, u64 bytes, int access, bool *without_access);
bool host_pinned(u64 address, u64 bytes, bool *read_only);
void host_drop(struct context *c);
bool vmm_reserved(u64 address, u64 bytes);
void vmm_drop(struct context *c);

// stream.c

struct record { // one recording of an event
	int refs, teases;
	bool done;
	u64 at; // ns
	struct context *context;
	u64 clock[MAX_STREAMS]; // the operations that it comes after, by stream
};

enum op_kind { OP_COPY, OP_SET, OP_RECORD, OP_WAIT, OP_CALL };

struct end { // of a copy
	bool device;
	u64 address, pitch;
};

struct range { // what an operation touches
	bool device, write;
	u64 address, bytes;
	u64 id, offset;    // of device memory
	struct phys *phys; // valid while the operation is listed there
	int shown;         // its entry in the table of the memory, plus one
};

struct op {
	struct op *next;  // in the stream
	struct op *later; // among those that the host does not know to be finished
	enum op_kind kind;
	int slot; // of the stream
	u64 seq;  // over all streams
	const char *call;
	struct context *context, *event_context;
	struct end dst, src;
	u64 width, height; // bytes and rows
	u8 value;
	bool summed;
	u64 sum; // of the host's bytes when it was enqueued
	struct record *record;
	void (*fn)(void *);
	void *arg;
	struct range ranges[2];
	int nranges;
	CUresult breaks; // with what it fails
	bool done, listed;
};

struct op *op_new(enum op_kind kind);
void op_free(struct op *op);                         // with G held
CUresult op_enqueue(struct op *op, CUstream stream); // takes the operation over
bool streams_drain(struct context *c);               // with G held, which it lets go of while it waits
u32 streams_drop(struct context *c);
void release_held(void);
void wait_done(void); // with G held

// event.c

u32 events_drop(struct context *c);
void record_release(struct record *r);
extern pthread_cond_t done_cond; // something has been done

// exec.c

void op_run(struct op *op, u64 *random);
u64 source_sum(const struct op *op); // of the host's bytes as they are

// race.c: all with G held.

void race_enter(struct op *op, const u64 *clock);
void race_observe(const u64 *clock); // the host knows that these are done
void race_observe_all(struct context *c);
void race_forget(struct phys *p); // when it goes away
void race_forget_host(u64 address, u64 bytes);
bool ops_touch(u64 address, u64 bytes, bool device, const char **call);

// shared.c: what lies behind memory in its file, for all who share it.

size_t shared_bytes(u64 bytes);
void shared_init(struct phys *p);
bool shared_read(int fd, u64 length, struct phys *p); // fills id, bytes, gpu, requested
void shared_clear(struct phys *p);                    // what this process shows there
int shared_show(struct phys *p, u64 seq, u64 from, u64 to, bool write);
void shared_hide(struct phys *p, int entry);
u64 shared_conflict(struct phys *p, u64 from, u64 to, bool write); // a process, or 0
void shared_written(struct phys *p, u64 offset, u64 bytes);
bool shared_is_written(struct phys *p, u64 offset, u64 bytes);

#endif
