// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is an open link. One goroutine may read and one write.
type Conn struct {
	top net.Conn // what bytes go through: the socket, or TLS over it
	// MTU is the most bytes that a batch and its length may have.
	MTU int

	vectored bool
	sock     socket
	flat     []byte // a unit in one piece, for TLS
}

// socket is the connection of the operating system with a view of its state.
type socket struct {
	net.Conn
	congested atomic.Int64 // monotonic time of the first refusal in a row, 0: none
	progress  atomic.Int64 // monotonic time of the last byte taken while congested
	raw       rawWriter
	moving    sync.Mutex // memory that is being written may move: see Conn.Rebase
	in        rawReader
}

var start = time.Now()

func now() int64 { return int64(time.Since(start)) + 1 }

// CongestedFor is how long the kernel has been refusing bytes: since the write
// under way met a full send queue. 0: it takes them.
func (c *Conn) CongestedFor() time.Duration { return since(&c.sock.congested) }

// StuckFor is for how long a write has been under way without a byte taken.
func (c *Conn) StuckFor() time.Duration {
	if c.sock.congested.Load() == 0 {
		return 0
	}
	return since(&c.sock.progress)
}

func since(t *atomic.Int64) time.Duration {
	v := t.Load()
	if v == 0 {
		return 0
	}
	return time.Duration(max(now()-v, 1))
}

// Read reads what is there.
func (c *Conn) Read(b []byte) (int, error) { return c.top.Read(b) }

// CanReadVec says whether [Conn.ReadVec] works.
func (c *Conn) CanReadVec() bool { return c.vectored && canReadVec }

// ReadVec reads what is there into bufs, of which there is at least one and
// none is empty, one after the other.
func (c *Conn) ReadVec(bufs [][]byte) (int, error) { return c.sock.readVec(bufs) }

// Write writes all of b.
func (c *Conn) Write(b []byte) (int, error) { return c.top.Write(b) }

// SetReadDeadline bounds reads.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.top.SetReadDeadline(t) }

// SetWriteDeadline bounds writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.top.SetWriteDeadline(t) }

// Close closes the socket at once.
func (c *Conn) Close() error { return c.sock.Conn.Close() }

// CloseWrite says goodbye to the other side in the way of the protocol.
func (c *Conn) CloseWrite() error {
	if h, ok := c.top.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nil
}

// LocalAddr is the own address.
func (c *Conn) LocalAddr() net.Addr { return c.top.LocalAddr() }

// RemoteAddr is the address of the other side.
func (c *Conn) RemoteAddr() net.Addr { return c.top.RemoteAddr() }

// WriteVec writes the units of v. When urgent says so it stops at the end of
// the unit under way. Without wait, which only works where [Conn.CanTry], it
// also stops where the kernel refuses: then it is not done, and [Conn.Resume]
// must go on. It returns how many units were written whole.
func (c *Conn) WriteVec(v *Vec, urgent func() bool, wait bool) (units int, done bool, err error) {
	if c.vectored {
		return c.sock.writeVec(v, urgent, wait)
	}
	from := 0
	for i, end := range v.ends {
		if i > 0 && urgent != nil && urgent() {
			return i, true, nil
		}
		c.sock.moving.Lock()
		c.flat = c.flat[:0]
		for _, b := range v.bufs[from:end] {
			c.flat = append(c.flat, b...)
		}
		c.sock.moving.Unlock()
		if _, err := c.top.Write(c.flat); err != nil {
			return i, true, err
		}
		from = end
	}
	return len(v.ends), true, nil
}

// Resume goes on with a write that is not done. The units count from its start.
func (c *Conn) Resume(wait bool) (units int, done bool, err error) { return c.sock.resume(wait) }

// CanTry says whether a write can stop where the kernel refuses.
func (c *Conn) CanTry() bool { return c.vectored && canTry }

// IsTimeout says whether err is a deadline that passed.
func IsTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}
