// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import "unsafe"

// wordsOf is the whole words of data. Frames begin on a page; what does not
// begin on a word is read bytewise.
func wordsOf(data []byte) []uint64 {
	if len(data) < 8 || uintptr(unsafe.Pointer(&data[0]))%8 != 0 {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&data[0])), len(data)/8)
}
