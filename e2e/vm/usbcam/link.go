// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package usbcam

import (
	"encoding/binary"
	"io"
	"os"
	"sync"
)

// Commands of USB/IP, and errno values that it carries negated.
const (
	cmdSubmit = 1
	cmdUnlink = 2
	retSubmit = 3
	retUnlink = 4

	statusStall     = -32
	statusReset     = -104
	headBytes       = 48
	noIsochronous   = 0xffffffff
	directionIn     = 1
	maxTransferSize = 1 << 20
)

// urb is a request of the kernel.
type urb struct {
	seq      uint32
	in       bool
	endpoint uint32
	length   int
	setup    [8]byte
	data     []byte // of an OUT request
	unlink   bool
	victim   uint32 // sequence number of what an unlink request takes back
}

// link is the connection to the kernel.
type link struct {
	file *os.File
	mu   sync.Mutex // of writing
}

func newLink(f *os.File) *link { return &link{file: f} }

var be = binary.BigEndian

// receive reads the next request.
func (l *link) receive() (urb, error) {
	var h [headBytes]byte
	if _, err := io.ReadFull(l.file, h[:]); err != nil {
		return urb{}, err
	}
	u := urb{
		seq: be.Uint32(h[4:]), in: be.Uint32(h[12:]) == directionIn, endpoint: be.Uint32(h[16:]),
		unlink: be.Uint32(h[0:]) == cmdUnlink,
	}
	if u.unlink {
		u.victim = be.Uint32(h[20:])
		return u, nil
	}
	u.length = int(min(be.Uint32(h[24:]), maxTransferSize))
	copy(u.setup[:], h[40:])
	if !u.in && u.length > 0 {
		u.data = make([]byte, u.length)
		if _, err := io.ReadFull(l.file, u.data); err != nil {
			return urb{}, err
		}
	}
	return u, nil
}

// answer ends a request. length is what was transferred in either direction. A
// failure to write shows in receive.
func (l *link) answer(seq uint32, status int32, data []byte, length int) {
	b := make([]byte, headBytes, headBytes+len(data))
	be.PutUint32(b[0:], retSubmit)
	be.PutUint32(b[4:], seq)
	be.PutUint32(b[20:], uint32(status))
	be.PutUint32(b[24:], uint32(length))
	be.PutUint32(b[32:], noIsochronous)
	l.write(append(b, data...))
}

// unlinked answers a request to take another one back.
func (l *link) unlinked(seq uint32, status int32) {
	b := make([]byte, headBytes)
	be.PutUint32(b[0:], retUnlink)
	be.PutUint32(b[4:], seq)
	be.PutUint32(b[20:], uint32(status))
	l.write(b)
}

func (l *link) write(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.file.Write(b)
}
