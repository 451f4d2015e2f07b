// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"context"
	"sync"
	"sync/atomic"
)

// queue passes values from the goroutine that reads the network to whoever
// receives: through a callback, in a ring that keeps the newest, or first in
// first out, where a full queue stops the reading.
type queue[T any] struct {
	callback func(T)
	drop     func(*T) // gives back a value that nobody gets
	size     int
	ring     bool

	serial sync.Mutex // for callbacks with what comes from the network

	mu     sync.Mutex
	vals   []T // circular
	head   int
	n      int
	closed bool
	err    error // after the last value

	some, room chan struct{}
	done       chan struct{}
	dropped    atomic.Uint64
}

func newQueue[T any](h Handler[T], size int, drop func(*T)) *queue[T] {
	q := &queue[T]{
		callback: h.Callback, drop: drop, size: size,
		some: make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{}),
	}
	switch {
	case h.Ring > 0:
		q.ring, q.size = true, h.Ring
	case h.FIFO > 0:
		q.size = h.FIFO
	}
	return q
}

// Handler says how values reach the program: by callback, or by Receive from a
// queue. The zero value is a queue of 256, first in first out.
type Handler[T any] struct {
	// Callback is called from the goroutine that reads the network, which
	// waits for it: it must be quick, and must not wait for the network. Of what
	// comes through several connections it gets one value after the other.
	Callback func(T)
	// Ring keeps this many values and drops the oldest for a new one.
	Ring int
	// FIFO keeps this many values. When it is full nothing more is read from
	// the network, for anybody in the session.
	FIFO int
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// receiveRemote hands over what came from the network: of several connections
// one at a time.
func (q *queue[T]) receiveRemote(v T) {
	if q.callback != nil {
		q.serial.Lock()
		defer q.serial.Unlock()
	}
	q.push(v)
}

// push hands v over, or gives it back when the queue is closed.
func (q *queue[T]) push(v T) {
	if q.callback != nil {
		q.mu.Lock()
		closed := q.closed
		q.mu.Unlock()
		if closed {
			q.giveBack(v)
		} else {
			q.callback(v)
		}
		return
	}
	q.mu.Lock()
	for !q.closed && q.n == q.size && !q.ring {
		q.mu.Unlock()
		select {
		case <-q.room:
		case <-q.done:
		}
		q.mu.Lock()
	}
	if q.closed {
		q.mu.Unlock()
		q.giveBack(v)
		return
	}
	if q.n == q.size {
		old := q.take()
		q.put(v)
		q.mu.Unlock()
		q.dropped.Add(1)
		q.giveBack(old)
		return
	}
	q.put(v)
	q.mu.Unlock()
	signal(q.some)
}

// giveBack is apart from push so that only a value that nobody gets costs an
// allocation, for having an address.
func (q *queue[T]) giveBack(v T) { q.drop(&v) }

func (q *queue[T]) put(v T) {
	if q.n == len(q.vals) {
		vals := make([]T, min(max(2*q.n, 8), max(q.size, q.n+1)))
		for i := range q.n {
			vals[i] = q.vals[(q.head+i)%len(q.vals)]
		}
		q.vals, q.head = vals, 0
	}
	q.vals[(q.head+q.n)%len(q.vals)] = v
	q.n++
}

func (q *queue[T]) take() T {
	var zero T
	v := q.vals[q.head]
	q.vals[q.head] = zero
	q.head = (q.head + 1) % len(q.vals)
	q.n--
	return v
}

// receive returns the oldest value. After close it returns what is left, and
// then the error of close.
func (q *queue[T]) receive(ctx context.Context) (T, error) {
	for {
		q.mu.Lock()
		if q.n > 0 {
			v := q.take()
			left := q.n
			q.mu.Unlock()
			signal(q.room)
			if left > 0 {
				signal(q.some)
			}
			return v, nil
		}
		closed, err := q.closed, q.err
		q.mu.Unlock()
		var zero T
		if closed {
			return zero, err
		}
		select {
		case <-q.some:
		case <-q.done:
		case <-ctx.Done():
			return zero, context.Cause(ctx)
		}
	}
}

// end closes the queue for new values; last are put in before, above its size
// if need be. Receivers get err at the end. Only the first call counts.
func (q *queue[T]) end(err error, last []T) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		for i := range last {
			q.drop(&last[i])
		}
		return false
	}
	q.closed, q.err = true, err
	if q.callback == nil {
		for _, v := range last {
			q.put(v)
		}
	}
	close(q.done)
	q.mu.Unlock()
	if q.callback != nil {
		for _, v := range last {
			q.callback(v)
		}
	}
	return true
}

// discard ends the queue and throws away what is left.
func (q *queue[T]) discard(err error) {
	q.end(err, nil)
	for {
		q.mu.Lock()
		if q.n == 0 {
			q.mu.Unlock()
			return
		}
		v := q.take()
		q.mu.Unlock()
		q.drop(&v) // which may call back
	}
}
