// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package mutants

// The daemon's side: upload, hand-shake and subscriptions, and what the ring has
// for them.
var backendMutants = []mutant{
	{
		what: "the host ring stays where it is", file: "backend/cuda/epoch.go", pkg: "backend/cuda", test: "TestEpochs",
		from: "\tif e.registered {\n", to: "\tif e.unpin != nil {\n\t\te.unpin()\n\t}\n\tif e.registered {\n",
	},
	{
		what: "the host ring is let go of", file: "backend/cuda/epoch.go", pkg: "backend/cuda", test: "TestEpochs",
		from: "\tif e.unpin != nil {\n\t\te.unpin()\n\t}\n", to: "",
	},
	{
		what: "the registration of the host ring is taken back", file: "backend/cuda/epoch.go", pkg: "backend/cuda", test: "TestEpochs",
		from: "errs = append(errs, t.HostUnregister(e.pixels))\n", to: "",
	},
	{
		what: "host memory is registered, or said not to be", file: "backend/cuda/epoch.go", pkg: "backend/cuda", test: "TestFramesAreWhole",
		from: "\tu.register(e)\n", to: "\te.registered = false\n",
	},
	{
		what: "the upload's place in the host ring is given up", file: "backend/cuda/epoch.go", pkg: "backend/cuda", test: "TestNothingWithoutSubscribers",
		from: "\t\te.reader.Close()\n", to: "",
	},
	{
		what: "the writer is given back", file: "backend/cuda/epoch.go", pkg: "backend/cuda", test: "TestEpochs",
		from: "errs = append(errs, e.writer.Close(t))\n", to: "",
	},
	{
		what: "the device ring is given back", file: "backend/cuda/epoch.go", pkg: "backend/cuda", test: "TestEpochs",
		from: "errs = append(errs, e.ring.Close(t))\n", to: "",
	},
	{
		what: "a lease of the host ring is kept until the copy is done", file: "backend/cuda/uploader.go", pkg: "backend/cuda", test: "TestHostFrameIsHeld", quick: true,
		from: "\terr := u.upload(e)\n\te.reader.Release(u.lease.Word)\n", to: "\te.reader.Release(u.lease.Word)\n\terr := u.upload(e)\n",
	},
	{
		what: "a lease of the host ring is given back", file: "backend/cuda/uploader.go", pkg: "backend/cuda", test: "TestFramesAreWhole",
		from: "\te.reader.Release(u.lease.Word)\n", to: "",
	},
	{
		what: "the slot of a frame that failed is given back", file: "backend/cuda/uploader.go", pkg: "backend/cuda", test: "TestOneFrameFails",
		from: "if also := h.Discard(u.thread); !driver.Sticky(also) {", to: "if also := error(nil); !driver.Sticky(also) {",
	},
	{
		what: "what is too old goes before what is new begins", file: "backend/cuda/uploader.go", pkg: "backend/cuda", test: "TestEpochs",
		from: "\tu.report(host, nil)\n\tu.close(before)\n", to: "\tu.report(host, nil)\n\t_ = before\n",
	},
	{
		what: "the context is given back", file: "backend/cuda/uploader.go", pkg: "backend/cuda", test: "TestNothingWithoutSubscribers",
		from: "if err := t.Close(); err != nil {", to: "if err := error(nil); err != nil {",
	},
	{
		what: "subscribers are told of a ring that is gone", file: "backend/cuda/uploader.go", pkg: "backend/cuda", test: "TestCompressedEpoch",
		from: "\tu.b.SetEpoch(nil, cause)\n", to: "\tu.b.SetEpoch(nil, nil)\n",
	},
	{
		what: "a GPU that is lost is not used on", file: "backend/cuda/uploader.go", pkg: "backend/cuda", test: "TestGPULost",
		from: "case driver.Sticky(err):\n\t\tu.b.engine.lose(err)", to: "case false:\n\t\tu.b.engine.lose(err)",
	},
	{
		what: "a copy that takes for ever is noticed", file: "backend/cuda/backend.go", pkg: "backend/cuda", test: "TestGPUHangs",
		from: "age > stuckAfter {", to: "false && age > stuckAfter {",
	},
	{
		what: "the last one waits until the GPU has everything back", file: "backend/cuda/backend.go", pkg: "backend/cuda", test: "TestNothingWithoutSubscribers",
		from: "\tcase <-up.done:\n\tcase <-t.C:", to: "\tdefault:\n\tcase <-t.C:",
	},
	{
		what: "users that are not listed get no device memory", file: "backend/cuda/engine.go", pkg: "backend/cuda", test: "TestUsers",
		from: "return uid == self || uid == 0 || slices.Contains(e.o.Users, uid)", to: "return uid == self || uid == 0 || slices.Contains(e.o.Users, uid) || uid > 0",
	},
	{
		what: "who does not see the GPU gets none of its memory", file: "backend/cuda/backend.go", pkg: "backend/cuda", test: "TestWhatKeepsAClientOff",
		from: "r != \"\" {\n\t\treturn backend.Declined(negotiate.BackendCUDA, r,", to: "r == \"-\" {\n\t\treturn backend.Declined(negotiate.BackendCUDA, r,",
	},
	{
		what: "the proof covers device memory", file: "backend/local/epoch.go", pkg: "backend/local", test: "TestEpochWithPixelsElsewhere",
		from: "return append(p, e.Probe...)", to: "return p",
	},
	{
		what: "the proof is checked", file: "backend/local/handshake.go", pkg: "backend/local", test: "TestAnswersToAnOffer", quick: true,
		from: "case !negotiate.CheckProof(challenge, want, m.Probe.Proof):", to: "case m.Probe.Proof == \"-\":",
	},
	{
		what: "an offer has its time", file: "backend/local/handshake.go", pkg: "backend/local", test: "TestProbeTimeout",
		from: "deadline := time.Now().Add(s.v.ProbeTimeout)", to: "deadline := time.Time{}",
	},
	{
		what: "frames are granted from START on", file: "backend/local/handshake.go", pkg: "backend/local", test: "TestOneReconfigUntilItsAck",
		from: "\trd.Start()\n", to: "",
	},
	{
		what: "leases end with the subscription", file: "backend/local/subscription.go", pkg: "backend/cuda", test: "TestReaderGoesWithLeases",
		from: "\t\t\trd.Remove()\n", to: "\t\t\t_ = rd\n",
	},
	{
		what: "a subscription is asked whether it may go on", file: "backend/local/subscription.go", pkg: "backend/local", test: "TestCheckCutsOff",
		from: "return s.v.Check()\n", to: "return nil\n",
	},
	{
		what: "who was evicted keeps its frames from the writer", file: "backend/local/evict.go", pkg: "backend/local", test: "TestEvictedUntilItGivesBack",
		from: "\tforce := time.NewTimer(s.v.ForceAfter)\n", to: "\tforce := time.NewTimer(0)\n",
	},
	{
		what: "who was evicted does not keep them for ever", file: "backend/local/evict.go", pkg: "backend/local", test: "TestForce",
		from: "\tforce := time.NewTimer(s.v.ForceAfter)\n", to: "\tforce := time.NewTimer(time.Hour)\n",
	},
	{
		what: "one change of format at a time", file: "backend/local/reconfig.go", pkg: "backend/local", test: "TestOneReconfigUntilItsAck",
		from: "s.refused != nil || s.pending != nil", to: "s.refused != nil",
	},
	{
		what: "an answer is to the epoch that was announced", file: "backend/local/reconfig.go", pkg: "backend/local", test: "TestOneReconfigUntilItsAck",
		from: "s.pending == nil || s.epoch.Ring.Epoch() != epoch", to: "s.pending == nil",
	},
	{
		what: "frames of a new epoch come after the answer", file: "backend/local/reconfig.go", pkg: "backend/local", test: "TestOneReconfigUntilItsAck",
		from: "\ts.reader.Start()\n", to: "",
	},
	{
		what: "an epoch that is over is retired", file: "backend/local/server.go", pkg: "backend/local", test: "TestOneReconfigUntilItsAck",
		from: "\t\told.Ring.Retire()\n", to: "",
	},
	{
		what: "pinned memory outlives its ring", file: "ring/pin.go", pkg: "ring", test: "TestPinKeepsTheMapping",
		from: "\tr.pins++\n", to: "",
	},
	{
		what: "pinned memory ends with the last pin", file: "ring/pin.go", pkg: "ring", test: "TestPinKeepsTheMapping",
		from: "if r.pins--; r.idle() {", to: "if r.pins--; false {",
	},
	{
		what: "a slot that is being uploaded is not written", file: "ring/local.go", pkg: "ring", test: "TestLocalBesideOthers",
		from: "\tr.slots[slot].leases++\n", to: "",
	},
	{
		what: "memory stays while it is uploaded from", file: "ring/local.go", pkg: "ring", test: "TestLocalKeepsRetiredMemory",
		from: "\tr.localLeases++\n", to: "",
	},
	{
		what: "a slot that is given away anew says so", file: "ring/ring.go", pkg: "ring", test: "TestPixelsElsewhere",
		from: "area(r.hdr.Data).record(slot).u64(recGeneration).Store(s.generation)", to: "_ = area(r.hdr.Data)",
	},
	{
		what: "the generation is looked at when a frame is taken", file: "ring/view.go", pkg: "ring", test: "TestTakeOfAnotherGeneration",
		from: "if err := v.Check(w); err != nil {\n\t\treturn false, err\n\t}\n", to: "",
	},
	{
		what: "a generation that is another is stale", file: "ring/view.go", pkg: "ring", test: "TestPixelsElsewhere",
		from: "g != w.Generation() {", to: "g > w.Generation()+1000 {",
	},
}
