// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kickMessage is what every kick is received as.
var kickMessage = &Message{Type: TypeKick}

// receiver is the state of recvmsg(2), kept so that receiving a kick allocates
// nothing.
type receiver struct {
	packet  []byte // made at the first use: most of the memory of a Conn
	control [controlBytes]byte
	iovec   unix.Iovec
	header  unix.Msghdr
	take    int // descriptors wanted
	n       int
	errno   unix.Errno
	hungUp  bool // n is 0 because the other end is closed
	once    func(fd uintptr) bool
}

// controlBytes is CMSG_SPACE(MaxFiles * sizeof(int)) on 64-bit hosts, the
// larger ones. The kernel is told CMSG_LEN: it installs what fits and drops the
// rest with MSG_CTRUNC (unix(7)), so a packet with hundreds of descriptors
// costs at most MaxFiles here.
const controlBytes = 16 + 4*MaxFiles

func (r *receiver) init() { r.once = r.tryOnce }

func (r *receiver) tryOnce(fd uintptr) bool {
	for {
		r.iovec.Base = &r.packet[0]
		r.iovec.SetLen(len(r.packet))
		r.header = unix.Msghdr{Iov: &r.iovec}
		r.header.SetIovlen(1)
		if r.take > 0 {
			r.header.Control = &r.control[0]
			r.header.SetControllen(unix.CmsgLen(4 * MaxFiles))
		}
		n, _, errno := unix.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.header)), unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		r.n, r.errno = int(n), errno
		switch errno {
		case unix.EINTR:
			continue
		case unix.ECONNRESET:
			// The peer closed without having read everything. The kernel says
			// so once, ahead of packets that the peer sent before, such as why
			// it closed: read on, the end follows (unix_release_sock).
			continue
		}
		r.hungUp = n == 0 && errno == 0 && peerClosed(int32(fd))
		return errno != unix.EAGAIN
	}
}

// peerClosed tells the end of the connection from an empty packet: recvmsg
// returns 0 for both (recv(2)).
func peerClosed(fd int32) bool {
	set := []unix.PollFd{{Fd: fd, Events: unix.POLLRDHUP}}
	n, err := unix.Poll(set, 0)
	return err != nil || (n > 0 && set[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0)
}

// Receive waits for one message until deadline (zero: for ever). Descriptors
// come with offer, start and reconfig only, belong to the caller and are
// close-on-exec; on all other messages they are closed here. A type that this
// version does not know comes back without a member, to be skipped. Kicks are
// one shared value that must not be changed.
//
// It fails with [ErrPeerGone] and io.EOF when the other end is closed,
// os.ErrDeadlineExceeded, net.ErrClosed, [ErrInterrupted], [ErrOpenFiles], or [ErrProtocol]: that
// is also more than [MaxUnknown] messages of types that a daemon does not know.
// A daemon reads a flood of packets slowly and leaves the rest in the queue of
// who sent it.
func (c *Conn) Receive(deadline time.Time) (*Message, Files, error) {
	c.receiveMu.Lock()
	defer c.receiveMu.Unlock()
	r := &c.receive
	if r.packet == nil {
		r.packet = make([]byte, c.side.receive)
	}
	r.take = c.side.files
	c.hold()
	if err := c.socket.SetReadDeadline(deadline); err != nil {
		return nil, nil, fmt.Errorf("receiving: %w", err)
	}
	if c.interrupted.Load() {
		return nil, nil, ErrInterrupted
	}
	if err := c.raw.Read(r.once); err != nil {
		return nil, nil, c.receiveError(err)
	}
	if r.errno != 0 {
		return nil, nil, fmt.Errorf("receiving: %w", peerGone(r.errno))
	}
	if r.n == len(kickPacket) && r.header.Controllen == 0 && r.header.Flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) == 0 &&
		bytes.Equal(r.packet[:r.n], kickPacket) {
		return kickMessage, nil, nil
	}
	return c.received()
}

// receiveError says who is silent: the text of the net package names nobody.
func (c *Conn) receiveError(err error) error {
	if c.interrupted.Load() {
		return ErrInterrupted
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && c.side.server {
		return silentError{}
	}
	return fmt.Errorf("receiving: %w", cause(err))
}

// received judges the packet in c.receive.
func (c *Conn) received() (*Message, Files, error) {
	r := &c.receive
	files, err := receivedFiles(r.control[:r.header.Controllen])
	fail := func(err error) (*Message, Files, error) {
		_ = files.Close()
		return nil, nil, err
	}
	switch {
	case err != nil:
		return fail(fmt.Errorf("%w: control message: %w", ErrProtocol, err))
	case r.header.Flags&unix.MSG_CTRUNC != 0 && c.side.files == 0:
		return fail(fmt.Errorf("%w: packet with descriptors, none are allowed", ErrProtocol))
	case r.header.Flags&unix.MSG_CTRUNC != 0 && len(files) < c.side.files:
		// There was room for more: the kernel found no free descriptor
		// (scm_detach_fds).
		return fail(fmt.Errorf("%w: %d of the descriptors of a packet were received", ErrOpenFiles, len(files)))
	case r.header.Flags&unix.MSG_CTRUNC != 0:
		return fail(fmt.Errorf("%w: packet with more than %d descriptors", ErrProtocol, MaxFiles))
	case r.header.Flags&unix.MSG_TRUNC != 0:
		return fail(fmt.Errorf("%w: packet of more than %d bytes", ErrProtocol, c.side.receive))
	case r.n == 0 && !r.hungUp:
		return fail(fmt.Errorf("%w: empty packet", ErrProtocol))
	case r.n == 0:
		return fail(fmt.Errorf("receiving: %w: %w", ErrPeerGone, io.EOF))
	}
	m, err := decode(r.packet[:r.n])
	if err == nil {
		err = c.judge(m)
	}
	if err != nil {
		return fail(err)
	}
	if allowed := filesOf(m.Type); len(files) > allowed {
		_ = files[allowed:].Close()
		files = files[:allowed]
	}
	return m, files, nil
}

// receivedFiles lists the descriptors that the kernel installed. Even beside an
// error it lists what it found, to be closed.
func receivedFiles(control []byte) (Files, error) {
	if len(control) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	var files Files
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		files = append(files, fds...)
	}
	return files, nil
}
