// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command gpu is the check for a machine with an NVIDIA GPU: it is prepared
// elsewhere (benchmarks/gpu/run -build FOLDER), needs no network, compiler or
// toolkit where it runs, and takes ten minutes at most. Each step has its own
// time, a step that fails does not stop the next, and what was measured is in
// the files at once: environment.json, checks.csv, latency.csv, upload.csv,
// fanout.csv.
//
// All work with the driver is done by child processes, so that one that hangs
// can be ended. With a simulated driver (-library) the checks are made and every
// line says SIMULATED; times are left out, as they mean nothing.
package main
