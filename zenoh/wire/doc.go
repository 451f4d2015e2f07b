// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package wire encodes and decodes the messages of the Zenoh 1.x protocol
// (version byte 9): transport messages, the network messages that frames carry
// and the bodies inside those.
//
// Encoders append to a byte slice and do not allocate beside it. Decoders read
// from a [Reader], allocate nothing but schema strings, and return slices into
// the input. No input makes them panic, and none makes them allocate more than
// its own length. What a message means is not decided here.
package wire
