// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package cdr writes and reads the byte form of ROS 2 messages: plain CDR,
// version 1, after a header of four bytes. It knows primitives, strings and
// sequences, no message; those are in ros2/msg.
//
// What it follows: OMG CORBA 3.3, part 2, section 9.3 (CDR transfer syntax)
// for alignment and strings, and OMG DDSI-RTPS 2.5, section 10.5 for the
// header.
//
//   - A primitive is aligned to its size, counted from the byte after the
//     header.
//   - A string is a uint32 length that counts the final NUL, its bytes, and
//     the NUL.
//   - A sequence is a uint32 count and its elements; without elements nothing
//     is padded for them. A fixed array is only its elements.
//   - A struct is its members, without padding of its own.
//
// The writer writes little-endian and fills gaps with zeros. The reader takes
// both byte orders and looks at no gap: senders leave old memory there.
package cdr
