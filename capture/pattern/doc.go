// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package pattern is the source of kind "pattern": a synthetic camera whose
// frames prove themselves. It also reads what it writes: [Decode] and [Verify].
//
// Every row of every plane that has at least 8 bytes begins with the number of
// the frame, a little-endian 64-bit integer, in every style. Odd pixels at the
// left edge are that. Frames of style "bars" carry 75 % colour bars, a moving
// box, and the same barcode at top and bottom, see [Code].
//
// Options: encoding, style, count, seed, camera, fault.drop, fault.duplicate,
// fault.jitter, fault.stall, fault.resize; size and rate as for every camera.
package pattern
