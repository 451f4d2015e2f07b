// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/binary"
	"fmt"
)

// AttachmentSize is the length of an attachment in bytes.
const AttachmentSize = 33

// Attachment goes with each sample; subscribers drop one without.
type Attachment struct {
	Sequence    int64 // 1 for the first message of a publisher, then one more each time
	SourceNanos int64 // of publication, nanoseconds of the Unix clock
	GID         GID   // of the publisher
}

// Append appends the attachment as current releases write it: sequence, time,
// both with the low byte first, the length 16, the GID.
func (a Attachment) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(a.Sequence))
	b = binary.LittleEndian.AppendUint64(b, uint64(a.SourceNanos))
	b = append(b, byte(len(a.GID)))
	return append(b, a.GID[:]...)
}

// ParseAttachment reads an attachment, also in the form of rmw_zenoh_cpp up to
// 0.1.1 (Humble), 0.2.3 (Jazzy) and 0.5.0, with a name in front of each value.
// It fails with [ErrAttachment].
func ParseAttachment(b []byte) (Attachment, error) {
	if len(b) != AttachmentSize {
		return parseNamed(b)
	}
	if n := b[16]; n != 16 {
		return Attachment{}, fmt.Errorf("%w: GID of %d bytes", ErrAttachment, n)
	}
	return Attachment{
		Sequence:    int64(binary.LittleEndian.Uint64(b)),
		SourceNanos: int64(binary.LittleEndian.Uint64(b[8:])),
		GID:         GID(b[17:]),
	}, nil
}

// The older form: each name with its length in front.
const (
	namedSequence = "\x0fsequence_number"
	namedTime     = "\x10source_timestamp"
	namedGID      = "\x0asource_gid\x10"
	namedSize     = len(namedSequence) + 8 + len(namedTime) + 8 + len(namedGID) + 16
)

func parseNamed(b []byte) (a Attachment, err error) {
	if len(b) != namedSize {
		return a, fmt.Errorf("%w: %d bytes, want %d, or %d of older releases", ErrAttachment, len(b), AttachmentSize, namedSize)
	}
	take := func(name string, size int) []byte {
		if string(b[:len(name)]) != name {
			err = fmt.Errorf("%w: no %q", ErrAttachment, name[1:])
		}
		v := b[len(name) : len(name)+size]
		b = b[len(name)+size:]
		return v
	}
	a.Sequence = int64(binary.LittleEndian.Uint64(take(namedSequence, 8)))
	a.SourceNanos = int64(binary.LittleEndian.Uint64(take(namedTime, 8)))
	a.GID = GID(take(namedGID, 16))
	if err != nil {
		return Attachment{}, err
	}
	return a, nil
}
