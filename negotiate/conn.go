// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultWriteTimeout bounds a Send to a peer that does not read.
const DefaultWriteTimeout = time.Second

// Conn is one end of the local socket (SOCK_SEQPACKET): one message a packet.
// One goroutine may receive while others send; Close ends both.
type Conn struct {
	// WriteTimeout bounds each Send. Set it before the first one; 0 stands for
	// DefaultWriteTimeout.
	WriteTimeout time.Duration

	socket *net.UnixConn
	raw    syscall.RawConn
	peer   Peer
	side   side
	closed chan struct{}

	pidfdMu sync.Mutex
	pidfd   int // -1: none

	sendMu sync.Mutex

	kickMu    sync.Mutex
	kickError error
	sendKick  func(fd uintptr)

	receiveMu sync.Mutex
	receive   receiver
	pace      pacer
	unknown   int // messages of unknown types so far

	interrupted atomic.Bool

	closeOnce  sync.Once
	closeError error
}

// newConn takes over a connected socket. A client takes descriptors in, a
// daemon none: it never lets the kernel install them, because closing a
// descriptor of somebody's FUSE file can block for good.
func newConn(socket *net.UnixConn, s side) (*Conn, error) {
	c := &Conn{socket: socket, side: s, pidfd: -1, closed: make(chan struct{})}
	fail := func(err error) (*Conn, error) {
		_ = c.Close()
		return nil, err
	}
	var err error
	if c.raw, err = socket.SyscallConn(); err != nil {
		return fail(err)
	}
	var idErr error
	err = c.raw.Control(func(fd uintptr) { c.peer, c.pidfd, idErr = identify(int(fd)) })
	if err = errors.Join(err, idErr); err != nil {
		return fail(fmt.Errorf("peer of the socket: %w", err))
	}
	c.receive.init()
	c.sendKick = func(fd uintptr) {
		_, c.kickError = unix.SendmsgN(int(fd), kickPacket, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	}
	return c, nil
}

// Send sends one message, with up to [MaxFiles] descriptors that stay the
// caller's. It fails with [ErrMessage] (nothing wrong with the connection),
// [ErrNotReading], [ErrPeerGone] or net.ErrClosed.
func (c *Conn) Send(m *Message, fds ...int) error {
	packet, err := encode(m)
	if err != nil {
		return err
	}
	if len(packet) > c.side.send {
		return fmt.Errorf("%w: %s takes %d bytes, the other side accepts %d", ErrMessage, m.Type, len(packet), c.side.send)
	}
	if len(fds) > MaxFiles {
		return fmt.Errorf("%w: %s with %d descriptors, a packet has at most %d", ErrMessage, m.Type, len(fds), MaxFiles)
	}
	var control []byte
	if len(fds) > 0 {
		control = unix.UnixRights(fds...)
	}
	if err := c.sendPacket(packet, control); err != nil {
		return fmt.Errorf("sending %s: %w", m.Type, err)
	}
	return nil
}

func (c *Conn) sendPacket(packet, control []byte) error {
	timeout := c.WriteTimeout
	if timeout == 0 {
		timeout = DefaultWriteTimeout
	}
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if err := c.socket.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	var sendErr error
	err := c.raw.Write(func(fd uintptr) bool {
		for {
			_, sendErr = unix.SendmsgN(int(fd), packet, control, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
			if sendErr != unix.EINTR {
				return sendErr != unix.EAGAIN
			}
		}
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: its queue is full since %v", ErrNotReading, timeout)
	}
	if err == nil {
		err = sendErr
	}
	return peerGone(err)
}

// SendKick tells the daemon to look at the returned leases. It never blocks and
// allocates nothing: if the queue is full, earlier kicks wait in it that will
// do as well. It fails with [ErrPeerGone] or net.ErrClosed.
func (c *Conn) SendKick() error {
	c.kickMu.Lock()
	defer c.kickMu.Unlock()
	c.kickError = nil
	if err := c.raw.Control(c.sendKick); err != nil {
		return err
	}
	if c.kickError == nil || c.kickError == unix.EAGAIN || c.kickError == unix.EINTR {
		return nil
	}
	return fmt.Errorf("sending kick: %w", peerGone(c.kickError))
}

// peerGone marks the errors by which the kernel says that the other end is
// closed.
func peerGone(err error) error {
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.ENOTCONN) {
		return fmt.Errorf("%w: %w", ErrPeerGone, err)
	}
	return err
}

// Interrupt ends a Receive in progress, and all to come, with [ErrInterrupted].
// The connection stays open: the other side sees nothing of it.
func (c *Conn) Interrupt() {
	c.interrupted.Store(true)
	_ = c.socket.SetReadDeadline(time.Unix(1, 0)) // fails when it is closed
}

// Close closes the connection; a Receive or Send in progress returns with
// net.ErrClosed. It may be called more than once and from any goroutine.
func (c *Conn) Close() error {
	c.closeOnce.Do(func() {
		close(c.closed)
		c.closeError = c.socket.Close()
		c.pidfdMu.Lock()
		defer c.pidfdMu.Unlock()
		if c.pidfd >= 0 {
			c.closeError = errors.Join(c.closeError, unix.Close(c.pidfd))
			c.pidfd = -1
		}
	})
	return c.closeError
}
