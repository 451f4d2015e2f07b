// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package avi finds the video frames in an AVI file: RIFF lists as of the
// AVI RIFF File Reference, and the further lists of OpenDML (version 1.02) for
// files above 1 GB. It decodes nothing.
package avi
