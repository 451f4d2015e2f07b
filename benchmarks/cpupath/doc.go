// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Command cpupath measures the way of a frame over Zenoh, from camd through a
// router to a program that uses package client, beside what carries the same
// bytes otherwise: a plain socket, a plain socket with one relay between, and a
// publisher and a subscriber of eclipse-zenoh (Python), through the same router
// and without one. All of them run in one call, in turns and in random order.
//
// Every side has a publisher and a subscriber process. They speak one protocol:
// orders go to the publisher's stdin and reports come from its stdout, as JSON
// lines; the subscriber writes a record to descriptor 3 for each frame, which
// the publisher reads from its own descriptors from 3 on. The publisher writes
// a number and the time at which the frame was ready into the first bytes of
// the pixels; see record.
//
// With -soak it counts instead: cameras at a rate, a subscriber of each over
// Zenoh and one of the first by shared memory, and which frames went where.
package main
