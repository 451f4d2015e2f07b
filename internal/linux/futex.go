// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of futex(2), shared between processes (no FUTEX_PRIVATE_FLAG).
const (
	futexWait = 0
	futexWake = 1
)

// FutexWake wakes up to n waiters on addr in any process. It works on a
// read-only mapping too.
func FutexWake(addr *uint32, n int) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(addr)), futexWake, uintptr(n), 0, 0, 0)
}

// FutexWait sleeps until addr is woken, unless *addr differs from value. It
// returns after timeout at the latest; the caller looks again at what it waits
// for, whatever the cause of the return.
func FutexWait(addr *uint32, value uint32, timeout time.Duration) {
	ts := unix.NsecToTimespec(int64(timeout))
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(addr)), futexWait, uintptr(value), uintptr(unsafe.Pointer(&ts)), 0, 0)
}
