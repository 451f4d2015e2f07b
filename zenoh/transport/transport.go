// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// Handler takes what arrives, from the goroutine that reads: while it works,
// nothing more is read.
type Handler interface {
	// HandleMessage may use m and what it points into until it returns. If buf
	// is not nil, the payload lies in it and may be kept with [Buffer.Retain].
	HandleMessage(m *wire.Message, in Arrival, buf *Buffer)
}

// Arrival says how a message came.
type Arrival struct {
	Priority uint8
	Reliable bool
}

// Transport is an open connection.
type Transport struct {
	p    Params
	conn *link.Conn
	s    session
	pool *Pool

	mu      sync.Mutex
	lanes   [8]lane
	bytes   int // waiting in all lanes
	idle    []*Message
	closing bool // flush, then say goodbye
	parting bool // goodbye is said, or being said
	err     error
	wakeup  chan struct{} // tells the writer that there is something to do
	express bool          // something waits that must not be held
	flushes []flush
	timers  sync.Pool // of *time.Timer

	writer *writer
	token  chan struct{} // who has it may write

	ready     atomic.Uint32 // bit i: lane i has something
	keepAlive atomic.Bool   // one is due
	sentSince atomic.Bool   // since the last look
	done      chan struct{} // closed when the connection has ended
	ended     sync.WaitGroup

	stats counters
}

// Open shakes hands over c, which it then owns, and starts to write. Incoming
// messages are read by [Transport.Run]. On an error c is closed.
func Open(ctx context.Context, c *link.Conn, p Params, pool *Pool) (*Transport, error) {
	if err := p.Validate(); err != nil {
		_ = c.Close()
		return nil, err
	}
	s, err := handshake(ctx, c, &p)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return begin(c, p, s, pool), nil
}

// begin starts to write to a connection that is open.
func begin(c *link.Conn, p Params, s session, pool *Pool) *Transport {
	t := &Transport{p: p, conn: c, s: s, pool: pool, wakeup: make(chan struct{}, 1), done: make(chan struct{})}
	for i := range t.lanes {
		t.lanes[i] = lane{keys: map[string]*keyQueue{}, space: make(chan struct{}, 1), sn: [2]uint64{s.sn, s.sn}}
	}
	t.writer = newWriter(t)
	t.token = make(chan struct{}, 1)
	t.token <- struct{}{}
	t.ended.Add(2)
	go t.write()
	go t.watch()
	return t
}

// Remote is the id of the other side.
func (t *Transport) Remote() wire.ZID { return t.s.remote }

// RemoteRole is what the other side is.
func (t *Transport) RemoteRole() wire.WhatAmI { return t.s.remoteRole }

// QoS says whether priorities were agreed on.
func (t *Transport) QoS() bool { return t.s.qos }

// BatchSize is the agreed limit of a batch with its length.
func (t *Transport) BatchSize() int { return t.s.batch }

// RemoteAddr is the address of the other side.
func (t *Transport) RemoteAddr() net.Addr { return t.conn.RemoteAddr() }

// Done is closed when the connection has ended.
func (t *Transport) Done() <-chan struct{} { return t.done }

// Err is why the connection ended; nil while it has not.
func (t *Transport) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// fail ends the connection. Only the first error counts.
func (t *Transport) fail(err error) {
	t.mu.Lock()
	if t.err != nil {
		t.mu.Unlock()
		return
	}
	if t.parting && errors.Is(err, ErrClosed) {
		err = errDone // the other side hung up on hearing our goodbye
	}
	t.err = err
	var dropped *Message
	for i := range t.lanes {
		l := &t.lanes[i]
		for l.head != nil {
			m := l.pop()
			m.newer, dropped = dropped, m
		}
	}
	t.bytes = 0
	t.ready.Store(0)
	close(t.done)
	for _, f := range t.flushes {
		close(f.done)
	}
	t.flushes = nil
	t.mu.Unlock()
	_ = t.conn.Close()
	t.free(dropped)
}

// free ends the messages of a list linked by newer.
func (t *Transport) free(m *Message) {
	for m != nil {
		next := m.newer
		m.done(false)
		t.recycle(m)
		m = next
	}
}

// Get hands out a message to fill in.
func (t *Transport) Get() *Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		m := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return m
	}
	return new(Message)
}

// maxIdle bounds the messages kept for later.
const maxIdle = 4096

func (t *Transport) recycle(m *Message) {
	m.reset()
	t.mu.Lock()
	t.recycleLocked(m)
	t.mu.Unlock()
}

func (t *Transport) recycleLocked(m *Message) {
	if len(t.idle) < maxIdle {
		t.idle = append(t.idle, m)
	}
}

// Close sends what waits, says goodbye and ends the connection. ctx bounds it.
func (t *Transport) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closing = true
	t.mu.Unlock()
	t.wake()
	select {
	case <-t.done:
	case <-ctx.Done():
		t.fail(fmt.Errorf("%w: %w", ErrClosed, context.Cause(ctx)))
	}
	t.ended.Wait()
	if err := t.Err(); !errors.Is(err, errDone) {
		return err
	}
	return nil
}

// errDone is the end after a goodbye of ours.
var errDone = fmt.Errorf("%w by us", ErrClosed)

func (t *Transport) wake() {
	select {
	case t.wakeup <- struct{}{}:
	default:
	}
}

// looks is how often in the time between two keep-alives [Transport.watch] looks.
const looks = 4

// watch asks for keep-alives and looks whether the other side takes bytes.
func (t *Transport) watch() {
	defer t.ended.Done()
	tick := time.NewTicker(max(t.p.Lease/time.Duration(t.p.KeepAlive)/looks, time.Millisecond))
	defer tick.Stop()
	quiet := 0 // looks at which nothing had been sent, in a row
	for {
		select {
		case <-t.done:
			return
		case <-tick.C:
		}
		if stuck := t.conn.StuckFor(); stuck > t.p.Lease {
			t.fail(fmt.Errorf("%w for %v", ErrUnresponsive, stuck.Round(time.Millisecond)))
			return
		}
		if t.sentSince.Swap(false) {
			quiet = 0
			continue
		}
		// What was sent last is up to a look older than the first quiet one.
		if quiet++; quiet >= looks-1 {
			t.keepAlive.Store(true)
			t.wake()
		}
	}
}
