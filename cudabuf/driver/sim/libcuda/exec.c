// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Operations as they are carried out: late, in pieces, reading the host's
// memory at that time and no earlier. The kernel copies between host and
// device memory, so that a host address that is gone is an error to report and
// not a crash.
#include "sim.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PIECES = 8 };

static u64 delay_us(u64 *random) {
	u64 r = chance(random);
	switch (conf.delay) {
	case DELAY_UNIFORM: return r % (conf.delay_us + 1);
	case DELAY_HEAVY: return r % 64 ? (r >> 8) % (conf.delay_us / 16 + 1) : (r >> 8) % (conf.delay_us * 10 + 1);
	default: return 0;
	}
}

// part_sum is of some bytes of each page, or row: those among the n that begin
// at a column. What is written anew differs there. Sums of parts add up.
static u64 part_sum(const struct op *op, const u8 *bytes, u64 row, u64 col, u64 n) {
	u64 sum = 0, step = op->height == 1 ? PAGE : op->width;
	for (u64 c = col / step * step; c < col + n; c += step)
		for (u64 i = c < col ? col - c : 0; i < 64 && c + i < col + n; i++)
			sum += (u64)(bytes[c + i - col] + 1) * ((row * op->width + c + i) * 0x9e3779b97f4a7c15u | 1);
	return sum;
}

u64 source_sum(const struct op *op) {
	u64 sum = 0;
	for (u64 row = 0; row < op->height; row++)
		sum += part_sum(op, (const u8 *)(uintptr_t)(op->src.address + row * op->src.pitch), row, 0, op->width);
	return sum;
}

static void fault(struct op *op, const char *rule, const char *what, u64 address) {
	report(rule, op->call, "%s: %#llx", what, (unsigned long long)address);
	lose(ILLEGAL_ADDRESS);
}

// hold_memory finds device memory and keeps it for a moment.
static struct phys *hold_memory(struct op *op, u64 address, u64 *n, int access, u64 *offset) {
	struct phys *p = NULL;
	lock();
	struct mapping *m = mapping_at(address);
	if (m && (m->access & access) == access) {
		p = m->phys;
		p->busy++;
		*offset = address - m->address;
		if (*n > m->bytes - *offset)
			*n = m->bytes - *offset;
	}
	unlock();
	if (!p)
		fault(op, "S24", "memory was unmapped, or access taken away, while it was used", address);
	return p;
}

static void let_go(struct phys *p) {
	if (!p)
		return;
	lock();
	p->busy--;
	phys_drop(p);
	unlock();
}

static bool is_host(const struct end *e, u64 address) {
	bool read_only;
	if (!e->device)
		return true;
	lock();
	bool host = !mapping_at(address) && host_pinned(address, 1, &read_only);
	unlock();
	return host;
}

static bool transfer(struct op *op, struct phys *p, u64 offset, u64 host, u64 n, bool to_host) {
	while (n) {
		void *at = (void *)(uintptr_t)host;
		ssize_t k = to_host ? pread(p->fd, at, n, (off_t)offset) : pwrite(p->fd, at, n, (off_t)offset);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			fault(op, "S8", "host memory is not mapped when the copy runs", host);
			return false;
		}
		offset += (u64)k;
		host += (u64)k;
		n -= (u64)k;
	}
	return true;
}

// piece copies or fills up to n bytes of one row, and gives how many; 0 ends
// the operation.
static u64 piece(struct op *op, u64 row, u64 col, u64 n, u64 *sum, bool *unwritten) {
	u64 dst = op->dst.address + row * op->dst.pitch + col, src = op->src.address + row * op->src.pitch + col;
	struct phys *to = NULL, *from = NULL;
	u64 to_offset = 0, from_offset = 0;
	bool ok = true, dst_host = is_host(&op->dst, dst), src_host = op->kind == OP_COPY && is_host(&op->src, src);
	if (!dst_host)
		ok = (to = hold_memory(op, dst, &n, ACCESS_READWRITE, &to_offset));
	if (ok && op->kind == OP_COPY && !src_host)
		ok = (from = hold_memory(op, src, &n, ACCESS_READ, &from_offset));
	if (ok && from && !shared_is_written(from, from_offset, n))
		*unwritten = true;
	if (!ok) {
		n = 0;
	} else if (op->kind == OP_SET) {
		if (to)
			memset(to->data + to_offset, op->value, n);
		else
			memset((void *)(uintptr_t)dst, op->value, n);
	} else if (to && from) {
		memmove(to->data + to_offset, from->data + from_offset, n);
	} else if (to) {
		ok = transfer(op, to, to_offset, src, n, false);
		if (ok && op->summed)
			*sum += part_sum(op, to->data + to_offset, row, col, n); // the source may be gone by now
	} else if (from) {
		ok = transfer(op, from, from_offset, dst, n, true);
	} else {
		memmove((void *)(uintptr_t)dst, (void *)(uintptr_t)src, n);
		*sum += part_sum(op, (const u8 *)(uintptr_t)dst, row, col, n);
	}
	if (ok && to)
		shared_written(to, to_offset, n);
	let_go(to);
	let_go(from);
	return ok ? n : 0;
}

static void move(struct op *op, u64 *random) {
	u64 total = op->width * op->height, wait = delay_us(random), part = conf.delay == DELAY_NONE ? total : total / PIECES + 1, until = part, sum = 0;
	bool unwritten = false;
	pause_us(wait / 2);
	for (u64 row = 0, at = 0; row < op->height; row++)
		for (u64 col = 0; col < op->width;) {
			u64 n = op->width - col;
			if (n > until - at)
				n = until - at;
			n = piece(op, row, col, n, &sum, &unwritten);
			if (!n)
				return;
			col += n;
			at += n;
			if (at == until) {
				until += part;
				pause_us(wait / 2 / PIECES);
				if (lost())
					return; // as it lies
			}
		}
	if (unwritten)
		report("S6", op->call, "memory that was never written is read");
	if (op->summed && sum != op->sum)
		report("S8", op->call, "the host's memory was changed while the copy was queued");
}

static void finish(struct record *r) {
	lock();
	if (!conf.event_hang) {
		r->done = true;
		r->at = now_ns();
	}
	pthread_cond_broadcast(&done_cond);
	unlock();
}

static void await(struct op *op) {
	lock();
	while (!op->record->done && !lost() && !op->context->dead)
		wait_done();
	unlock();
}

void op_run(struct op *op, u64 *random) {
	if (op->breaks) {
		lose(op->breaks);
		lock();
		pthread_cond_broadcast(&done_cond);
		unlock();
		return;
	}
	switch (op->kind) {
	case OP_COPY:
	case OP_SET: move(op, random); break;
	case OP_RECORD: finish(op->record); break;
	case OP_WAIT: await(op); break;
	case OP_CALL:
		pause_us(delay_us(random));
		lock();
		race_observe(op->record->clock); // the host is about to be told
		unlock();
		thread_in_callback(true);
		op->fn(op->arg);
		thread_in_callback(false);
	}
}
