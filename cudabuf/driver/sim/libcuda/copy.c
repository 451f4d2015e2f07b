// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Copies and fills, as they are asked for: what can be known to be wrong at
// once is said at once.
#include "sim.h"

#include <stdlib.h>
#include <sys/mman.h>

// range_of is all that an end of a copy touches, from its first byte to its
// last.
static struct range range_of(const struct end *e, u64 width, u64 height, bool write) {
	return (struct range){.device = e->device, .write = write, .address = e->address, .bytes = height ? e->pitch * (height - 1) + width : 0};
}

// check_device says what is wrong with a range of device memory, and whether
// the operation can be queued nevertheless: it breaks when it runs then.
static CUresult check_device(struct op *op, const struct range *r) {
	bool without, read_only;
	if (mapped(r->address, r->bytes, r->write ? ACCESS_READWRITE : ACCESS_READ, &without)) {
		if (without) {
			struct mapping *m = mapping_at(r->address);
			report("S27", op->call, "%s", m->access == ACCESS_NONE ? "no access to the memory was set" : "memory that may be read only is written");
			op->breaks = ILLEGAL_ADDRESS;
		}
		return OK;
	}
	if (host_pinned(r->address, r->bytes, &read_only))
		return OK; // registered memory by its device address
	struct mapping *m = mapping_at(r->address);
	if (m)
		report("S5", op->call, "%llu bytes from %#llx reach %llu beyond the memory", (unsigned long long)r->bytes, (unsigned long long)r->address,
			(unsigned long long)(r->address + r->bytes - m->address - m->bytes));
	else
		report(vmm_reserved(r->address, r->bytes) ? "S27" : "S5", op->call, "%#llx is no device memory%s", (unsigned long long)r->address,
			vmm_reserved(r->address, r->bytes) ? ": reserved, with nothing mapped" : "");
	return INVALID_VALUE;
}

static CUresult check_host(struct op *op, const struct range *r) {
	bool read_only;
	u64 space, bytes;
	space = address_space(&bytes);
	if (r->address >= space && r->address < space + bytes) {
		report("S5", op->call, "a device address is given as host memory");
		return INVALID_VALUE;
	}
	if (!host_pinned(r->address, r->bytes, &read_only)) {
		if (!conf.pageable)
			report("S7", op->call, "host memory that is not page-locked, in an asynchronous copy of %llu bytes", (unsigned long long)r->bytes);
	} else if (read_only && r->write) {
		report("S9", op->call, "host memory that is registered read only is written");
		op->breaks = ILLEGAL_ADDRESS;
	}
	return OK;
}

static CUresult submit(struct op *op, CUstream stream) {
	if (!op)
		return OUT_OF_MEMORY;
	if (!op->width || !op->height) { // nothing to do
		lock();
		op_free(op);
		unlock();
		return leave();
	}
	if (op->kind == OP_COPY)
		op->ranges[op->nranges++] = range_of(&op->src, op->width, op->height, false);
	op->ranges[op->nranges++] = range_of(&op->dst, op->width, op->height, true);
	CUresult r = OK;
	lock();
	for (int i = 0; i < op->nranges && r == OK; i++)
		r = op->ranges[i].device ? check_device(op, &op->ranges[i]) : check_host(op, &op->ranges[i]);
	if (r) {
		op_free(op);
		unlock();
		return r;
	}
	unlock();
	if (op->kind == OP_COPY && !op->src.device) {
		const struct range *s = &op->ranges[0];
		u64 from = s->address / PAGE * PAGE;
		if (msync((void *)(uintptr_t)from, s->address + s->bytes - from, MS_ASYNC) == 0) { // else it is not mapped
			op->sum = source_sum(op);
			op->summed = true;
		}
	}
	return op_enqueue(op, stream);
}

static struct op *copy(u64 dst, bool dst_device, u64 src, bool src_device, size_t bytes) {
	struct op *op = op_new(OP_COPY);
	if (op) {
		op->dst = (struct end){.device = dst_device, .address = dst, .pitch = bytes};
		op->src = (struct end){.device = src_device, .address = src, .pitch = bytes};
		op->width = bytes;
		op->height = 1;
	}
	return op;
}

API cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream) {
	CALL(NEED_CONTEXT);
	return submit(copy(dst, true, (u64)(uintptr_t)src, false, bytes), stream);
}

API cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream) {
	CALL(NEED_CONTEXT);
	return submit(copy((u64)(uintptr_t)dst, false, src, true, bytes), stream);
}

API cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
	CALL(NEED_CONTEXT);
	return submit(copy(dst, true, src, true, bytes), stream);
}

// end_of is one end of a copy in two dimensions; false where it cannot be.
static bool end_of(struct end *e, int type, const void *host, CUdeviceptr device, size_t pitch, size_t x, size_t y, size_t width, size_t height) {
	u64 base = type == MEM_HOST ? (u64)(uintptr_t)host : device;
	if (type != MEM_HOST && type != MEM_DEVICE && type != MEM_UNIFIED)
		return false;
	if (!pitch)
		pitch = x + width;
	if (pitch < x + width && height > 1)
		return false;
	*e = (struct end){.device = type != MEM_HOST, .address = base + y * pitch + x, .pitch = pitch};
	return true;
}

API cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream) {
	CALL(NEED_CONTEXT);
	struct op *op = c ? op_new(OP_COPY) : NULL;
	if (!op)
		return c ? OUT_OF_MEMORY : INVALID_VALUE;
	op->width = c->WidthInBytes;
	op->height = c->Height;
	if (!end_of(&op->src, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcPitch, c->srcXInBytes, c->srcY, op->width, op->height) ||
	    !end_of(&op->dst, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstPitch, c->dstXInBytes, c->dstY, op->width, op->height) ||
	    (!op->src.device && !op->dst.device)) {
		report("S5", __func__, "memory types %d to %d, pitches %zu and %zu for rows of %zu bytes", c->srcMemoryType, c->dstMemoryType, c->srcPitch, c->dstPitch, c->WidthInBytes);
		free(op);
		return INVALID_VALUE;
	}
	return submit(op, stream);
}

API cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t bytes, CUstream stream) {
	CALL(NEED_CONTEXT);
	struct op *op = op_new(OP_SET);
	if (op) {
		op->dst = (struct end){.device = true, .address = dst, .pitch = bytes};
		op->value = value;
		op->width = bytes;
		op->height = 1;
	}
	return submit(op, stream);
}
