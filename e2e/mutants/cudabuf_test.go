// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package mutants

// The memory, the ring, the writer and the reader's end of work.
var cudabufMutants = []mutant{
	{
		what: "memory that was another's is cleared", file: "cudabuf/memory.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "if err := m.clear(t); err != nil {", to: "if err := error(nil); err != nil {",
	},
	{
		what: "clearing is waited for", file: "cudabuf/memory.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "err = Finish(t, s)", to: "err = nil",
	},
	{
		what: "memory is unmapped", file: "cudabuf/memory.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "errs = append(errs, t.Unmap(m.base, m.bytes))\n", to: "",
	},
	{
		what: "memory is unmapped before its addresses are given back", file: "cudabuf/memory.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "errs = append(errs, t.Unmap(m.base, m.bytes))\n", to: "errs = append(errs, t.AddressFree(m.base, m.bytes), t.Unmap(m.base, m.bytes))\n\t\tm.base = 0\n",
	},
	{
		what: "addresses are given back", file: "cudabuf/memory.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "errs = append(errs, t.AddressFree(m.base, m.bytes))\n", to: "",
	},
	{
		what: "the handle of memory is given back", file: "cudabuf/memory.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "errs = append(errs, t.MemRelease(m.handle))\n", to: "",
	},
	{
		what: "sizes from outside are multiples of what the GPU maps", file: "cudabuf/memory.go", pkg: "cudabuf", test: "TestMemoryRefuses",
		from: "if bytes%unit != 0 {", to: "if false {",
	},
	{
		what: "the probe's copy is waited for", file: "cudabuf/ring.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "err = Finish(t, s)", to: "err = nil",
	},
	{
		what: "the probe is random", file: "cudabuf/ring.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "rand.Read(r.probe[:])", to: "_, _ = rand.Read(nil)",
	},
	{
		what: "a ring that is closed is retired", file: "cudabuf/ring.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "\tr.Retire()\n", to: "",
	},
	{
		what: "the descriptor of the memory is closed", file: "cudabuf/ring.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "errs = append(errs, unix.Close(fd))\n", to: "",
	},
	{
		what: "the descriptor stays with this process", file: "cudabuf/ring.go", pkg: "cudabuf", test: "TestRingMemory",
		from: "unix.F_DUPFD_CLOEXEC", to: "unix.F_DUPFD",
	},
	{
		what: "a frame's copy is marked before it is waited for", file: "cudabuf/write.go", pkg: "cudabuf", test: "TestWriteHandle",
		from: "if err := t.Record(h.w.ready, h.w.stream); err != nil {", to: "if err := error(nil); err != nil {",
	},
	{
		what: "a frame is handed over when its copy is done", file: "cudabuf/write.go", pkg: "cudabuf", test: "TestWriteHandle", quick: true,
		from: "if err := t.Wait(h.w.ready, h.w.spin); err != nil {", to: "if err := error(nil); err != nil {",
	},
	{
		what: "a slot that is given back unpublished is not written any more", file: "cudabuf/write.go", pkg: "cudabuf", test: "TestWriteHandle",
		from: "if err := t.StreamSync(h.w.stream); driver.Sticky(err) {", to: "if err := error(nil); driver.Sticky(err) {",
	},
	{
		what: "what the driver does not tell of a stream it tells of the context", file: "cudabuf/write.go", pkg: "backend/cuda", test: "TestNoFrameGetsThrough",
		from: "if also := t.Sync(); also != nil {", to: "if also := error(nil); also != nil {",
	},
	{
		what: "what is larger than a slot is refused", file: "cudabuf/write.go", pkg: "cudabuf", test: "TestWriteHandle",
		from: "int64(len(src)) > stride {", to: "int64(len(src)) > 2*stride {",
	},
	{
		what: "a handle is used once", file: "cudabuf/write.go", pkg: "cudabuf", test: "TestWriteHandle",
		from: "\th.open = false\n\th.w.ring.Publish(h.slot, m)", to: "\th.w.ring.Publish(h.slot, m)",
	},
	{
		what: "one handle at a time", file: "cudabuf/write.go", pkg: "cudabuf", test: "TestWriteHandle",
		from: "if h.open {\n\t\treturn nil, ErrHandleOpen\n\t}\n", to: "",
	},
	{
		what: "the end of a reader's work is marked", file: "cudabuf/read.go", pkg: "cudabuf", test: "TestGivenBackWhenRead", quick: true,
		from: "if err := t.Record(r.events[i], s); err != nil {", to: "if err := error(nil); err != nil {",
	},
	{
		what: "every stream that reads is marked", file: "cudabuf/read.go", pkg: "cudabuf", test: "TestGivenBackWhenRead",
		from: "\th.r.streams = append(h.r.streams, s)\n", to: "\th.r.streams = append(h.r.streams[:0], s)\n",
	},
	{
		what: "a lease is kept until the marks are passed", file: "cudabuf/read.go", pkg: "cudabuf", test: "TestGivenBackWhenRead", quick: true,
		from: "if !done {\n\t\t\treturn false\n\t\t}\n", to: "_ = done\n",
	},
	{
		what: "the marks of all streams are looked at", file: "cudabuf/read.go", pkg: "cudabuf", test: "TestGivenBackWhenRead",
		from: "for r.passed < len(r.streams) {", to: "for r.passed < min(len(r.streams), 1) {",
	},
	{
		what: "a stream that cannot be marked is waited for with all others", file: "cudabuf/read.go", pkg: "cudabuf", test: "TestDestroyedStream",
		from: "r.failure = t.Sync()\n", to: "r.failure = nil\n",
	},
	{
		what: "default streams are refused", file: "cudabuf/read.go", pkg: "cudabuf", test: "TestMisuse",
		from: "if s <= LastDefaultStream {", to: "if false {",
	},
	{
		what: "a frame is given back once", file: "cudabuf/read.go", pkg: "cudabuf", test: "TestMisuse",
		from: "!h.r.ticket.CompareAndSwap(h.ticket, h.ticket+1)", to: "h.r.ticket.Load() != h.r.ticket.Add(1)-1",
	},
	{
		what: "a frame that was given back is not used", file: "cudabuf/read.go", pkg: "cudabuf", test: "TestMisuse",
		from: "h.r != nil && h.r.ticket.Load() == h.ticket", to: "h.r != nil",
	},
	{
		what: "the generation is looked at after the work", file: "cudabuf/readreap.go", pkg: "cudabuf", test: "TestStaleAfterCompletion", quick: true,
		from: "stale = l.Valid()", to: "stale = nil",
	},
	{
		what: "marks that are passed are those of this frame", file: "cudabuf/readreap.go", pkg: "cudabuf", test: "TestGivenBackWhenRead",
		from: "r.failure, r.passed, r.unknown", to: "r.failure, _, r.unknown",
	},
	{
		what: "a frame does not have the streams of the one before", file: "cudabuf/readreap.go", pkg: "cudabuf", test: "TestCostOfReading",
		from: "false, r.streams[:0]", to: "false, r.streams",
	},
	{
		what: "nothing is opened any more at the end", file: "cudabuf/readreap.go", pkg: "cudabuf", test: "TestMisuse",
		from: "\tif p.closing {\n", to: "\tif false {\n",
	},
	{
		what: "the end waits for frames that are open", file: "cudabuf/readreap.go", pkg: "cudabuf", test: "TestMisuse",
		from: " && p.stats.Open == 0", to: "",
	},
	{
		what: "the end waits for work", file: "cudabuf/readreap.go", pkg: "cudabuf", test: "TestEndWaitsForWork",
		from: "return p.closing && len(", to: "return p.closing && 0*len(",
	},
	{
		what: "events are given back", file: "cudabuf/readreap.go", pkg: "cudabuf", test: "TestCostOfReading",
		from: "errs = append(errs, p.submit.DestroyEvent(ev))", to: "_ = ev",
	},
}
