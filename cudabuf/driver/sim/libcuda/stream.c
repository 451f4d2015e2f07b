// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Streams: a thread each, which runs its operations one after the other, late.
#include "sim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct stream {
	struct context *context;
	u32 generation;
	bool used, closing;
	int slot;
	struct op *head, **tail;
	u64 last, finished; // numbers of operations: given to it, done
	u64 clock[MAX_STREAMS]; // what the next operation comes after
	u64 random, whims; // the worker's, and the callers' with G held
	int teases;
	pthread_cond_t work;
};

static struct stream streams[MAX_STREAMS];
static u64 seq, released; // under hold, operations up to this number may run
pthread_cond_t done_cond;

static void cond_init(pthread_cond_t *c) {
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

__attribute__((constructor)) static void init(void) {
	cond_init(&done_cond);
	for (int i = 0; i < MAX_STREAMS; i++)
		cond_init(&streams[i].work);
}

static CUstream stream_handle(struct stream *s) {
	return (CUstream)(uintptr_t)(0x5700000000000000u | (u64)s->generation << 16 | (u64)s->slot);
}

// stream_get is the stream of a handle, or NULL. G is held.
static struct stream *stream_get(CUstream h) {
	u64 v = (u64)(uintptr_t)h;
	u32 slot = (u32)(v & 0xffff);
	if (slot >= MAX_STREAMS)
		return NULL;
	struct stream *s = &streams[slot];
	return s->used && !s->closing && stream_handle(s) == h ? s : NULL;
}

// hold lets the operation wait for somebody to look, under that model of delay.
static void hold(struct stream *s, struct op *op) {
	struct timespec t;
	deadline(&t, 200000);
	while (op->seq > released && !lost())
		if (pthread_cond_timedwait(&s->work, &G, &t))
			return;
}

static void *work(void *arg) {
	struct stream *s = arg;
	lock();
	for (;;) {
		while (!s->head && !s->closing)
			pthread_cond_wait(&s->work, &G);
		struct op *op = s->head;
		if (!op)
			break;
		if (conf.delay == DELAY_HOLD)
			hold(s, op);
		while (fault_hang() && !lost() && !s->context->dead) {
			struct timespec t;
			deadline(&t, 20000);
			pthread_cond_timedwait(&s->work, &G, &t);
			plan_at_run_time();
		}
		unlock();
		if (!lost() || op->kind == OP_RECORD)
			op_run(op, &s->random);
		lock();
		s->head = op->next;
		if (!s->head)
			s->tail = &s->head;
		s->finished = op->seq;
		op->done = true;
		if (!op->listed)
			op_free(op);
		pthread_cond_broadcast(&done_cond);
	}
	s->used = false;
	unlock();
	return NULL;
}

static CUresult start(struct context *c, struct stream **out) {
	struct stream *s = NULL;
	u32 n = 0;
	for (int i = 0; i < MAX_STREAMS; i++)
		if (streams[i].used)
			n++;
		else if (!s)
			s = &streams[i];
	if (!s || n >= conf.max_streams)
		return OUT_OF_MEMORY;
	s->context = c;
	s->generation++;
	s->slot = (int)(s - streams);
	s->head = NULL;
	s->tail = &s->head;
	s->closing = false;
	s->teases = 0;
	s->finished = s->last = seq;
	memset(s->clock, 0, sizeof s->clock);
	s->random = conf.seed * 1000003 + (u64)s->slot * 7919 + s->generation;
	s->whims = ~s->random;
	// Signals are for the program's own threads.
	sigset_t every, before;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&a, 256 << 10);
	int failed = pthread_create(&t, &a, work, s);
	pthread_attr_destroy(&a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed)
		return OUT_OF_MEMORY;
	s->used = true;
	*out = s;
	return OK;
}

API cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority) {
	CALL(NEED_CONTEXT);
	(void)priority; // clamped to what there is
	if (!out || flags & ~1u)
		return INVALID_VALUE;
	if (!(flags & 1))
		report("S37", __func__, "a stream without NON_BLOCKING waits for whatever uses stream 0");
	struct stream *s;
	lock();
	CUresult r = start(current(), &s);
	if (r == OK) {
		*out = stream_handle(s);
		run_count(COUNT_STREAM, 1);
	}
	unlock();
	cost_us(200);
	return r;
}

static CUresult no_stream(CUstream h) {
	report("S15", calling(), "no such stream: %p", (void *)h);
	return INVALID_HANDLE;
}

// Work that is queued is still done.
API cuStreamDestroy_v2(CUstream h) {
	CALL(NEED_CONTEXT_EVEN_LOST);
	lock();
	struct stream *s = stream_get(h);
	if (s) {
		s->closing = true;
		pthread_cond_signal(&s->work);
		run_count(COUNT_STREAM, -1);
	}
	unlock();
	return s ? leave() : no_stream(h);
}

API cuStreamGetCtx(CUstream h, CUcontext *out) {
	CALL(NEED_CONTEXT);
	if (!out)
		return INVALID_VALUE;
	lock();
	struct stream *s = stream_get(h);
	if (s)
		*out = (CUcontext)s->context;
	unlock();
	return s ? leave() : no_stream(h);
}

static struct stream *null_stream[MAX_DEVICES];

// target is the stream that a call means, the default stream included.
static struct stream *target(CUstream h) {
	if ((uintptr_t)h > 2)
		return stream_get(h);
	struct context *c = current();
	struct stream **s = &null_stream[c->device];
	if (*s && ((*s)->context != c || (*s)->closing))
		*s = NULL;
	if (!*s && start(c, s))
		return NULL;
	return *s;
}

static void report_null(CUstream h) {
	if ((uintptr_t)h <= 2)
		report("S37", calling(), "the default stream is used: it waits for all others");
}

// wait_done waits for something to be done, and looks now and then whether the
// run has got another plan.
void wait_done(void) {
	struct timespec t;
	deadline(&t, 50000);
	if (pthread_cond_timedwait(&done_cond, &G, &t))
		plan_at_run_time();
}

void release_held(void) {
	released = seq;
	if (conf.delay == DELAY_HOLD)
		for (int i = 0; i < MAX_STREAMS; i++)
			if (streams[i].used)
				pthread_cond_signal(&streams[i].work);
}

// wait_for waits until the stream has done what it was given up to last.
static void wait_for(struct stream *s, u64 last, u32 generation) {
	release_held();
	while (s->used && s->generation == generation && s->finished < last && !lost())
		wait_done();
}

API cuStreamSynchronize(CUstream h) {
	CALL(NEED_CONTEXT);
	report_null(h);
	u64 clock[MAX_STREAMS];
	lock();
	struct stream *s = target(h);
	if (s) {
		memcpy(clock, s->clock, sizeof clock);
		wait_for(s, s->last, s->generation);
		if (!lost())
			race_observe(clock);
	}
	unlock();
	return s ? leave() : no_stream(h);
}

API cuStreamQuery(CUstream h) {
	CALL(NEED_CONTEXT);
	report_null(h);
	lock();
	struct stream *s = target(h);
	bool done = false;
	if (s) {
		release_held();
		done = s->finished >= s->last;
		if (done && s->teases > 0) { // finished, and not yet seen to be
			s->teases--;
			done = false;
		}
		if (done)
			race_observe(s->clock);
	}
	unlock();
	if (!s)
		return no_stream(h);
	if (lost())
		return lost();
	return done ? OK : NOT_READY;
}

struct op *op_new(enum op_kind kind) {
	struct op *op = calloc(1, sizeof *op);
	if (op) {
		op->kind = kind;
		op->call = calling();
		op->context = current();
	}
	return op;
}

void op_free(struct op *op) {
	if (op->record)
		record_release(op->record);
	free(op);
}

// prepare adds what the stream's own state decides about the operation.
static void prepare(struct op *op, struct stream *s) {
	if (op->kind == OP_RECORD || op->kind == OP_CALL) {
		memcpy(op->record->clock, s->clock, sizeof s->clock);
		op->record->clock[s->slot] = op->seq;
		op->record->context = s->context;
		op->record->teases = conf.delay == DELAY_NONE ? 0 : (int)(chance(&s->whims) % 3);
	} else if (op->kind == OP_WAIT) {
		for (int i = 0; i < MAX_STREAMS; i++)
			if (op->record->clock[i] > s->clock[i])
				s->clock[i] = op->record->clock[i];
	}
	s->clock[s->slot] = op->seq;
}

// op_enqueue gives the operation to a stream; it belongs to it then, or is
// freed. The stream's context, not the thread's, is what it runs in.
CUresult op_enqueue(struct op *op, CUstream h) {
	report_null(h);
	CUresult code = fault_at_operation();
	lock();
	struct stream *s = target(h);
	if (!s || (op->kind == OP_RECORD && op->event_context != s->context)) {
		op_free(op);
		unlock();
		if (!s)
			return no_stream(h);
		report("S10", calling(), "event and stream are of different contexts");
		return INVALID_HANDLE;
	}
	op->seq = ++seq;
	op->slot = s->slot;
	if (code)
		op->breaks = code;
	prepare(op, s);
	s->last = op->seq;
	s->teases = conf.delay == DELAY_NONE ? 0 : (int)(chance(&s->whims) % 3);
	race_enter(op, s->clock);
	*s->tail = op;
	s->tail = &op->next;
	pthread_cond_signal(&s->work);
	unlock();
	return OK; // what becomes of it is told by a later call
}

// streams_drain waits for all that is queued in a context, but not for ever:
// it is false where something hangs.
bool streams_drain(struct context *c) {
	struct timespec t;
	deadline(&t, 2000000);
	release_held();
	for (int i = 0; i < MAX_STREAMS; i++) {
		struct stream *s = &streams[i];
		u64 last = s->last;
		u32 generation = s->generation;
		while (s->used && s->context == c && s->generation == generation && s->finished < last && !lost())
			if (pthread_cond_timedwait(&done_cond, &G, &t))
				return false;
	}
	return true;
}

u32 streams_drop(struct context *c) {
	u32 n = 0;
	for (int i = 0; i < MAX_STREAMS; i++) {
		struct stream *s = &streams[i];
		if (!s->used || s->closing || s->context != c)
			continue;
		if (s != null_stream[c->device]) {
			n++;
			run_count(COUNT_STREAM, -1);
		}
		s->closing = true;
		pthread_cond_signal(&s->work);
	}
	return n;
}

API cuLaunchHostFunc(CUstream h, CUhostFn fn, void *arg) {
	CALL(NEED_CONTEXT);
	if (!fn)
		return INVALID_VALUE;
	struct op *op = op_new(OP_CALL);
	struct record *r = calloc(1, sizeof *r);
	if (!op || !r) {
		free(op);
		free(r);
		return OUT_OF_MEMORY;
	}
	r->refs = 1;
	op->record = r;
	op->fn = fn;
	op->arg = arg;
	return op_enqueue(op, h);
}
