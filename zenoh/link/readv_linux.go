// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawReader reads from a socket that does not block.
type rawReader struct {
	try   func(fd uintptr) bool // made once: a new closure a read would be an allocation
	iov   []unix.Iovec
	n     int
	errno syscall.Errno
}

// canReadVec says that a read can go to several places.
const canReadVec = true

func (s *socket) readVec(bufs [][]byte) (int, error) {
	r := &s.in
	if r.try == nil {
		r.try = s.tryRead
	}
	r.iov = r.iov[:0]
	for _, b := range bufs[:min(len(bufs), maxIovecs)] {
		e := unix.Iovec{Base: unsafe.SliceData(b)}
		e.SetLen(len(b))
		r.iov = append(r.iov, e)
	}
	r.n, r.errno = 0, 0
	err := s.raw.conn.Read(r.try)
	clear(r.iov)
	switch {
	case err != nil:
		return 0, err
	case r.errno != 0:
		return 0, os.NewSyscallError("readv", r.errno)
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// tryRead reports false where nothing is there, and is called again when
// something is.
func (s *socket) tryRead(fd uintptr) bool {
	r := &s.in
	for {
		n, _, errno := unix.Syscall(unix.SYS_READV, fd, uintptr(unsafe.Pointer(&r.iov[0])), uintptr(len(r.iov)))
		switch errno {
		case 0:
			r.n = int(n)
			return true
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			r.errno = errno
			return true
		}
	}
}
