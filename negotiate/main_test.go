// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// helperVariable makes this test binary play the other process of a test.
const helperVariable = "CAMD_NEGOTIATE_TEST_HELPER"

var helpers = map[string]func(dir string) error{
	"listen":  helperListen,
	"connect": helperConnect,
	"leave":   helperLeave,
	"hold":    helperHold,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVariable); name != "" {
		if err := helpers[name](os.Getenv(RuntimeDirVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// shortDir is a directory whose path leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "camd-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "run")
}

func listening(t *testing.T) *Listener {
	t.Helper()
	l, err := Listen(shortDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// connected returns both ends of one connection through a real socket.
func connected(t *testing.T) (client, daemon *Conn) {
	t.Helper()
	l := listening(t)
	client, err := Dial(context.Background(), l.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, accept(t, l)
}

func accept(t *testing.T, l *Listener) *Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// hostile returns a bare socket and the Conn at the other end: a daemon's, or
// a client's.
func hostile(t *testing.T, s side) (bare int, c *Conn) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(pair[0]) })
	f := os.NewFile(uintptr(pair[1]), "socket")
	socket, err := net.FileConn(f)
	_ = f.Close()
	if err != nil {
		t.Fatal(err)
	}
	c, err = newConn(socket.(*net.UnixConn), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return pair[0], c
}

func sendBare(t *testing.T, fd int, packet string, files ...int) {
	t.Helper()
	// Not unix.Sendmsg, which adds a byte to descriptors without one.
	iovec := unix.Iovec{}
	if len(packet) > 0 {
		iovec.Base = unsafe.StringData(packet)
		iovec.SetLen(len(packet))
	}
	header := unix.Msghdr{Iov: &iovec}
	header.SetIovlen(1)
	if len(files) > 0 {
		control := unix.UnixRights(files...)
		header.Control = &control[0]
		header.SetControllen(len(control))
	}
	if _, _, errno := unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&header)), unix.MSG_NOSIGNAL); errno != 0 {
		t.Fatal(errno)
	}
}

// soon is a deadline that only a failing test reaches.
func soon() time.Time { return time.Now().Add(20 * time.Second) }

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func validHello() *Message {
	return &Message{Type: TypeHello, Hello: &Hello{
		Protocol: Current(), Stream: "test/color", Accepts: []Backend{BackendSHM},
	}}
}
