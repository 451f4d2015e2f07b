// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package check explores the slot protocol of package ring exhaustively. The
// race detector cannot see across two mappings of one memory, and a test run
// shows one interleaving out of millions; here every interleaving of a daemon
// and its readers is walked through, breadth first, on a model of the protocol.
// The package is for tests and imports nothing of the project.
//
// # What is modelled
//
// The daemon has two threads under one mutex: the publisher (Acquire, writing
// the pixels, Publish) and the controller (kick messages, deaths, ends of
// quarantine, joins). The wake itself happens outside the mutex. A reader has two
// threads: one takes and sleeps, one releases. Every access to memory that
// another process or thread may touch at that time is a step of its own: the
// exchanges and the compare-and-swap on the mailbox, the loads and stores of
// waiting flag, kick flag, wake counter, record.gen, the head of the return
// ring, both halves of the pixels, futex_wait and futex_wake. A reader can die
// at every step, the daemon can die at every step, futex_wait can return for no
// reason, messages take any time. Whichever free slot the writer may choose is
// tried.
//
// Some accesses share a step because no order of others can come between them
// with an effect: the entries of a return ring with the load or store of its
// head (only the side whose turn it is touches them), the generation check at
// release with the push that follows (the lease still stands, and after an
// eviction only the moment of the check counts), a load that finds a flag clear
// with the exchange that it saves, private bookkeeping with the access beside
// it. The mutants that break exactly these rules are modelled with the accesses
// apart.
//
// A state holds no clock and no absolute numbers: generations count only by
// their order, the wake counter by whether it moved since a reader loaded it,
// slots not by their place. So the number of states is finite without a limit
// on frames, and a run with Config.Frames = 0 covers streams of any length.
// States are told apart by 128 bits of hash.
//
// # What is checked
//
//   - Torn frames: record and pixels of a slot do not change from take to
//     release. An evicted reader may be written over, but then its generation
//     check at release says so.
//   - Lost wake-ups: no reader sleeps with a word in its mailbox unless a
//     thread of the daemon is on the way to wake it. Time limits of the sleep do
//     not count as a remedy.
//   - Starvation: with Config.SlotsNeeded slots Acquire finds a free slot always.
//   - Newest wins: a take returns the newest published frame; while Publish
//     hands a frame round, a reader that it has not come to may take the one
//     before. When daemon and messages are at rest, a reader with credit has
//     taken the newest frame or finds it in its mailbox. No frame comes twice.
//   - Leases: bookings and leases agree; a slot is free exactly when it is
//     neither leased, nor retained, nor written; nothing is freed twice; so after
//     all readers have gone, all slots but the retained are free.
//   - Bound: no reader is booked with more than credit + 1 leases, and its return
//     ring of that size is never full.
//   - No reader that keeps to the protocol is cut off.
//
// Each of the mutants (Mutants) does one rule wrongly, and each breaks one of
// these properties.
//
// # What is not
//
// Memory is sequentially consistent, as sync/atomic is between atomic accesses.
// Plain reads of pixels are ordered by the exchange that took the word and, for
// a reader in good standing, by the store of the head. Only an evicted reader
// relies on plain reads followed by an atomic load; on weakly ordered machines
// that load alone does not hold the reads back, which is why the evicted flag
// is set long before a slot is used by force. Readers that write what they like
// into their page are the matter of the tests and fuzz targets of ring; here a
// reader may only take more than its credit (Config.Greedy). One thread of a
// reader takes at a time, and so for release. Epochs do not share slots or
// mailboxes: a change of format is all readers leaving one ring and joining
// another. Overflow of the 32-bit wake counter within one sleep, the socket
// itself, the pipes for event loops and the GPU are outside.
package check
