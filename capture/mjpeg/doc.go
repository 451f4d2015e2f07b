// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package mjpeg makes the two streams of a source of JPEG frames, camera or
// file: the frames as they came, and decoded. It checks every frame and does
// only the work that somebody reads the result of. It opens no devices and
// files.
package mjpeg
