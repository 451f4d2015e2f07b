// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package convert turns frames of one pixel encoding into another: every
// uncompressed encoding into rgb8, bgr8, rgba8, bgra8 and mono8, the 4:2:2 and
// 4:2:0 ones into each other where only bytes move, and any encoding into
// itself with another step or byte order. [Downscale] halves, quarters and so on.
// Nothing here knows files, devices or compression.
//
// Y'CbCr becomes RGB by ITU-R BT.601, BT.709 or BT.2020 in fixed point, within
// 1 of exact rounding. Chroma is replicated (nearest): the two pixels of a 4:2:2
// pair and the four of a 4:2:0 square share one sample, wherever it was sited.
// Bayer mosaics are interpolated bilinearly, with the picture mirrored at its
// edges.
package convert
