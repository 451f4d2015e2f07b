// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

// keyQueue lists the waiting messages of a key, linked by newer.
type keyQueue struct {
	key            string
	oldest, newest *Message
}

// maxKeys is how many keys are remembered without a message waiting, so that
// the next one needs no new memory.
const maxKeys = 4096

// lane is the queue of one priority. Its transport's mutex guards it.
type lane struct {
	head, tail *Message
	bytes      int // waiting, with bookkeeping
	count      int
	places     uint64 // ever taken
	// keys are the waiting messages that may be dropped, by key.
	keys map[string]*keyQueue
	// train is the large message that is being sent in fragments.
	train *Message
	first bool // a BlockFirst message waits for room
	// space wakes one sender that waits for room; it wakes the next.
	space chan struct{}

	sn [2]uint64 // next number, by reliability
}

func (l *lane) empty() bool { return l.head == nil && l.train == nil }

// next is the oldest place that has not left.
func (l *lane) next() uint64 {
	switch {
	case l.train != nil:
		return l.train.place
	case l.head != nil:
		return l.head.place
	}
	return l.places
}

func (l *lane) push(m *Message) {
	m.place = l.places
	l.places++
	m.prev = l.tail
	if l.tail == nil {
		l.head = m
	} else {
		l.tail.next = m
	}
	l.tail = m
	l.bytes += m.cost()
	l.count++
	if m.Congestion != Drop || m.Key == "" {
		return
	}
	q := l.keys[m.Key]
	if q == nil {
		q = &keyQueue{key: m.Key}
		l.keys[m.Key] = q
	}
	m.queue = q
	if q.newest == nil {
		q.oldest = m
	} else {
		q.newest.newer = m
	}
	q.newest = m
}

// pop takes the oldest message.
func (l *lane) pop() *Message {
	m := l.head
	l.head = m.next
	if l.head == nil {
		l.tail = nil
	} else {
		l.head.prev = nil
	}
	m.next = nil
	l.bytes -= m.cost()
	l.count--
	if q := m.queue; q != nil {
		q.oldest, m.newer, m.queue = m.newer, nil, nil
		if q.oldest == nil {
			q.newest = nil
			if len(l.keys) > maxKeys {
				delete(l.keys, q.key)
			}
		}
	}
	return m
}

// replace puts m in the place of the oldest waiting message of its key and
// takes all those out, into a list linked by newer. nil: there was none, and m
// is not in the lane.
func (l *lane) replace(m *Message) *Message {
	q := l.keys[m.Key]
	if q == nil || q.oldest == nil {
		return nil
	}
	out := q.oldest
	for o := out.newer; o != nil; o = o.newer {
		l.unlink(o)
	}
	m.place, m.prev, m.next = out.place, out.prev, out.next
	if m.prev == nil {
		l.head = m
	} else {
		m.prev.next = m
	}
	if m.next == nil {
		l.tail = m
	} else {
		m.next.prev = m
	}
	l.bytes += m.cost() - out.cost()
	m.queue, q.oldest, q.newest = q, m, m
	return out
}

// take takes a waiting message out that others of its key may be beside.
func (l *lane) take(m *Message) {
	l.unlink(m)
	m.next, m.prev = nil, nil
	q := m.queue
	if q == nil {
		return
	}
	var before *Message
	for o := q.oldest; o != m; o = o.newer {
		before = o
	}
	if before == nil {
		q.oldest = m.newer
	} else {
		before.newer = m.newer
	}
	if m.newer == nil {
		q.newest = before
	}
	m.queue, m.newer = nil, nil
}

func (l *lane) unlink(m *Message) {
	if m.prev == nil {
		l.head = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		l.tail = m.prev
	} else {
		m.next.prev = m.prev
	}
	l.bytes -= m.cost()
	l.count--
}

// wake lets one waiting sender look again.
func (l *lane) wake() {
	select {
	case l.space <- struct{}{}:
	default:
	}
}
