// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package jpeg

import (
	"errors"
	"fmt"
)

// What can be wrong with a frame. Frames for which one of these is reported are
// not to be published.
var (
	// ErrNotJPEG reports bytes that do not begin with the marker SOI.
	ErrNotJPEG = errors.New("not a JPEG")
	// ErrTruncated reports a frame that ends too early: within a segment or scan,
	// without the marker EOI, or with less picture than its size needs.
	ErrTruncated = errors.New("truncated JPEG")
	// ErrCorrupt reports a frame whose structure or data makes no sense.
	ErrCorrupt = errors.New("corrupt JPEG")
	// ErrTooBig reports more pixels or bytes than are allowed.
	ErrTooBig = errors.New("JPEG too big")
	// ErrNoTables reports a frame without a quantisation table that it uses, or
	// without a Huffman table that has no standard form.
	ErrNoTables = errors.New("JPEG without tables")
	// ErrUnsupported reports a kind of JPEG that cameras do not send: arithmetic
	// coding, lossless, 12 bits, four components.
	ErrUnsupported = errors.New("unsupported kind of JPEG")
	// ErrSize reports a picture of another size than was agreed.
	ErrSize = errors.New("JPEG of another size")
)

// Reasons for counters and messages, in the order of documentation.
const (
	ReasonNotJPEG     = "not_jpeg"
	ReasonTruncated   = "truncated"
	ReasonCorrupt     = "corrupt"
	ReasonTooBig      = "too_big"
	ReasonNoTables    = "no_tables"
	ReasonUnsupported = "unsupported"
	ReasonSize        = "size"
)

// Reason is one word for an error of this package, for counting; "" for others
// and for nil.
func Reason(err error) string {
	for _, r := range [...]struct {
		err  error
		word string
	}{
		{ErrNotJPEG, ReasonNotJPEG},
		{ErrTruncated, ReasonTruncated},
		{ErrCorrupt, ReasonCorrupt},
		{ErrTooBig, ReasonTooBig},
		{ErrNoTables, ReasonNoTables},
		{ErrUnsupported, ReasonUnsupported},
		{ErrSize, ReasonSize},
	} {
		if errors.Is(err, r.err) {
			return r.word
		}
	}
	return ""
}

// at says where in the frame.
func at(err error, offset int, format string, args ...any) error {
	return fmt.Errorf("%w: byte %d: %s", err, offset, fmt.Sprintf(format, args...))
}
