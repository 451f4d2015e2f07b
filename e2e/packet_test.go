// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// raw is a client of the local socket that keeps to no rule.
type raw struct {
	t  testing.TB
	fd int
}

// dialRaw connects. The end of the test closes what is still open.
func dialRaw(t testing.TB, dir string) *raw {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := &raw{t: t, fd: fd}
	t.Cleanup(r.close)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, negotiate.SocketName)}); err != nil {
		t.Fatalf("connecting: %v", err)
	}
	// Packets of any size, and no wait for ever.
	for _, err := range []error{
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 1<<20),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(hung.Seconds())}),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: int64(hung.Seconds())}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *raw) close() {
	if r.fd >= 0 {
		_ = unix.Close(r.fd)
		r.fd = -1
	}
}

// send sends one packet with descriptors.
func (r *raw) send(packet string, fds ...int) {
	r.t.Helper()
	var control []byte
	if len(fds) > 0 {
		control = unix.UnixRights(fds...)
	}
	if err := unix.Sendmsg(r.fd, []byte(packet), control, nil, unix.MSG_NOSIGNAL); err != nil {
		r.t.Fatalf("sending a packet of %d bytes: %v", len(packet), err)
	}
}

// push sends without waiting and without minding that nobody reads; false once
// the other end is closed.
func (r *raw) push(packet string) (open bool) {
	err := unix.Sendmsg(r.fd, []byte(packet), nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	return err == nil || errors.Is(err, unix.EAGAIN)
}

// receive returns the next message and closes the descriptors that came with
// it; ok is false at the end of the connection.
func (r *raw) receive() (m negotiate.Message, ok bool) {
	r.t.Helper()
	packet := make([]byte, negotiate.MaxPacket)
	control := make([]byte, 256)
	for {
		n, oobn, _, _, err := unix.Recvmsg(r.fd, packet, control, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECONNRESET):
			continue // said once, ahead of what lies in the queue
		case err != nil:
			r.t.Fatalf("receiving: %v", err)
		}
		if oobn > 0 {
			messages, err := unix.ParseSocketControlMessage(control[:oobn])
			if err != nil {
				r.t.Fatal(err)
			}
			for i := range messages {
				fds, _ := unix.ParseUnixRights(&messages[i])
				for _, fd := range fds {
					_ = unix.Close(fd)
				}
			}
		}
		if n == 0 {
			return m, false
		}
		if err := json.Unmarshal(packet[:n], &m); err != nil {
			r.t.Fatalf("camd sent %q: %v", packet[:n], err)
		}
		return m, true
	}
}

// refused reads to the end of the connection and wants a refusal with this
// reason on the way, or none for "".
func (r *raw) refused(want negotiate.Reason) {
	r.t.Helper()
	got := negotiate.Reason("")
	for {
		m, ok := r.receive()
		if !ok {
			break
		}
		if m.Reject != nil {
			got = m.Reject.Reason
		}
	}
	if got != want {
		r.t.Errorf("refused with reason %q, want %q", got, want)
	}
}

// hello is a well-formed request for test/color.
func hello(wake negotiate.WakeKind) string {
	b, err := json.Marshal(negotiate.Message{Type: negotiate.TypeHello, Hello: &negotiate.Hello{
		Protocol: negotiate.Current(), Stream: "test/color", Accepts: []negotiate.Backend{negotiate.BackendSHM}, Wake: wake,
	}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// nested is JSON of a great depth.
func nested() string { return `{"type":` + strings.Repeat("[", 60_000) }
