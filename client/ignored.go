// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import "fmt"

// IgnoreReason is why a message on a topic's key is no frame: a stable word
// that scripts may compare.
type IgnoreReason string

// The reasons.
const (
	IgnoredAttachment IgnoreReason = "attachment"      // none, or one that is not that of rmw_zenoh
	IgnoredDelete     IgnoreReason = "delete"          // says that a value is gone: not of ROS
	IgnoredCDR        IgnoreReason = "cdr"             // cannot be decoded
	IgnoredEncoding   IgnoreReason = "encoding"        // pixels, or a picture file, of a kind that is not carried
	IgnoredGeometry   IgnoreReason = "geometry"        // size, step and bytes do not fit together
	IgnoredSize       IgnoreReason = "size"            // larger than any frame may be
	IgnoredPicture    IgnoreReason = "picture"         // a picture file without a readable head
	IgnoredPublisher  IgnoreReason = "other_publisher" // of another one than the one that is followed
	IgnoredOld        IgnoreReason = "old"             // not newer than what came before it
	IgnoredToken      IgnoreReason = "token"           // a liveliness token that cannot be read, or one too many
)

// ignored is a message that is left out.
type ignored struct {
	reason IgnoreReason
	err    error
}

func (e *ignored) Error() string { return string(e.reason) + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *ignored) Unwrap() error { return e.err }

func ignore(reason IgnoreReason, format string, args ...any) *ignored {
	return &ignored{reason, fmt.Errorf(format, args...)}
}
