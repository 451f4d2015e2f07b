// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Operations that touch the same memory without an order between them. An
// operation is listed from when it is enqueued until the host knows it to be
// finished, by a wait or a query that says so. One that is enqueued meanwhile
// and conflicts with it must come after it by its stream or by events; whoever
// relies on luck is reported even if the bytes come out right.
//
// What one thread or process knows, all are taken to know: how they tell each
// other cannot be seen here. So a report is always a mistake, and a mistake
// is not always reported.
#include "sim.h"

enum { MOST = 4096 };

static struct op *unobserved;
static int listed;

static void unlist(struct op **at) {
	struct op *op = *at;
	*at = op->later;
	listed--;
	op->listed = false;
	for (int i = 0; i < op->nranges; i++)
		if (op->ranges[i].phys)
			shared_hide(op->ranges[i].phys, op->ranges[i].shown);
	if (op->done)
		op_free(op);
}

static bool overlap(const struct range *a, const struct range *b) {
	if (a->device != b->device || (!a->write && !b->write))
		return false;
	if (!a->device)
		return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
	return a->id == b->id && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static void against(struct op *op, const u64 *clock) {
	for (struct op *o = unobserved; o; o = o->later) {
		if (clock[o->slot] >= o->seq)
			continue;
		for (int i = 0; i < op->nranges; i++)
			for (int k = 0; k < o->nranges; k++)
				if (overlap(&op->ranges[i], &o->ranges[k])) {
					report("RACE", op->call, "%s %s memory that %s of another stream %s, with no order between them", op->call,
						op->ranges[i].write ? "writes" : "reads", o->call, o->ranges[k].write ? "writes" : "reads");
					return;
				}
	}
}

void race_enter(struct op *op, const u64 *clock) {
	if (!op->nranges)
		return;
	for (int i = 0; i < op->nranges; i++) {
		struct range *r = &op->ranges[i];
		struct mapping *m = r->device ? mapping_at(r->address) : NULL;
		if (!m)
			continue;
		r->phys = m->phys;
		r->id = m->phys->id;
		r->offset = r->address - m->address;
		if (r->bytes > m->bytes - r->offset)
			r->bytes = m->bytes - r->offset;
	}
	against(op, clock);
	for (int i = 0; i < op->nranges; i++) {
		struct range *r = &op->ranges[i];
		if (!r->phys || !r->phys->requested)
			continue;
		r->shown = shared_show(r->phys, op->seq, r->offset, r->offset + r->bytes, r->write);
		if (shared_conflict(r->phys, r->offset, r->offset + r->bytes, r->write))
			report("RACE", op->call, "%s %s memory that an operation of another process uses, which that process does not know to be finished", op->call,
				r->write ? "writes" : "reads");
	}
	op->listed = true;
	op->later = unobserved;
	unobserved = op;
	if (++listed > MOST) { // forget the oldest that is done
		struct op **oldest = NULL;
		for (struct op **at = &unobserved; *at; at = &(*at)->later)
			if ((*at)->done)
				oldest = at;
		if (oldest)
			unlist(oldest);
	}
}

void race_observe(const u64 *clock) {
	for (struct op **at = &unobserved; *at;)
		if (clock[(*at)->slot] >= (*at)->seq && (*at)->done)
			unlist(at);
		else
			at = &(*at)->later;
}

void race_observe_all(struct context *c) {
	for (struct op **at = &unobserved; *at;)
		if ((*at)->context == c && (*at)->done)
			unlist(at);
		else
			at = &(*at)->later;
}

// race_forget lets go of memory that goes away.
void race_forget(struct phys *p) {
	for (struct op *o = unobserved; o; o = o->later)
		for (int i = 0; i < o->nranges; i++)
			if (o->ranges[i].phys == p)
				o->ranges[i].phys = NULL;
}

// race_forget_host does so with host memory.
void race_forget_host(u64 address, u64 bytes) {
	for (struct op *o = unobserved; o; o = o->later)
		for (int i = 0; i < o->nranges; i++) {
			struct range *r = &o->ranges[i];
			if (!r->device && r->address < address + bytes && address < r->address + r->bytes)
				r->bytes = 0;
		}
}

bool ops_touch(u64 address, u64 bytes, bool device, const char **call) {
	for (struct op *o = unobserved; o; o = o->later)
		for (int i = 0; i < o->nranges; i++) {
			struct range *r = &o->ranges[i];
			struct mapping *m = device ? mapping_at(r->address) : NULL;
			if (device && (!m || m->phys != r->phys))
				continue; // it used what was mapped there before
			if (r->device == device && r->address < address + bytes && address < r->address + r->bytes) {
				*call = o->call;
				return true;
			}
		}
	return false;
}
