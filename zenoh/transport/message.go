// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import "time"

// Congestion says what becomes of a message that finds no room.
type Congestion uint8

// The ways.
const (
	Drop       Congestion = iota // the newest of each key waits, others go
	Block                        // the sender waits
	BlockFirst                   // the sender waits, others meanwhile are dropped
)

// Message is an encoded network message on its way out. [Transport.Get] hands
// it out and [Transport.Send] takes it, whatever becomes of it.
type Message struct {
	Priority   uint8 // 0 to 7
	Reliable   bool
	Express    bool
	Congestion Congestion
	// Later says that the sender's goroutine must not write: it may then neither
	// wait nor be called back by others' Release.
	Later bool
	// Key lets a newer message replace an older one; "": never.
	Key string
	// Head is the encoded message, but for the Payload.
	Head []byte
	// Payload ends the message. It is not copied and must not change until
	// Release is called.
	Payload []byte
	// Release is called once, from any goroutine, when the payload is no
	// longer needed. It must not block. nil: nobody cares.
	Release func()
	// Done is called like Release, and learns whether the message was written.
	Done func(sent bool)
	// Buffer is released like Release is called.
	Buffer *Buffer

	next, prev *Message
	newer      *Message // of the same key in the same lane
	queue      *keyQueue
	at         time.Time
	place      uint64 // in the lane; that of the one it replaced
	sent       int    // bytes of it that are in fragments already
}

func (m *Message) size() int { return len(m.Head) + len(m.Payload) }

// bookkeeping is what a waiting message counts beside its bytes.
const bookkeeping = 64

func (m *Message) cost() int { return m.size() + bookkeeping }

// done gives the payload back.
func (m *Message) done(sent bool) {
	if m.Release != nil {
		m.Release()
	}
	if m.Done != nil {
		m.Done(sent)
	}
	if m.Buffer != nil {
		m.Buffer.Release()
	}
}

// maxKept is the largest head whose memory is used again.
const maxKept = 64 << 10

func (m *Message) reset() {
	head := m.Head[:0]
	if cap(head) > maxKept {
		head = nil
	}
	*m = Message{Head: head}
}
