// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package ring is the slot protocol: how one writer hands frames to many
// processes through shared memory without ever waiting for one of them.
//
// The writer's side is [Ring]. It owns three kinds of memory: a header that
// readers map read-only (slot records), the pixels, also read-only for readers,
// one page for each reader that this reader may write, and for each user a word
// that counts wake-ups. Every value in a page is taken for hostile: it is loaded once,
// clamped and compared with the truth, which lives in private memory.
//
// The rules, each of which package check removes in turn to see that something
// breaks:
//
//   - The writer grants a lease before the reader hears of the frame; hand-over
//     is one atomic exchange on the reader's mailbox word.
//   - The mailbox has room for one word, and a newer frame replaces an older
//     one that still waits: a reader never takes an old frame.
//   - Credit bounds what a reader has taken; the waiting word is extra. A ring
//     therefore has slots for the source, one in flight, one retained for late
//     joiners, and credit+1 for each reader.
//   - A reader returns leases through its own ring of words. Only when it was
//     skipped for want of credit (the kick flag) does it also send a message.
//   - All exchanges come first, then the readers' waiting flags are taken down,
//     then the wake-up counter moves, then come the system calls.
//   - The generation in the slot record changes before pixels do, so that a
//     reader whose lease was taken away finds out.
//
// The reader's side is [View]. A reader in the writer's process, such as one
// that sends frames over a network, is a [Local]: it takes leases under the
// writer's mutex, so that nothing of the above applies to it but that it holds a
// slot while it reads. Nothing here knows sockets, cameras or GPUs.
package ring
