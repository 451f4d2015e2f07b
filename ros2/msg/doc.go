// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package msg holds the ROS 2 messages that cameras speak, as plain structs:
// how they are written to and read from CDR, and the name and hash of each
// type. It knows no topic and no network.
//
// Every message M has two methods.
//
//	func (m *M) AppendCDR(b []byte) []byte
//	func (m *M) DecodeCDR(b []byte) error
//
// AppendCDR appends the message with the header of little-endian CDR, gaps
// filled with zeros, and allocates nothing when b has room. Strings and
// sequences have less than 2³² bytes or elements.
//
// DecodeCDR takes both byte orders. Byte slices of the message are parts of b
// afterwards; other slices that the message holds are reused, and strings that
// are the same as before are kept, so that reading into one message again and
// again allocates nothing while only numbers and pixels change. The errors are
// those of ros2/cdr; after one the message holds what was read so far. What is
// allocated stays within a small multiple of len(b), whatever b says.
//
// Bytes after the last member: up to three are padding and ignored, more are
// [cdr.ErrTrailing]; the type's hash makes sure that both sides have the same
// members.
package msg
