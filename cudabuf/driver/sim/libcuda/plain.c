// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Memory that is allocated and mapped in one call, and questions about memory.
#include "sim.h"

#include <string.h>

API cuMemGetInfo_v2(size_t *available, size_t *total) {
	CALL(NEED_CONTEXT);
	if (!available || !total)
		return INVALID_VALUE;
	lock();
	u64 used = run_used(conf.visible[current()->device]);
	unlock();
	*total = conf.total;
	*available = used < conf.total ? conf.total - used : 0;
	return OK;
}

API cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
	CALL(NEED_CONTEXT);
	if (!out || !bytes)
		return INVALID_VALUE;
	CUresult r;
	u64 whole = ((u64)bytes + PAGE - 1) / PAGE * PAGE;
	lock();
	struct phys *p = phys_create(whole, conf.visible[current()->device], HANDLE_NONE, &r);
	if (p) {
		p->context = current();
		p->legacy = true;
		u64 at = address_take(whole, GRANULE);
		if (at && mapping_add(at, p, ACCESS_READWRITE, current())) {
			*out = at;
		} else {
			if (at)
				address_give(at, whole);
			phys_drop(p);
			r = OUT_OF_MEMORY;
		}
	}
	unlock();
	cost_us(300);
	return r;
}

API cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned element) {
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return INVALID_VALUE;
	size_t p = (width + 511) / 512 * 512;
	CUresult r = cuMemAlloc_v2(out, p * height);
	if (r == OK)
		*pitch = p;
	return r;
}

static struct mapping *plain_at(u64 address) {
	struct mapping *m = mapping_at(address);
	return m && m->phys->legacy && m->address == address ? m : NULL;
}

// cuMemFree waits for everything: it is nothing for the way of a frame.
API cuMemFree_v2(CUdeviceptr address) {
	CALL(NEED_CONTEXT_EVEN_LOST);
	if (!address)
		return leave();
	const char *used = NULL;
	bool was_lost = lost();
	lock();
	struct mapping *m = plain_at(address);
	bool inside = !m && mapping_at(address) && mapping_at(address)->phys->legacy, busy = false;
	if (m) {
		busy = ops_touch(address, m->bytes, true, &used);
		streams_drain(m->context); // lets go of G
		m = plain_at(address);
	}
	if (m) {
		u64 bytes = m->bytes;
		memset(m->phys->data, 0xdd, bytes);
		mapping_remove(m);
		address_give(address, bytes);
	}
	unlock();
	if (!m) {
		report("S26", __func__, "%#llx is %s", address, inside ? "inside an allocation, not its start" : "no allocation: freed before, or mapped memory");
		return INVALID_VALUE;
	}
	if (busy && !was_lost)
		report("S24", __func__, "%s that uses the memory is not known to be finished", used);
	cost_us(300);
	return leave();
}

API cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
	CALL(NEED_CONTEXT);
	lock();
	struct mapping *m = mapping_at(address);
	if (m && base)
		*base = m->address;
	if (m && bytes)
		*bytes = m->bytes;
	unlock();
	return m ? OK : NOT_FOUND;
}

// attribute answers one attribute of a pointer; the size of the answer is the
// attribute's own.
static CUresult attribute(void *out, int what, CUdeviceptr address) {
	struct mapping *m = mapping_at(address);
	bool read_only;
	bool host = !m && host_pinned(address, 1, &read_only);
	if (!m && !host)
		return INVALID_VALUE;
	u64 wide = 0;
	int narrow = 0;
	switch (what) {
	case 1: wide = (u64)(uintptr_t)(m ? m->context : current()); break;
	case 2: narrow = m ? MEM_DEVICE : MEM_HOST; break;
	case 3: wide = address; break;
	case 4:
		if (m)
			return INVALID_VALUE;
		wide = address;
		break;
	case 7: wide = m ? m->phys->id : address; break;
	case 8: case 10: { // managed; fit for legacy sharing
		u8 yes = what == 10 && m && m->phys->legacy && conf.legacy_code == OK;
		memcpy(out, &yes, 1);
		return OK;
	}
	case 9: narrow = m ? gpu_uuid_ordinal(m->phys->gpu) : current()->device; break;
	case 11: case 19: wide = m ? m->address : address; break;
	case 12: case 18: wide = m ? m->bytes : 0; break;
	case 13: narrow = 1; break;
	case 14: wide = m ? (u64)m->phys->requested : 0; break;
	case 16: narrow = m ? m->access : ACCESS_READWRITE; break;
	case 20: wide = m ? m->phys->id : 0; break;
	default: return INVALID_VALUE;
	}
	if (what == 2 || what == 9 || what == 13 || what == 16)
		memcpy(out, &narrow, sizeof narrow);
	else
		memcpy(out, &wide, sizeof wide);
	return OK;
}

API cuPointerGetAttribute(void *out, CUpointer_attribute what, CUdeviceptr address) {
	CALL(NEED_CONTEXT);
	if (!out)
		return INVALID_VALUE;
	lock();
	CUresult r = attribute(out, what, address);
	unlock();
	return r;
}

API cuPointerGetAttributes(unsigned n, CUpointer_attribute *what, void **out, CUdeviceptr address) {
	CALL(NEED_CONTEXT);
	if (!n || !what || !out)
		return INVALID_VALUE;
	lock();
	for (unsigned i = 0; i < n; i++)
		if (out[i])
			attribute(out[i], what[i], address);
	unlock();
	return OK;
}

API cuPointerSetAttribute(const void *value, CUpointer_attribute what, CUdeviceptr address) {
	CALL(NEED_CONTEXT);
	(void)address;
	return value && what == 6 ? OK : INVALID_VALUE;
}

void context_drop(struct context *c) {
	streams_drain(c);
	race_observe_all(c);
	context_busy(c, "streams", streams_drop(c));
	context_busy(c, "events", events_drop(c));
	vmm_drop(c);
	host_drop(c);
}
