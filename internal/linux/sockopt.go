// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// getsockopt fills buf and returns the length that the kernel says: with ERANGE
// the one that it needs.
func getsockopt(fd, option int, buf []byte) (int, error) {
	n := uint32(len(buf))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, uintptr(option),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return int(n), errno
	}
	return int(n), nil
}
