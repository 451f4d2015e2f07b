// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Virtual memory management: handles of physical memory, reserved addresses,
// mappings between them, and the way to other processes by descriptor.
#include "sim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static struct {
	struct phys *phys;
	u32 refs, generation;
	struct context *context;
} handles[MAX_HANDLES];

static struct reservation {
	struct reservation *next;
	u64 address, bytes;
	struct context *context;
} *reservations;

// A handle is never an address, nor one that was given before.
static CUhandle handle_of(u32 slot) { return 0x6800000000000000u | (u64)handles[slot].generation << 16 | slot; }

static int slot_of(CUhandle h) {
	u32 slot = (u32)(h & 0xffff);
	return slot < MAX_HANDLES && handles[slot].refs && handle_of(slot) == h ? (int)slot : -1;
}

static bool handle_new(struct phys *p, CUhandle *out) {
	for (u32 i = 0; i < MAX_HANDLES; i++)
		if (!handles[i].refs) {
			handles[i].phys = p;
			handles[i].refs = 1;
			handles[i].generation++;
			handles[i].context = current();
			p->handles++;
			*out = handle_of(i);
			run_count(COUNT_HANDLE, 1);
			return true;
		}
	return false;
}

static void handle_drop(u32 slot) {
	struct phys *p = handles[slot].phys;
	if (--handles[slot].refs)
		return;
	handles[slot].phys = NULL;
	p->handles--;
	run_count(COUNT_HANDLE, -1);
	phys_drop(p);
}

// prop_check says why the driver refuses properties of memory, or OK.
static CUresult prop_check(const CUmemAllocationProp *prop) {
	static const unsigned char zero[4];
	if (!prop || prop->type != 1 || prop->location.type != 1 || memcmp(prop->allocFlags.reserved, zero, 4))
		return INVALID_VALUE;
	if (!device_valid(prop->location.id))
		return INVALID_DEVICE;
	if (prop->requestedHandleTypes & ~HANDLE_POSIX_FD)
		return NOT_SUPPORTED;
	if (prop->requestedHandleTypes && !conf.posix_fd)
		return NOT_SUPPORTED;
	return OK;
}

NEW_API cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option) {
	CALL(NEED_INIT);
	if (!conf.vmm)
		return NOT_SUPPORTED;
	if (!out || (int)option < 0 || (int)option > 1)
		return INVALID_VALUE;
	CUresult r = prop_check(prop);
	if (r == OK)
		*out = GRANULE;
	return r;
}

NEW_API cuMemCreate(CUhandle *out, size_t bytes, const CUmemAllocationProp *prop, unsigned long long flags) {
	CALL(NEED_CONTEXT);
	if (!conf.vmm)
		return NOT_SUPPORTED;
	if (!out || flags)
		return INVALID_VALUE;
	CUresult r = prop_check(prop);
	if (r)
		return r;
	if (!bytes || bytes % GRANULE) {
		report("S27", __func__, "%zu bytes are no multiple of the granularity, %d", bytes, GRANULE);
		return INVALID_VALUE;
	}
	lock();
	struct phys *p = phys_create(bytes, conf.visible[prop->location.id], prop->requestedHandleTypes, &r);
	if (p) {
		p->context = current();
		if (!handle_new(p, out)) {
			phys_drop(p);
			r = OUT_OF_MEMORY;
		}
	}
	unlock();
	cost_us(300);
	return r;
}

NEW_API cuMemRelease(CUhandle h) {
	CALL(NEED_CONTEXT_EVEN_LOST);
	lock();
	int slot = slot_of(h);
	if (slot >= 0)
		handle_drop((u32)slot);
	unlock();
	if (slot < 0) {
		report("S27", __func__, "no such handle of memory: released before, or never given");
		return INVALID_VALUE;
	}
	return leave();
}

NEW_API cuMemRetainAllocationHandle(CUhandle *out, void *address) {
	CALL(NEED_CONTEXT);
	if (!out)
		return INVALID_VALUE;
	CUresult r = INVALID_VALUE;
	lock();
	struct mapping *m = mapping_at((u64)(uintptr_t)address);
	if (m && !m->phys->legacy)
		r = handle_new(m->phys, out) ? OK : OUT_OF_MEMORY;
	unlock();
	return r;
}

NEW_API cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out, CUhandle h) {
	CALL(NEED_INIT);
	if (!out)
		return INVALID_VALUE;
	lock();
	int slot = slot_of(h);
	if (slot >= 0) {
		memset(out, 0, sizeof *out);
		out->type = 1;
		out->requestedHandleTypes = handles[slot].phys->requested;
		out->location.type = 1;
		out->location.id = gpu_uuid_ordinal(handles[slot].phys->gpu);
	}
	unlock();
	return slot < 0 ? INVALID_VALUE : OK;
}

NEW_API cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t align, CUdeviceptr hint, unsigned long long flags) {
	CALL(NEED_CONTEXT);
	(void)hint;
	if (!conf.vmm)
		return NOT_SUPPORTED;
	if (!out || flags || (align & (align - 1)))
		return INVALID_VALUE;
	if (!bytes || bytes % GRANULE) {
		report("S27", __func__, "%zu bytes are no multiple of the granularity, %d", bytes, GRANULE);
		return INVALID_VALUE;
	}
	CUresult r = OUT_OF_MEMORY;
	lock();
	struct reservation *v = malloc(sizeof *v);
	u64 at = v ? address_take(bytes, align) : 0;
	if (at) {
		*v = (struct reservation){.next = reservations, .address = at, .bytes = bytes, .context = current()};
		reservations = v;
		run_count(COUNT_RESERVATION, 1);
		*out = at;
		r = OK;
	} else {
		free(v);
	}
	unlock();
	return r;
}

static void reservation_drop(struct reservation **at) {
	struct reservation *v = *at;
	*at = v->next;
	address_give(v->address, v->bytes);
	free(v);
	run_count(COUNT_RESERVATION, -1);
}

static bool any_mapping(u64 address, u64 bytes) {
	for (u64 a = address; a < address + bytes; a += GRANULE)
		if (mapping_at(a))
			return true;
	return false;
}

NEW_API cuMemAddressFree(CUdeviceptr address, size_t bytes) {
	CALL(NEED_CONTEXT_EVEN_LOST);
	const char *wrong = "no such reservation: it is given back whole, and once";
	lock();
	for (struct reservation **at = &reservations; *at; at = &(*at)->next)
		if ((*at)->address == address && (*at)->bytes == bytes) {
			wrong = "memory is still mapped there";
			if (!any_mapping(address, bytes)) {
				reservation_drop(at);
				wrong = NULL;
			}
			break;
		}
	unlock();
	if (wrong) {
		report("S27", __func__, "%s", wrong);
		return INVALID_VALUE;
	}
	return leave();
}

NEW_API cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUhandle h, unsigned long long flags) {
	CALL(NEED_CONTEXT);
	const char *wrong = NULL;
	CUresult r = INVALID_VALUE;
	lock();
	int slot = slot_of(h);
	struct reservation *v = reservations;
	while (v && !(address >= v->address && address - v->address < v->bytes && bytes <= v->bytes - (address - v->address)))
		v = v->next;
	if (flags || offset)
		wrong = "flags and offset must be 0";
	else if (slot < 0)
		wrong = "no such handle of memory";
	else if (!bytes || bytes != handles[slot].phys->bytes)
		wrong = "a mapping covers the whole memory of its handle";
	else if (address % GRANULE || !v)
		wrong = "the range is not reserved, or not aligned to the granularity";
	else if (any_mapping(address, bytes))
		wrong = "something is mapped there already";
	else
		r = mapping_add(address, handles[slot].phys, ACCESS_NONE, current()) ? OK : OUT_OF_MEMORY;
	unlock();
	if (wrong)
		report("S27", __func__, "%s", wrong);
	cost_us(200);
	return r;
}

// each applies f to the mappings that make up the range exactly, and is false
// without doing anything where it is no row of whole mappings.
static bool each(u64 address, u64 bytes, void (*f)(struct mapping *, int), int arg) {
	u64 a = address, end = address + bytes;
	while (a < end) {
		struct mapping *m = mapping_at(a);
		if (!m || m->address != a || m->bytes > end - a)
			return false;
		a += m->bytes;
	}
	for (a = address; a < end;) {
		struct mapping *m = mapping_at(a);
		a += m->bytes;
		f(m, arg);
	}
	return bytes > 0;
}

static void unmap(struct mapping *m, int arg) {
	(void)arg;
	mapping_remove(m);
}

static void set_access(struct mapping *m, int flags) { m->access = flags; }

NEW_API cuMemUnmap(CUdeviceptr address, size_t bytes) {
	CALL(NEED_CONTEXT_EVEN_LOST);
	const char *used = NULL;
	bool was_lost = lost();
	lock();
	bool busy = ops_touch(address, bytes, true, &used);
	bool done = each(address, bytes, unmap, 0);
	unlock();
	if (!done) {
		report("S27", __func__, "no row of whole mappings: %zu bytes at %#llx", bytes, address);
		return INVALID_VALUE;
	}
	if (busy && !was_lost)
		report("S24", __func__, "%s that uses the memory is not known to be finished", used);
	cost_us(200);
	return leave();
}

NEW_API cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *desc, size_t n) {
	CALL(NEED_CONTEXT);
	if (!desc || !n)
		return INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (desc[i].location.type != 1 || (desc[i].flags != ACCESS_NONE && desc[i].flags != ACCESS_READ && desc[i].flags != ACCESS_READWRITE))
			return INVALID_VALUE;
		if (!device_valid(desc[i].location.id))
			return INVALID_DEVICE;
	}
	CUresult r = OK;
	lock();
	for (size_t i = 0; i < n && r == OK; i++) {
		struct mapping *m = mapping_at(address);
		if (m && m->phys->gpu != conf.visible[desc[i].location.id])
			r = PEER_ACCESS_UNSUPPORTED;
		else if (!m || m->phys->legacy || !each(address, bytes, set_access, desc[i].flags))
			r = INVALID_VALUE;
	}
	unlock();
	if (r == INVALID_VALUE)
		report("S27", __func__, "no row of whole mappings: %zu bytes at %#llx", bytes, address);
	else if (r)
		report("S27", __func__, "the location is not the GPU that the memory is on: the ordinal must be this process's, found by UUID");
	cost_us(200);
	return r;
}

NEW_API cuMemExportToShareableHandle(void *out, CUhandle h, CUmemAllocationHandleType type, unsigned long long flags) {
	CALL(NEED_CONTEXT);
	if (!out || flags || type != HANDLE_POSIX_FD)
		return INVALID_VALUE;
	if (conf.export_code)
		return conf.export_code;
	CUresult r = OK;
	const char *wrong = NULL;
	lock();
	int slot = slot_of(h);
	if (slot < 0)
		wrong = "no such handle of memory";
	else if (!(handles[slot].phys->requested & HANDLE_POSIX_FD))
		wrong = "the memory was not made to be exported as a descriptor";
	if (!wrong) {
		// Not close-on-exec: the worse of what a driver may do. And not to be
		// written or cut short by whoever gets it, as no driver's can.
		const struct phys *p = handles[slot].phys;
		int fd = run_reopen(p->bytes, p->gpu, p->id, O_RDONLY);
		if (fd < 0) {
			r = OPERATING_SYSTEM;
		} else {
			memcpy(out, &fd, sizeof fd);
			thread_exported(fd);
		}
	}
	unlock();
	if (wrong) {
		report("S28", __func__, "%s", wrong);
		return INVALID_VALUE;
	}
	return r;
}

NEW_API cuMemImportFromShareableHandle(CUhandle *out, void *os, CUmemAllocationHandleType type) {
	CALL(NEED_CONTEXT);
	if (!conf.vmm)
		return NOT_SUPPORTED;
	if (!out || type != HANDLE_POSIX_FD)
		return INVALID_VALUE;
	if (conf.import_code)
		return conf.import_code;
	CUresult r;
	intptr_t fd = (intptr_t)os;
	if (fd < 0 || fd > 1 << 24) {
		report("S28", __func__, "%p is no descriptor: it is passed itself, not its address", os);
		return INVALID_VALUE;
	}
	lock();
	struct phys *p = phys_import((int)fd, &r);
	if (p && !handle_new(p, out)) {
		phys_drop(p);
		r = OUT_OF_MEMORY;
	}
	unlock();
	if (r == OPERATING_SYSTEM || r == INVALID_VALUE)
		report("S28", __func__, "descriptor %d is %s", (int)fd, r == INVALID_VALUE ? "no memory exported by a process of this run" : "not open");
	cost_us(1000);
	return r;
}

bool vmm_reserved(u64 address, u64 bytes) {
	for (struct reservation *v = reservations; v; v = v->next)
		if (address < v->address + v->bytes && v->address < address + bytes)
			return true;
	return false;
}

// vmm_drop is the end of a context: what it holds goes.
void vmm_drop(struct context *c) {
	u32 nm = 0, nr = 0, nh = 0;
	for (struct mapping *m; (m = mapping_first(c)); nm++) {
		if (m->phys->legacy)
			address_give(m->address, m->bytes);
		mapping_remove(m);
	}
	for (struct reservation **at = &reservations; *at;)
		if ((*at)->context == c) {
			reservation_drop(at);
			nr++;
		} else {
			at = &(*at)->next;
		}
	for (u32 i = 0; i < MAX_HANDLES; i++)
		if (handles[i].refs && handles[i].context == c) {
			handles[i].refs = 1;
			handle_drop(i);
			nh++;
		}
	context_busy(c, "mappings or allocations", nm);
	context_busy(c, "reservations", nr);
	context_busy(c, "handles of memory", nh);
}
