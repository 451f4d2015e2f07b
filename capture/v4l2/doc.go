// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package v4l2 captures from Video4Linux2 devices (linux/videodev2.h) without
// cgo. The driver writes straight into the slots of the sink (USERPTR); where
// it cannot, frames are copied once out of its own buffers (MMAP), and that
// copy is counted. What was asked, what the device offers and what the driver
// granted are told apart everywhere: in the log, in errors and in
// [Source.Describe].
//
// Pixels are neither converted nor decoded here: a stream carries what the
// device delivers under its own name, or is refused.
package v4l2
