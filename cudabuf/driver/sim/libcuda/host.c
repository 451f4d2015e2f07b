// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Host memory that the GPU may read and write: made by the driver, or
// registered with it.
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct pinned {
	struct pinned *next;
	u64 address, bytes; // as asked for
	bool made, read_only;
	struct context *context;
} *pinned;

static u64 down(u64 a) { return a / PAGE * PAGE; }
static u64 up(u64 a) { return (a + PAGE - 1) / PAGE * PAGE; }

bool host_pinned(u64 address, u64 bytes, bool *read_only) {
	*read_only = false;
	for (struct pinned *p = pinned; p; p = p->next)
		if (address >= p->address && address - p->address < p->bytes && bytes <= p->bytes - (address - p->address)) {
			*read_only = p->read_only;
			return true;
		}
	return false;
}

static void take(struct pinned **at) {
	struct pinned *p = *at;
	*at = p->next;
	race_forget_host(p->address, p->bytes);
	if (p->made) // crashes whoever still uses it, and is not given to others
		mmap((void *)(uintptr_t)p->address, up(p->bytes), PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	run_count(p->made ? COUNT_HOST : COUNT_REGISTRATION, -1);
	free(p);
}

static void pin(struct pinned *p, u64 address, u64 bytes, bool made, bool read_only) {
	*p = (struct pinned){.next = pinned, .address = address, .bytes = bytes, .made = made, .read_only = read_only, .context = current()};
	pinned = p;
	run_count(made ? COUNT_HOST : COUNT_REGISTRATION, 1);
}

API cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
	CALL(NEED_CONTEXT);
	if (!out || !bytes || flags & ~7u)
		return INVALID_VALUE;
	if (fault_out_of_memory())
		return OUT_OF_MEMORY;
	void *at = mmap(NULL, up(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pinned *p = malloc(sizeof *p);
	if (at == MAP_FAILED || !p) {
		if (at != MAP_FAILED)
			munmap(at, up(bytes));
		free(p);
		return OUT_OF_MEMORY;
	}
	memset(at, 0xd7, bytes);
	lock();
	pin(p, (u64)(uintptr_t)at, bytes, true, false);
	unlock();
	*out = at;
	cost_us(500);
	return OK;
}

// unpin takes what begins at the address away.
static CUresult unpin(u64 address, bool made, CUresult otherwise) {
	const char *used = NULL;
	bool busy = false, was_lost = lost();
	CUresult r = otherwise;
	lock();
	for (struct pinned **at = &pinned; *at; at = &(*at)->next)
		if ((*at)->address == address && (*at)->made == made) {
			busy = ops_touch(address, (*at)->bytes, false, &used);
			if (busy && made)
				streams_drain((*at)->context);
			r = OK;
			break;
		}
	if (r == OK)
		for (struct pinned **at = &pinned; *at; at = &(*at)->next)
			if ((*at)->address == address && (*at)->made == made) {
				take(at);
				break;
			}
	unlock();
	if (busy && !was_lost)
		report("S9", calling(), "%s that uses the host memory is not known to be finished", used);
	return r;
}

API cuMemFreeHost(void *p) {
	CALL(NEED_CONTEXT_EVEN_LOST);
	if (!p)
		return leave();
	if (unpin((u64)(uintptr_t)p, true, INVALID_VALUE)) {
		report("S9", __func__, "%p is no host memory of the driver: freed before, or not its start", p);
		return INVALID_VALUE;
	}
	return leave();
}

// protection of a range: 0 none, 1 readable throughout, 3 writable as well.
static int protection(u64 address, u64 bytes) {
	FILE *f = fopen("/proc/self/maps", "re");
	if (!f)
		return 3;
	char line[512];
	u64 at = address, end = address + bytes;
	int all = 3;
	while (at < end && fgets(line, sizeof line, f)) {
		unsigned long long from, to;
		char p[5];
		if (sscanf(line, "%llx-%llx %4s", &from, &to, p) != 3 || at >= to)
			continue;
		if (at < from)
			break;
		all &= p[0] == 'r' ? p[1] == 'w' ? 3 : 1 : 0;
		at = to;
	}
	fclose(f);
	return at < end ? 0 : all;
}

API cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags) {
	CALL(NEED_CONTEXT);
	u64 address = (u64)(uintptr_t)p;
	if (!p || !bytes || flags & ~15u || address + bytes < address)
		return INVALID_VALUE;
	if (!conf.host_register || ((flags & REGISTER_READ_ONLY) && !conf.read_only_register) || (flags & REGISTER_IOMEMORY))
		return NOT_SUPPORTED;
	int may = protection(address, bytes);
	if (!may || (may == 1 && !(flags & REGISTER_READ_ONLY))) {
		report("S9", __func__, may ? "memory that is not writable is registered without READ_ONLY" : "memory is not mapped, or not readable");
		return INVALID_VALUE;
	}
	struct pinned *new = malloc(sizeof *new);
	if (!new)
		return OUT_OF_MEMORY;
	lock();
	bool overlap = false;
	for (struct pinned *o = pinned; o && !overlap; o = o->next)
		overlap = down(address) < up(o->address + o->bytes) && down(o->address) < up(address + bytes);
	if (!overlap)
		pin(new, address, bytes, false, flags & REGISTER_READ_ONLY);
	unlock();
	cost_us(1000);
	if (overlap) {
		free(new);
		report("S9", __func__, "%zu bytes at %p share a page with memory that is registered already", bytes, p);
		return HOST_ALREADY_REGISTERED;
	}
	return OK;
}

API cuMemHostUnregister(void *p) {
	CALL(NEED_CONTEXT_EVEN_LOST);
	u64 bytes = 0;
	lock();
	for (struct pinned *o = pinned; o; o = o->next)
		if (o->address == (u64)(uintptr_t)p && !o->made)
			bytes = o->bytes;
	unlock();
	if (bytes && !protection((u64)(uintptr_t)p, bytes))
		report("S9", __func__, "%llu bytes at %p were unmapped before their registration is taken back", (unsigned long long)bytes, p);
	if (unpin((u64)(uintptr_t)p, false, HOST_NOT_REGISTERED)) {
		report("S9", __func__, "no registration begins at %p", p);
		return HOST_NOT_REGISTERED;
	}
	cost_us(500);
	return leave();
}

API cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags) {
	CALL(NEED_CONTEXT);
	if (!out || flags)
		return INVALID_VALUE;
	bool read_only;
	lock();
	bool is = host_pinned((u64)(uintptr_t)p, 1, &read_only);
	unlock();
	if (!is)
		return INVALID_VALUE;
	*out = (u64)(uintptr_t)p; // one address space
	return OK;
}

void host_drop(struct context *c) {
	u32 n = 0;
	for (struct pinned **at = &pinned; *at;)
		if ((*at)->context == c) {
			take(at);
			n++;
		} else {
			at = &(*at)->next;
		}
	context_busy(c, "pieces of host memory", n);
}
