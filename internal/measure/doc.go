// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package measure turns arrival times, sizes and delays of frames into the
// numbers that people and scripts read: the texts of ros2 topic hz, bw and
// delay, running statistics, and latency distributions. It does no I/O, starts
// no goroutine and reads no clock; nothing that is called per frame allocates
// once its window is full.
package measure
