// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Events. Each recording of one is a thing of its own: who waits for it does
// not notice that the event is recorded again.
#include "sim.h"

#include <stdlib.h>

static struct event {
	bool used;
	u32 generation, flags;
	struct context *context;
	struct record *record; // the latest
} events[MAX_EVENTS];

static CUevent event_handle(u32 slot) { return (CUevent)(uintptr_t)(0x4500000000000000u | (u64)events[slot].generation << 16 | slot); }

static struct event *event_get(CUevent h) {
	u32 slot = (u32)((u64)(uintptr_t)h & 0xffff);
	return slot < MAX_EVENTS && events[slot].used && event_handle(slot) == h ? &events[slot] : NULL;
}

void record_release(struct record *r) {
	if (--r->refs == 0)
		free(r);
}

API cuEventCreate(CUevent *out, unsigned flags) {
	CALL(NEED_CONTEXT);
	if (!out || flags & ~7u)
		return INVALID_VALUE;
	if ((flags & EVENT_INTERPROCESS) && (!(flags & EVENT_DISABLE_TIMING) || conf.legacy_code)) {
		if (!(flags & EVENT_DISABLE_TIMING))
			report("S11", __func__, "an event for other processes must not take times");
		return conf.legacy_code && flags & EVENT_DISABLE_TIMING ? NOT_SUPPORTED : INVALID_VALUE;
	}
	CUresult r = OUT_OF_MEMORY;
	lock();
	for (u32 i = 0; i < conf.max_events; i++)
		if (!events[i].used) {
			struct event *e = &events[i];
			e->used = true;
			e->generation++;
			e->flags = flags;
			e->context = current();
			e->record = NULL;
			*out = event_handle(i);
			run_count(COUNT_EVENT, 1);
			r = OK;
			break;
		}
	unlock();
	return r;
}

static CUresult no_event(CUevent h) {
	report("S16", calling(), "no such event: %p", (void *)h);
	return INVALID_HANDLE;
}

static void destroy(struct event *e) {
	if (e->record)
		record_release(e->record);
	e->record = NULL;
	e->used = false;
	run_count(COUNT_EVENT, -1);
}

API cuEventDestroy_v2(CUevent h) {
	CALL(NEED_CONTEXT_EVEN_LOST);
	lock();
	struct event *e = event_get(h);
	if (e)
		destroy(e);
	unlock();
	return e ? leave() : no_event(h);
}

static CUresult record(CUevent h, CUstream stream) {
	struct op *op = op_new(OP_RECORD);
	struct record *r = calloc(1, sizeof *r);
	if (!op || !r) {
		free(op);
		free(r);
		return OUT_OF_MEMORY;
	}
	op->record = r;
	r->refs = 2; // the operation's, and the event's
	lock();
	struct event *e = event_get(h);
	if (e)
		op->event_context = e->context;
	unlock();
	if (!e) {
		free(op);
		free(r);
		return no_event(h);
	}
	CUresult code = op_enqueue(op, stream);
	lock();
	e = event_get(h);
	if (code == OK && e) {
		if (e->record)
			record_release(e->record);
		e->record = r;
	} else {
		record_release(r);
	}
	unlock();
	return code;
}

API cuEventRecord(CUevent h, CUstream stream) {
	CALL(NEED_CONTEXT);
	return record(h, stream);
}

API cuEventRecordWithFlags(CUevent h, CUstream stream, unsigned flags) {
	CALL(NEED_CONTEXT);
	return flags ? INVALID_VALUE : record(h, stream);
}

API cuStreamWaitEvent(CUstream stream, CUevent h, unsigned flags) {
	CALL(NEED_CONTEXT);
	if (flags)
		return INVALID_VALUE;
	lock();
	struct event *e = event_get(h);
	struct record *r = e ? e->record : NULL;
	if (r)
		r->refs++;
	unlock();
	if (!e)
		return no_event(h);
	if (!r) {
		report("S12", __func__, "the event was never recorded, so that nothing is waited for");
		return OK;
	}
	struct op *op = op_new(OP_WAIT);
	if (!op) {
		lock();
		record_release(r);
		unlock();
		return OUT_OF_MEMORY;
	}
	op->record = r;
	return op_enqueue(op, stream);
}

API cuEventQuery(CUevent h) {
	CALL(NEED_CONTEXT);
	bool done = true;
	lock();
	struct event *e = event_get(h);
	if (e && e->record) {
		release_held();
		done = e->record->done;
		if (done && e->record->teases > 0) { // finished, and not yet seen to be
			e->record->teases--;
			done = false;
		}
		if (done && !lost())
			race_observe(e->record->clock);
	}
	bool never = e && !e->record;
	unlock();
	if (!e)
		return no_event(h);
	if (never)
		report("S12", __func__, "the event was never recorded, so that it counts as complete");
	if (lost())
		return lost();
	return done ? OK : NOT_READY;
}

API cuEventSynchronize(CUevent h) {
	CALL(NEED_CONTEXT);
	lock();
	struct event *e = event_get(h);
	struct record *r = e ? e->record : NULL;
	bool spins = e && !(e->flags & EVENT_BLOCKING_SYNC);
	if (r) {
		r->refs++;
		release_held();
		while (!r->done && !lost())
			wait_done();
		if (!lost())
			race_observe(r->clock);
		record_release(r);
	}
	unlock();
	if (!e)
		return no_event(h);
	if (!r)
		report("S12", __func__, "the event was never recorded, so that nothing is waited for");
	if (spins)
		report("P28", __func__, "waiting for an event without BLOCKING_SYNC spins a processor");
	return leave();
}

static CUresult elapsed(float *ms, CUevent a, CUevent b) {
	lock();
	struct event *x = event_get(a), *y = event_get(b);
	bool timed = x && y && !((x->flags | y->flags) & EVENT_DISABLE_TIMING) && x->record && y->record;
	bool done = timed && x->record->done && y->record->done;
	if (done)
		*ms = (float)((double)((int64_t)(y->record->at - x->record->at)) / 1e6);
	unlock();
	return !timed ? INVALID_HANDLE : done ? OK : NOT_READY;
}

API cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
	CALL(NEED_CONTEXT);
	return ms ? elapsed(ms, a, b) : INVALID_VALUE;
}

API cuEventElapsedTime_v2(float *ms, CUevent a, CUevent b) {
	CALL(NEED_CONTEXT);
	return ms ? elapsed(ms, a, b) : INVALID_VALUE;
}

u32 events_drop(struct context *c) {
	u32 n = 0;
	for (u32 i = 0; i < MAX_EVENTS; i++)
		if (events[i].used && events[i].context == c) {
			destroy(&events[i]);
			n++;
		}
	return n;
}
