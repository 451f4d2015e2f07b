// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Physical memory, which is a file of the run directory, and device addresses,
// which are places in a range that no program may touch: a device pointer that
// is dereferenced crashes, as on a discrete GPU. Everything here wants G held.
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct phys *all;
static struct mapping *mappings;
static u64 space, space_bytes;

static struct taken { // addresses that are given out
	struct taken *next;
	u64 address, bytes;
} *taken;

static struct phys *phys_map(struct phys *p) {
	p->length = p->bytes + shared_bytes(p->bytes);
	p->data = mmap(NULL, p->length, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (p->data == MAP_FAILED) {
		close(p->fd);
		free(p);
		return NULL;
	}
	madvise(p->data, p->length, MADV_DONTDUMP);
	p->shared = (struct shared *)(p->data + p->bytes);
	p->next = all;
	all = p;
	run_count(COUNT_ALLOCATION, 1);
	return p;
}

static void poison(u8 *data, u64 bytes) {
	u64 state = conf.seed + 7;
	for (u64 i = 0; i + 8 <= bytes; i += 8) {
		u64 v = i % 512 ? 0xd5d5d5d5d5d5d5d5u : chance(&state);
		memcpy(data + i, &v, 8);
	}
}

struct phys *phys_create(u64 bytes, int gpu, int requested, CUresult *why) {
	u64 used = run_used(gpu);
	*why = OUT_OF_MEMORY;
	if (fault_out_of_memory() || used > conf.total || bytes > conf.total - used)
		return NULL;
	struct phys *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->bytes = bytes;
	p->gpu = gpu;
	p->requested = requested;
	p->fd = run_create(bytes, shared_bytes(bytes), gpu, &p->id);
	if (p->fd < 0) {
		*why = errno == ENOSPC || errno == ENOMEM ? OUT_OF_MEMORY : OPERATING_SYSTEM;
		free(p);
		return NULL;
	}
	p = phys_map(p);
	if (!p)
		return NULL;
	poison(p->data, bytes);
	shared_init(p);
	*why = OK;
	return p;
}

// phys_import gives the memory of a descriptor that a process of this run has
// exported. The same memory imported twice is the same object.
struct phys *phys_import(int fd, CUresult *why) {
	struct stat st;
	if (fcntl(fd, F_GETFD) < 0 || fstat(fd, &st)) {
		*why = OPERATING_SYSTEM;
		return NULL;
	}
	*why = INVALID_VALUE;
	struct phys probe = {.fd = fd};
	if (!S_ISREG(st.st_mode) || !shared_read(fd, (u64)st.st_size, &probe))
		return NULL;
	if (gpu_uuid_ordinal(probe.gpu) < 0) {
		*why = INVALID_DEVICE;
		return NULL;
	}
	*why = OK;
	for (struct phys *p = all; p; p = p->next)
		if (p->id == probe.id)
			return p;
	struct phys *p = malloc(sizeof *p);
	if (!p)
		return NULL;
	*p = probe;
	p->fd = run_reopen(p->bytes, p->gpu, p->id, O_RDWR | O_CLOEXEC);
	if (p->fd < 0) { // of another run
		*why = INVALID_VALUE;
		free(p);
		return NULL;
	}
	p = phys_map(p);
	if (!p)
		*why = OUT_OF_MEMORY;
	return p;
}

void phys_drop(struct phys *p) {
	if (p->handles || p->maps || p->busy)
		return;
	for (struct phys **at = &all; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	int gpu = p->gpu;
	race_forget(p);
	shared_clear(p);
	munmap(p->data, p->length);
	close(p->fd);
	free(p);
	run_count(COUNT_ALLOCATION, -1);
	run_used(gpu);
}

// address_space reserves the range once: as much of it as limits allow.
u64 address_space(u64 *bytes) {
	for (u64 n = 256ull << 30; !space && n >= 1ull << 30; n /= 4) {
		void *p = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			continue;
		madvise(p, n, MADV_DONTDUMP);
		space = ((u64)(uintptr_t)p + GRANULE - 1) / GRANULE * GRANULE;
		space_bytes = n - GRANULE;
	}
	*bytes = space_bytes;
	return space;
}

// address_take finds a free range, first fit, with a hole behind it. Where it
// begins to look differs from process to process, so that an address which is
// passed on to another process means nothing there.
u64 address_take(u64 bytes, u64 align) {
	u64 limit, base = address_space(&limit), end = base + limit;
	if (!base || !bytes || bytes > limit)
		return 0;
	if (align < GRANULE)
		align = GRANULE;
	u64 at = base + (1 + run_process() % 512) * GRANULE;
	struct taken **where = &taken;
	for (;; where = &(*where)->next) {
		at = (at + align - 1) / align * align;
		if (!*where || at + bytes + GRANULE <= (*where)->address)
			break;
		if (at < (*where)->address + (*where)->bytes + GRANULE)
			at = (*where)->address + (*where)->bytes + GRANULE;
	}
	if (at + bytes > end)
		return 0;
	struct taken *t = malloc(sizeof *t);
	if (!t)
		return 0;
	*t = (struct taken){.next = *where, .address = at, .bytes = bytes};
	*where = t;
	return at;
}

void address_give(u64 address, u64 bytes) {
	for (struct taken **at = &taken; *at; at = &(*at)->next)
		if ((*at)->address == address && (*at)->bytes == bytes) {
			struct taken *t = *at;
			*at = t->next;
			free(t);
			return;
		}
}

struct mapping *mapping_at(u64 address) {
	for (struct mapping *m = mappings; m; m = m->next)
		if (address >= m->address && address - m->address < m->bytes)
			return m;
	return NULL;
}

bool mapping_add(u64 address, struct phys *p, int access, struct context *c) {
	struct mapping *m = malloc(sizeof *m);
	if (!m)
		return false;
	*m = (struct mapping){.next = mappings, .address = address, .bytes = p->bytes, .phys = p, .access = access, .context = c};
	mappings = m;
	p->maps++;
	run_count(COUNT_MAPPING, 1);
	return true;
}

void mapping_remove(struct mapping *m) {
	for (struct mapping **at = &mappings; *at; at = &(*at)->next)
		if (*at == m) {
			*at = m->next;
			break;
		}
	m->phys->maps--;
	phys_drop(m->phys);
	free(m);
	run_count(COUNT_MAPPING, -1);
}

// mapped is whether the whole range is mapped; without_access is set where a
// part may not be touched in that way.
bool mapped(u64 address, u64 bytes, int access, bool *without_access) {
	*without_access = false;
	while (bytes) {
		struct mapping *m = mapping_at(address);
		if (!m)
			return false;
		if ((m->access & access) != access)
			*without_access = true;
		u64 n = m->address + m->bytes - address;
		if (n > bytes)
			n = bytes;
		address += n;
		bytes -= n;
	}
	return true;
}

struct mapping *mapping_first(struct context *c) {
	for (struct mapping *m = mappings; m; m = m->next)
		if (m->context == c)
			return m;
	return NULL;
}
