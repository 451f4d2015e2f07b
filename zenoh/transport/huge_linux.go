// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// hugePages asks for large pages in memory that a large message is put in: a
// first touch and an address translation for every 2 MiB instead of 4 KiB. What
// the system does not give costs nothing.
func hugePages(b []byte) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage
	from := (hugePage - int(at)) % hugePage
	if n := (len(b) - from) / hugePage * hugePage; n > 0 {
		_ = unix.Madvise(b[from:from+n], unix.MADV_HUGEPAGE)
	}
}
