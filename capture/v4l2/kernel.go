// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel is all that this package asks of an open device node. Tests put a
// driver made of Go in its place.
type kernel interface {
	// ioctl performs one request; arg is one of the structures of this package.
	ioctl(req uint, arg unsafe.Pointer) error
	mmap(offset int64, length int) ([]byte, error)
	munmap(b []byte) error
	// poll waits like poll(2); p[0] is the device, whose descriptor the kernel
	// fills in, and p[1] a descriptor of the caller's.
	poll(p *[2]unix.PollFd, timeoutMillis int) error
	close() error
}

// node is a real device node.
type node struct{ fd int }

func openNode(path string) (kernel, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return &node{fd}, nil
		case !errors.Is(err, unix.EINTR):
			return nil, err
		}
	}
}

func (n *node) ioctl(req uint, arg unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(n.fd), uintptr(req), uintptr(arg))
		switch errno {
		case 0:
			return nil
		case unix.EINTR: // the runtime's preemption signals
		default:
			return errno
		}
	}
}

func (n *node) mmap(offset int64, length int) ([]byte, error) {
	return unix.Mmap(n.fd, offset, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func (n *node) munmap(b []byte) error { return unix.Munmap(b) }

func (n *node) poll(p *[2]unix.PollFd, timeoutMillis int) error {
	p[0].Fd = int32(n.fd)
	_, err := unix.Poll(p[:], timeoutMillis)
	if errors.Is(err, unix.EINTR) {
		return nil // nothing is ready; the caller looks at the time
	}
	return err
}

func (n *node) close() error { return unix.Close(n.fd) }
