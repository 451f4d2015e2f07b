// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// What lies behind memory in its file, for all processes that share it: what
// it is, which of its pages have been written, and the operations on it that
// their process does not know to be finished. No process waits for another
// here: each writes its own row, and a dead one's row is taken over.
#include "sim.h"

#include <string.h>
#include <unistd.h>

enum { ROWS = 32, ENTRIES = 32 };

static const u64 MAGIC = 0x314d49534d454d43;

struct entry {
	_Atomic(u64) state; // 0, or the operation's number, twice, plus 1 when it writes
	_Atomic(u64) from, to;
};

struct shared {
	u64 magic, id, bytes;
	u32 gpu, requested;
	struct {
		_Atomic(u64) owner; // a process
		struct entry entries[ENTRIES];
	} rows[ROWS];
	_Atomic(u8) written[]; // a bit for each page
};

size_t shared_bytes(u64 bytes) {
	return (sizeof(struct shared) + (bytes / PAGE + 7) / 8 + PAGE - 1) / PAGE * PAGE;
}

void shared_init(struct phys *p) {
	p->shared->id = p->id;
	p->shared->bytes = p->bytes;
	p->shared->gpu = (u32)p->gpu;
	p->shared->requested = (u32)p->requested;
	p->shared->magic = MAGIC;
}

bool shared_read(int fd, u64 length, struct phys *p) {
	// The length says how long the part behind is, as it grows with the memory.
	struct shared s;
	for (u64 bytes = length / GRANULE * GRANULE, tries = 0; bytes >= GRANULE && tries < 4; bytes -= GRANULE, tries++) {
		if (bytes + shared_bytes(bytes) != length)
			continue;
		if (pread(fd, &s, sizeof s, (off_t)bytes) != (ssize_t)sizeof s || s.magic != MAGIC || s.bytes != bytes)
			return false;
		p->id = s.id;
		p->bytes = s.bytes;
		p->gpu = (int)s.gpu;
		p->requested = (int)s.requested;
		return true;
	}
	return false;
}

// row is this process's, or -1 where all are taken.
static int row(struct phys *p) {
	u64 me = run_process();
	if (p->row)
		return p->row - 1;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < ROWS; i++) {
			u64 owner = atomic_load(&p->shared->rows[i].owner);
			if (owner != me && owner && (pass == 0 || run_process_alive(owner)))
				continue;
			if (owner != me && !atomic_compare_exchange_strong(&p->shared->rows[i].owner, &owner, me))
				continue;
			for (int k = 0; k < ENTRIES; k++)
				atomic_store(&p->shared->rows[i].entries[k].state, 0);
			p->row = i + 1;
			return i;
		}
	return -1;
}

int shared_show(struct phys *p, u64 seq, u64 from, u64 to, bool write) {
	int r = row(p);
	if (r < 0)
		return 0;
	for (int i = 0; i < ENTRIES; i++) {
		struct entry *e = &p->shared->rows[r].entries[i];
		if (atomic_load_explicit(&e->state, memory_order_relaxed))
			continue;
		atomic_store(&e->from, from);
		atomic_store(&e->to, to);
		atomic_store(&e->state, seq * 2 + write);
		return i + 1;
	}
	return 0;
}

void shared_hide(struct phys *p, int entry) {
	if (entry && p->row)
		atomic_store(&p->shared->rows[p->row - 1].entries[entry - 1].state, 0);
}

void shared_clear(struct phys *p) {
	if (!p->row)
		return;
	for (int i = 1; i <= ENTRIES; i++)
		shared_hide(p, i);
	atomic_store(&p->shared->rows[p->row - 1].owner, 0);
	p->row = 0;
}

// shared_conflict is a living process whose unfinished operation touches the
// range, where one of both writes; 0 if there is none.
u64 shared_conflict(struct phys *p, u64 from, u64 to, bool write) {
	for (int i = 0; i < ROWS; i++) {
		u64 owner = atomic_load(&p->shared->rows[i].owner);
		if (!owner || owner == run_process())
			continue;
		for (int k = 0; k < ENTRIES; k++) {
			struct entry *e = &p->shared->rows[i].entries[k];
			u64 state = atomic_load(&e->state), f = atomic_load(&e->from), t = atomic_load(&e->to);
			if (!state || atomic_load(&e->state) != state || f >= to || from >= t || (!write && !(state & 1)))
				continue;
			// Its end may be known by a socket before the lock is gone.
			u64 end = now_ns() + 500000000;
			while (run_process_alive(owner)) {
				if (now_ns() > end)
					return owner;
				pause_us(5000);
			}
			break;
		}
	}
	return 0;
}

void shared_written(struct phys *p, u64 offset, u64 bytes) {
	for (u64 page = offset / PAGE; bytes && page <= (offset + bytes - 1) / PAGE; page++)
		atomic_fetch_or_explicit(&p->shared->written[page / 8], (u8)(1 << page % 8), memory_order_relaxed);
}

bool shared_is_written(struct phys *p, u64 offset, u64 bytes) {
	for (u64 page = offset / PAGE; bytes && page <= (offset + bytes - 1) / PAGE; page++)
		if (!(atomic_load_explicit(&p->shared->written[page / 8], memory_order_relaxed) & 1 << page % 8))
			return false;
	return true;
}
