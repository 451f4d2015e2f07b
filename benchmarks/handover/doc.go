// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command handover measures what it costs to hand a frame from camd to a
// program: the time from "complete in the ring" to "in the program's hands",
// frames per second, CPU time, and how that grows with the number of readers.
//
// Each figure stands beside its floor: the same two processes, paced alike,
// filling as many bytes, with nothing but a bare wake-up between them. Blocks of
// both are interleaved at random, and what counts is the median of their ratios:
// absolute times on a shared machine say little.
//
// The camd side is the product: an internal/daemon in the writer's process
// with a source that fills frames on demand, and client.Subscribe in the
// reader's. See docs/benchmarks.md.
package main
