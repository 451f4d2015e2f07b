// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package replay is the source of kind "replay": any file or URL that ffmpeg
// reads, through an ffmpeg child process whose raw frames are read straight
// into the slots. The same way reads a V4L2 device for kind "v4l2"
// ([NewDevice]). There are no demuxers here, and no decoders.
//
// The child is in a process group of its own, dies with this process whatever
// kills that, is always reaped, and what it says on stderr is part of every
// error.
package replay
