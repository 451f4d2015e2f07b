// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package replay is the source of kind "replay": recordings. YUV4MPEG2 and raw
// files are read in this process straight into the slots, motion JPEG and the
// pictures of a folder are decoded into them; what a file is, is decided by its
// content. Any other
// file or URL goes through an ffmpeg child process whose raw frames are read
// straight into the slots. The same way reads a V4L2 device ([NewDevice]).
//
// The child is in a process group of its own, dies with this process whatever
// kills that, is always reaped, and what it says on stderr is part of every
// error.
package replay
