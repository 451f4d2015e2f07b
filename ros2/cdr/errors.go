// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cdr

import "errors"

var (
	// ErrEncapsulation means the four bytes in front are missing, or name
	// another encoding than plain CDR.
	ErrEncapsulation = errors.New("not plain CDR")
	// ErrTruncated means the bytes end before the value does.
	ErrTruncated = errors.New("CDR ends early")
	// ErrString means a string whose length is zero or whose last byte is
	// not NUL.
	ErrString = errors.New("CDR string has no NUL at its end")
	// ErrCount means a sequence claims more elements than there are bytes
	// left for.
	ErrCount = errors.New("CDR sequence is longer than what is left")
	// ErrBool means a truth value that is neither 0 nor 1.
	ErrBool = errors.New("CDR truth value is neither 0 nor 1")
	// ErrTrailing means more bytes after the last value than padding to a
	// multiple of four explains.
	ErrTrailing = errors.New("bytes after the end of a CDR value")
)
