// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package y4m turns frames into YUV4MPEG2, the uncompressed video that ffmpeg,
// ffplay and mpv read from a pipe, and into raw video without padding. It keeps
// what a frame has: colour pictures become 4:4:4, packed 4:2:2 and nv12 keep
// their samples, mono8 stays grey.
package y4m
