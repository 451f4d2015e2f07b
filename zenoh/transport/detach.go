// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"unsafe"
)

// holders yields the messages of key that have payload as it was given, with
// the mutex held, and whether they have begun to be written.
func (t *Transport) holders(key string, payload []byte, yield func(m *Message, begun bool)) {
	has := func(m *Message) bool {
		return m.Key == key && m.Buffer == nil && len(m.Payload) == len(payload) && unsafe.SliceData(m.Payload) == unsafe.SliceData(payload)
	}
	for i := range t.lanes {
		l := &t.lanes[i]
		if m := l.train; m != nil && has(m) {
			yield(m, true)
		}
		if q := l.keys[key]; q != nil {
			for m := q.oldest; m != nil; m = m.newer {
				if has(m) {
					yield(m, false)
				}
			}
		}
	}
	for _, m := range t.writer.sent {
		if has(m) {
			yield(m, true)
		}
	}
}

// Holds says whether messages of key have payload still, and whether that can be
// changed by [Transport.Detach].
func (t *Transport) Holds(key string, payload []byte) (holds bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders(key, payload, func(_ *Message, begun bool) { holds = holds || !begun || t.conn.CanRebase() })
	return holds
}

// Detach has the messages of key that have payload go on with a copy of it, which
// is in to, and gives payload back at once, also where it is being written.
// Those that have begun to go out count as sent, others do not. Each message is
// a user of to. It may be called from any goroutine, and waits for nothing.
func (t *Transport) Detach(key string, payload []byte, to *Buffer) {
	var back [16]Message
	given := back[:0]
	t.mu.Lock()
	moved := false
	t.holders(key, payload, func(m *Message, begun bool) {
		if begun && !t.conn.CanRebase() {
			return
		}
		given = append(given, Message{Release: m.Release, Done: m.Done, sent: m.sent})
		if begun {
			moved = true
			given[len(given)-1].sent = 1
		}
		to.Retain()
		m.Payload, m.Release, m.Done, m.Buffer = to.B, nil, nil, to
	})
	if moved {
		t.conn.Rebase(&t.writer.vec, payload, to.B)
	}
	t.mu.Unlock()
	for i := range given {
		given[i].done(given[i].sent > 0)
	}
}

// GiveUp ends what messages of key have payload: those that wait are dropped,
// and where one has begun to go out, which cannot be taken back, the connection
// ends with [ErrBehind].
func (t *Transport) GiveUp(key string, payload []byte) {
	var lost *Message
	t.mu.Lock()
	begun := false
	var waiting []*Message
	t.holders(key, payload, func(m *Message, under bool) {
		begun = begun || under
		if !under {
			waiting = append(waiting, m)
		}
	})
	for _, m := range waiting {
		l := &t.lanes[m.Priority&7]
		t.bytes -= m.cost()
		l.take(m)
		m.newer, lost = lost, m
		if l.empty() {
			t.ready.Store(t.ready.Load() &^ (1 << (m.Priority & 7)))
		}
		t.stats.dropped.Add(1)
	}
	t.mu.Unlock()
	t.free(lost)
	if begun {
		t.fail(fmt.Errorf("%w: copies for links that are behind are at their limit", ErrBehind))
	}
}
