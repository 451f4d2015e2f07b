// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel holds no more unsent bytes than was asked for, and sends small
// writes at once.
func TestSocketOptions(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, bytes := range []int{0, 16 << 10} {
		c, err := Dial(context.Background(), Endpoint{Proto: "tcp", Address: l.Addr().String()}, &Options{NotSentBytes: bytes})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := c.sock.Conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			for _, o := range []struct {
				name         string
				option, want int
			}{{"TCP_NOTSENT_LOWAT", unix.TCP_NOTSENT_LOWAT, bytes}, {"TCP_NODELAY", unix.TCP_NODELAY, 1}} {
				if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, o.option); err != nil || got != o.want {
					t.Errorf("%s is %d, %v, want %d", o.name, got, err, o.want)
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
