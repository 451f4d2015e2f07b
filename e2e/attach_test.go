// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/negotiate"
)

// Where things lie in shared memory, version 1 of the layout. A hostile reader
// knows it from the source.
const (
	probeAt    = 64 // in the header, 32 bytes
	mailboxAt  = 0  // in the reader's page
	waitingAt  = 64
	kickAt     = 128
	evictedAt  = 192
	headAt     = 256
	tailAt     = 320
	returnsAt  = 512
	returnMask = 63
)

// attached is a subscription by hand: the descriptors and the page, and nobody
// that keeps to the protocol unless told to.
type attached struct {
	*raw
	layout               negotiate.Layout
	header, pixels, page int // descriptors
	wake                 int // descriptor of the word of wake-ups
	pipe                 int // -1 with futex
	headerMap, mine      []byte
}

// attach does the whole hand-shake, once more where the camera changes its format
// meanwhile.
func attach(t testing.TB, dir string, wake negotiate.WakeKind) *attached {
	t.Helper()
	for end := time.Now().Add(hung); ; {
		a := &attached{raw: dialRaw(t, dir), pipe: -1}
		refused := a.shake(wake)
		if refused == nil {
			return a
		}
		if refused.Reason != negotiate.ReasonNotReady || time.Now().After(end) {
			t.Fatalf("refused: %+v", refused)
		}
		a.close()
	}
}

// shake does the hand-shake; not nil: the daemon refuses.
func (a *attached) shake(wake negotiate.WakeKind) *negotiate.Refusal {
	a.t.Helper()
	a.send(hello(wake))
	m, fds := a.receiveFiles()
	if m.Reject != nil {
		return m.Reject
	}
	if m.Offer == nil || len(fds) != 2 {
		a.t.Fatalf("no offer with two descriptors: %+v, %v", m, fds)
	}
	a.layout, a.header, a.pixels = m.Offer.Layout, fds[0], fds[1]
	a.headerMap = a.mapFile(a.header, int(a.layout.HeaderBytes), unix.PROT_READ)
	proof := negotiate.Proof(m.Offer.Challenge, a.headerMap[probeAt:probeAt+negotiate.ProbeBytes])
	a.send(fmt.Sprintf(`{"type":"probe","probe":{"ok":true,"proof":%q}}`, proof))
	m, fds = a.receiveFiles()
	if m.Reject != nil {
		return m.Reject
	}
	if m.Start == nil || len(fds) < 2 {
		a.t.Fatalf("no start with a page and a word of wake-ups: %+v, %v", m, fds)
	}
	a.page, a.wake = fds[0], fds[1]
	if len(fds) > 2 {
		a.pipe = fds[2]
	}
	a.mine = a.mapFile(a.page, int(a.layout.PageBytes), unix.PROT_READ|unix.PROT_WRITE)
	return nil
}

func (a *attached) mapFile(fd, size, prot int) []byte {
	a.t.Helper()
	b, err := unix.Mmap(fd, 0, size, prot, unix.MAP_SHARED)
	if err != nil {
		a.t.Fatalf("mapping: %v", err)
	}
	a.t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

// receiveFiles is receive that keeps the descriptors until the end of the test.
func (a *attached) receiveFiles() (m negotiate.Message, fds []int) {
	a.t.Helper()
	packet, control := make([]byte, negotiate.MaxPacket), make([]byte, 256)
	n, oobn, _, _, err := unix.Recvmsg(a.fd, packet, control, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, oobn, _, _, err = unix.Recvmsg(a.fd, packet, control, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		a.t.Fatalf("receiving: %v", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:oobn])
	if err != nil {
		a.t.Fatal(err)
	}
	for i := range messages {
		got, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			a.t.Fatal(err)
		}
		fds = append(fds, got...)
	}
	a.t.Cleanup(func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	})
	if err := json.Unmarshal(packet[:n], &m); err != nil {
		a.t.Fatalf("camd sent %q: %v", packet[:n], err)
	}
	return m, fds
}

func (a *attached) u32(at int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&a.mine[at])) }

func (a *attached) u64(at int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&a.mine[at])) }

// take waits for a word in the mailbox.
func (a *attached) take() (word uint64) {
	a.t.Helper()
	eventually(a.t, "a frame in the mailbox", func() (bool, string) {
		word = a.u64(mailboxAt).Swap(0)
		return word != 0, "none"
	})
	return word
}

// giveBack returns a word, whatever it is.
func (a *attached) giveBack(word uint64) {
	head := a.u32(headAt).Load()
	a.u64(returnsAt + int(head&returnMask)*8).Store(word)
	a.u32(headAt).Store(head + 1)
	if a.u32(kickAt).Swap(0) != 0 {
		a.push(`{"type":"kick"}`)
	}
}

// takes takes and returns frames as the protocol wants it.
func (a *attached) takes(n int) {
	a.t.Helper()
	for range n {
		a.giveBack(a.take())
	}
}

// evicted waits for the message that ends the subscription, and goes.
func (a *attached) evicted(want negotiate.Reason) {
	a.t.Helper()
	for {
		m, ok := a.receive()
		if !ok {
			a.t.Error("closed without a word")
			return
		}
		if m.Evict == nil {
			continue
		}
		if m.Evict.Reason != want {
			a.t.Errorf("evicted with reason %q (%s), want %q", m.Evict.Reason, m.Evict.Text, want)
		}
		if a.u32(evictedAt).Load() != 1 {
			a.t.Error("the page does not say that the reader is evicted")
		}
		a.close()
		return
	}
}

// queued empties the socket's queue and counts the packets.
func (a *attached) queued() (n int) {
	a.t.Helper()
	packet, control := make([]byte, negotiate.MaxPacket), make([]byte, 256)
	for ; ; n++ {
		_, oobn, _, _, err := unix.Recvmsg(a.fd, packet, control, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return n
		}
		if err != nil {
			a.t.Fatalf("receiving: %v", err)
		}
		messages, err := unix.ParseSocketControlMessage(control[:oobn])
		if err != nil {
			a.t.Fatal(err)
		}
		for i := range messages {
			fds, _ := unix.ParseUnixRights(&messages[i])
			for _, fd := range fds {
				_ = unix.Close(fd)
			}
		}
	}
}
