// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxIovecs is the most slices that one system call takes (UIO_MAXIOV).
const maxIovecs = 1024

// rawWriter writes to a socket that does not block, and sees every refusal.
type rawWriter struct {
	conn syscall.RawConn
	try  func(fd uintptr) bool // made once: a new closure a write would be an allocation
	iov  []unix.Iovec
	ends []int // of units, in iov

	pos    int  // first slice not fully written
	limit  int  // where to stop
	whole  bool // iov[pos] is untouched
	urgent func() bool
	errno  error
	wait   bool // for room, else stop
	// refused: stopped because there was no room.
	refused bool
}

func (s *socket) open(c net.Conn) error {
	s.Conn = c
	sc, ok := c.(syscall.Conn)
	if !ok {
		return fmt.Errorf("%T has no descriptor", c)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	s.raw.conn, s.raw.try = raw, s.try
	return nil
}

// canTry says that a write can stop where the kernel refuses.
const canTry = true

func (s *socket) writeVec(v *Vec, urgent func() bool, wait bool) (int, bool, error) {
	w := &s.raw
	s.moving.Lock()
	w.iov = w.iov[:0]
	for _, b := range v.bufs {
		e := unix.Iovec{Base: unsafe.SliceData(b)}
		e.SetLen(len(b))
		w.iov = append(w.iov, e)
	}
	w.ends = v.ends
	w.start(urgent)
	s.moving.Unlock()
	return s.resume(wait)
}

// rebase has what is left of a write read to instead of from. moving is held.
func (s *socket) rebase(from, to []byte) {
	w := &s.raw
	for i := w.pos; i < len(w.iov); i++ {
		e := &w.iov[i]
		if off, ok := within(e.Base, from); ok {
			e.Base = &to[off]
		}
	}
}

// Write writes all of b; TLS writes through it.
func (s *socket) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	w := &s.raw
	e := unix.Iovec{Base: unsafe.SliceData(b)}
	e.SetLen(len(b))
	w.iov = append(w.iov[:0], e)
	w.ends = nil
	w.start(nil)
	if _, _, err := s.resume(true); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (w *rawWriter) start(urgent func() bool) {
	w.pos, w.limit, w.whole, w.urgent, w.errno = 0, len(w.iov), true, urgent, nil
}

// resume writes on. Without wait it stops, not done, where the kernel refuses.
func (s *socket) resume(wait bool) (units int, done bool, err error) {
	w := &s.raw
	w.wait, w.refused = wait, false
	err = w.conn.Write(w.try)
	if err == nil {
		err = w.errno
	}
	for units < len(w.ends) && w.ends[units] <= w.pos {
		units++
	}
	if w.refused && err == nil {
		return units, false, nil
	}
	s.congested.Store(0)
	s.moving.Lock()
	clear(w.iov)
	w.iov = w.iov[:0]
	s.moving.Unlock()
	w.urgent, w.ends = nil, nil
	return units, true, err
}

// try writes until everything is taken or the kernel refuses. Where it may wait
// it then reports false, and is called again when there is room.
func (s *socket) try(fd uintptr) bool {
	w := &s.raw
	for w.pos < w.limit {
		if w.urgent != nil && w.limit == len(w.iov) && (w.pos > 0 || !w.whole) && w.urgent() {
			w.limit = w.unitEnd()
			if w.pos == w.limit {
				return true
			}
		}
		s.moving.Lock()
		iov := w.iov[w.pos:min(w.limit, w.pos+maxIovecs)]
		n, _, errno := unix.Syscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&iov[0])), uintptr(len(iov)))
		if errno == 0 {
			w.take(int(n))
		}
		s.moving.Unlock()
		switch errno {
		case 0:
			if s.congested.Load() != 0 {
				s.progress.Store(now())
			}
		case unix.EINTR:
		case unix.EAGAIN:
			if s.congested.Load() == 0 {
				t := now()
				s.progress.Store(t)
				s.congested.Store(t)
			}
			w.refused = !w.wait
			return !w.wait
		default:
			w.errno = os.NewSyscallError("writev", errno)
			return true
		}
	}
	return true
}

// unitEnd is where the unit that is partly written ends; the place itself when
// none is.
func (w *rawWriter) unitEnd() int {
	before := 0
	for _, end := range w.ends {
		if end > w.pos {
			if w.pos == before && w.whole {
				return w.pos
			}
			return end
		}
		before = end
	}
	return len(w.iov)
}

func (w *rawWriter) take(n int) {
	for n > 0 {
		e := &w.iov[w.pos]
		l := int(e.Len)
		if n < l {
			e.Base = (*byte)(unsafe.Add(unsafe.Pointer(e.Base), n))
			e.SetLen(l - n)
			w.whole = false
			return
		}
		n -= l
		w.pos++
		w.whole = true
	}
}

// setLowat keeps the queue of unsent bytes in the kernel short.
func setLowat(c *net.TCPConn, bytes int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes)
	})
	if err != nil {
		return err
	}
	return os.NewSyscallError("setsockopt TCP_NOTSENT_LOWAT", set)
}

// mss is the size of the largest TCP segment.
func mss(c *net.TCPConn) int {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	v := 0
	err = raw.Control(func(fd uintptr) {
		v, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	})
	if err != nil {
		return 0
	}
	return v
}
