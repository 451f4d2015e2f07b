// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package mutants

// The subscriber's side in Go.
var clientMutants = []mutant{
	{
		what: "the program proves that it reads device memory", file: "client/device.go", pkg: "client", test: "TestDeviceFrames",
		from: "return append(probe, there...), nil", to: "return probe, nil",
	},
	{
		what: "device memory is let go of", file: "client/device.go", pkg: "client/gpu", test: "TestFallBack",
		from: "errs = append(errs, e.device.Close())\n", to: "",
	},
	{
		what: "registered memory is let go of before it is unmapped", file: "client/device.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "errs = append(errs, e.pinned.Close())\n", to: "defer e.pinned.Close()\n",
	},
	{
		what: "memory stays as long as its frames", file: "client/subscription.go", pkg: "client/gpu", test: "TestChangeOfFormat", quick: true,
		from: "if e.over && e.users == 0 {", to: "if e.over && e.users <= 1 {",
	},
	{
		what: "a change of format stays on its path", file: "client/keep.go", pkg: "client", test: "TestDeviceReconfigThatCannotBe",
		from: "if (r.Device != nil) != (cn.path.Backend == negotiate.BackendCUDA) {", to: "if false {",
	},
	{
		what: "a lease is of the mailbox's generation", file: "client/subscription.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "return Frame{h, h.ticket.Add(1)}", to: "h.lease.Word ^= 1 << 20\n\treturn Frame{h, h.ticket.Add(1)}",
	},
	{
		what: "work waits for the upload", file: "client/gpu/upload.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "if err := t.StreamWait(j.stream, h.ready); err != nil {", to: "if err := error(nil); err != nil {",
	},
	{
		what: "the upload's end is marked", file: "client/gpu/upload.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "if err := t.Record(h.ready, j.use.copies); err != nil {", to: "if err := error(nil); err != nil {",
	},
	{
		what: "what is read back is waited for", file: "client/gpu/upload.go", pkg: "client/gpu", test: "TestCopyToHost", quick: true,
		from: "err = j.await()", to: "err = nil",
	},
	{
		what: "the end of what is read back is marked", file: "client/gpu/upload.go", pkg: "client/gpu", test: "TestCopyToHost",
		from: "return t.Record(j.read, j.use.engine.side)", to: "return nil",
	},
	{
		what: "a stream that reads an uploaded frame is named", file: "client/gpu/upload.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "\treturn h.reading.UseOn(s)\n}\n\n// once", to: "\treturn nil\n}\n\n// once",
	},
	{
		what: "a stream that reads a frame in place is named", file: "client/gpu/upload.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "if err := h.reading.UseOn(s); err != nil {", to: "if err := error(nil); err != nil {",
	},
	{
		what: "an upload that went wrong half-way is waited for", file: "client/gpu/upload.go", pkg: "client/gpu", test: "TestDestroyedStream",
		from: "return errors.Join(err, h.reading.UseOn(u.copies))", to: "return err",
	},
	{
		what: "each frame is uploaded", file: "client/gpu/frame.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "h.frame, h.began, h.uploaded, h.used, h.released = client.Frame{}, false, false,", to: "h.frame, h.began, h.uploaded, h.used, h.released = client.Frame{}, false, h.uploaded,",
	},
	{
		what: "a frame is given back when the GPU is done", file: "client/gpu/frame.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "\tif began {\n\t\treturn", to: "\tif began && reading == (cudabuf.ReadHandle{}) {\n\t\treturn",
	},
	{
		what: "a frame that was is not the one that is", file: "client/gpu/frame.go", pkg: "client/gpu", test: "TestMisuse",
		from: "f.h.ticket != f.ticket || f.h.released", to: "f.h.released",
	},
	{
		what: "a frame that was released is not used", file: "client/gpu/frame.go", pkg: "client/gpu", test: "TestMisuse",
		from: "f.h.ticket != f.ticket || f.h.released", to: "f.h.ticket != f.ticket",
	},
	{
		what: "what was read back is of the frame's generation", file: "client/gpu/frame.go", pkg: "client/gpu", test: "TestStaleFrames",
		from: "c.ReadBack++ })\n\treturn n, h.frame.Valid()", to: "c.ReadBack++ })\n\treturn n, nil",
	},
	{
		what: "the reaper asks the frame itself whether it is stale", file: "client/gpu/frame.go", pkg: "client/gpu", test: "TestStaleFrames",
		from: "Valid() error { return l.frame.Valid() }", to: "Valid() error { return nil }",
	},
	{
		what: "memory is mapped for reading only", file: "client/gpu/importer.go", pkg: "client/gpu", test: "TestFramesAreReadOnly",
		from: "cudabuf.Import(e.submit, own, bytes, false)", to: "cudabuf.Import(e.submit, own, bytes, true)",
	},
	{
		what: "the probe's copy is waited for", file: "client/gpu/importer.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "err = cudabuf.Finish(t, m.engine.side)", to: "_ = cudabuf.Finish",
	},
	{
		what: "imported memory is unmapped", file: "client/gpu/importer.go", pkg: "client/gpu", test: "TestFallBack",
		from: "return m.memory.Close(m.engine.submit)", to: "return nil",
	},
	{
		what: "the registration of a ring is taken back", file: "client/gpu/importer.go", pkg: "client/gpu", test: "TestOnDevice",
		from: "return e.submit.HostUnregister(r.memory)", to: "return nil",
	},
	{
		what: "the end of a subscription waits for the GPU", file: "client/gpu/subscription.go", pkg: "client/gpu", test: "TestCloseWaitsForWork",
		from: "late := u.engine.note(u.reaper.Close())", to: "go u.reaper.Close()\n\t\tvar late error",
	},
	{
		what: "a device that is used is not closed", file: "client/gpu/device.go", pkg: "client/gpu", test: "TestMisuse",
		from: "(d.subs > 0 || d.mapped+len(d.rings) > 0) {", to: "false {",
	},
	{
		what: "a device is not closed below memory that is mapped", file: "client/gpu/device.go", pkg: "client/gpu", test: "TestCloseBelowPlainSubscriptions",
		from: "(d.subs > 0 || d.mapped+len(d.rings) > 0) {", to: "d.subs > 0 {",
	},
	{
		what: "a subscription is closed once", file: "client/gpu/subscription.go", pkg: "client/gpu", test: "TestCloseAtOnce",
		from: "\ts.over = true\n", to: "",
	},
	{
		what: "a GPU that was lost is not used on", file: "client/gpu/importer.go", pkg: "client/gpu", test: "TestHelloOfLostGPU",
		from: "h.DeviceReason, h.DeviceDetail = reasonOf(err), err.Error()\n\t\treturn\n", to: "_ = err\n",
	},
}

// The subscriber's side in C. The tests run on a copy of it.
var cMutants = []mutant{
	{
		what: "a lease is kept until the work is complete", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "done[i] = code == CU_SUCCESS;", to: "done[i] = true;",
	},
	{
		what: "the end of the work is marked", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "code = cu.cuEventRecord(l->event, cuda);", to: "(void)cuda;",
	},
	{
		what: "a frame waits for its work", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "l->state = SLOT_PENDING;\n\tsub->stats.held--;\n\tsub->stats.pending++;", to: "end_lease(sub, l);\n\treturn CAMD_OK;",
	},
	{
		what: "the proof covers device memory", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "sha256_add(&sum, probe, sizeof probe);", to: "",
	},
	{
		what: "a lease is given back", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "atomic_store(at32(page, PAGE_HEAD), head + 1);", to: "",
	},
	{
		what: "the slot is that of the mailbox", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "f->device = e->base + slot *", to: "f->device = e->base + (slot ^ 1) *",
	},
	{
		what: "the end waits for work", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceUse",
		from: "cu.cuEventQuery(s->leases[i].event) == CU_NOT_READY &&", to: "false &&",
	},
	{
		what: "the probe's copy is waited for", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "code = wait_copies(s, PROBE_LIMIT_MS);", to: "code = (wait_copies(s, 0), CU_SUCCESS);",
	},
	{
		what: "memory is unmapped", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "\tif (mapped)\n\t\tcu.cuMemUnmap(base, reserved);\n", to: "\t(void)mapped;\n",
	},
	{
		what: "memory is unmapped before its addresses are given back", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "\tif (mapped)\n\t\tcu.cuMemUnmap(base, reserved);\n\tcu.cuMemAddressFree(base, reserved);\n", to: "\tcu.cuMemAddressFree(base, reserved);\n\tif (mapped)\n\t\tcu.cuMemUnmap(base, reserved);\n",
	},
	{
		what: "the handle of memory is given back", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "cu.cuMemRelease(handle); /* the mapping keeps the memory */", to: "",
	},
	{
		what: "events are given back", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "cu.cuEventDestroy_v2(s->leases[i].event);", to: "(void)s;",
	},
	{
		what: "the context is given back", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFramesAreWhole",
		from: "\tcu.cuDevicePrimaryCtxRelease_v2(s->gpu);\n", to: "",
	},
	{
		what: "the program's context is current again", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceUse",
		from: "{ cu.cuCtxPopCurrent_v2(&s->saved); }", to: "{ (void)s; }",
	},
	{
		what: "memory stays as long as its frames", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceFormatChanges",
		from: "if (e == s->current || e->users > 0) {", to: "if (e == s->current) {",
	},
	{
		what: "the generation is looked at when a frame is taken", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestMemoryThatLies",
		from: "if (!fresh(e, word)) /* the daemon gave", to: "if (false) /* the daemon gave",
	},
	{
		what: "a generation that is another is stale", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestEviction",
		from: "== word >> 8;", to: ">= word >> 8;",
	},
	{
		what: "a ring is of the session that was announced", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestOffersThatCannotBe",
		from: "if (memcmp((char *)h + HDR_SESSION, session, 16) != 0)", to: "if (session == NULL)",
	},
	{
		what: "a frame is given back once", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestDeviceUse",
		from: "if (l == NULL)\n\t\treturn CAMD_RELEASED;\n\tframe->lease = 0;\n\tend_lease(sub, l);", to: "if (l == NULL)\n\t\tl = &sub->leases[0];\n\tframe->lease = 0;\n\tend_lease(sub, l);",
	},
	{
		what: "a path has the memory that it should", file: "clients/c/camd.c", pkg: "clients/c/check", test: "TestOffersThatCannotBe",
		from: "if (m->device.there != (strcmp(m->backend, \"cuda\") == 0))", to: "if (false)",
	},
}
