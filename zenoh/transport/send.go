// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"time"
)

// Send queues m. Messages of one priority and reliability arrive in order. It
// waits only where m may block: until there is room, ctx ends, or the time for
// that is over. It fails with [ErrClosed], [ErrBlocked], [ErrDropped] (m went),
// [ErrTooLarge] or ctx's error.
func (t *Transport) Send(ctx context.Context, m *Message) error {
	if !t.s.qos {
		m.Priority = 5
	}
	if uint64(m.size()) >= 1<<32-1<<16 {
		size := m.size()
		m.done(false)
		t.recycle(m)
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, size)
	}
	l := &t.lanes[m.Priority&7]
	now := !m.Later && (m.Express || m.size() >= writeNowFrom) && t.p.FlushPeriod == 0 && t.conn.CanTry()
	t.mu.Lock()
	if m.Congestion != Drop && t.full(l, m) {
		if err := t.await(ctx, l, m); err != nil {
			t.mu.Unlock()
			m.done(false)
			t.recycle(m)
			return err
		}
	}
	if t.err != nil || t.closing {
		err := t.err
		t.mu.Unlock()
		m.done(false)
		t.recycle(m)
		if err == nil {
			err = ErrClosed
		}
		return err
	}
	var out *Message
	lost := false
	if m.Congestion == Drop && t.congested(l, m.Priority) {
		before := l.bytes
		if m.Key != "" {
			out = l.replace(m)
			t.bytes += l.bytes - before
		}
		most := t.p.QueueBytes
		if m.Key == "" {
			most += reserve
		}
		lost = out == nil && t.full(l, m) && t.bytes+m.cost() > most
	}
	if !lost && out == nil {
		l.push(m)
		t.bytes += m.cost()
	}
	if t.p.FlushPeriod > 0 {
		m.at = time.Now()
		t.express = t.express || m.Express || m.size() >= t.s.batch
	}
	bit := uint32(1) << (m.Priority & 7)
	asleep := t.p.FlushPeriod > 0
	if ready := t.ready.Load(); ready&bit == 0 && !l.empty() {
		t.ready.Store(ready | bit)
		asleep = true
	}
	t.mu.Unlock()
	if lost {
		t.stats.dropped.Add(1)
		m.done(false)
		t.recycle(m)
		return ErrDropped
	}
	switch {
	case now:
		t.writeNow()
	case asleep:
		t.wake()
	}
	for o := out; o != nil; o = o.newer {
		t.stats.conflated.Add(1)
	}
	t.free(out)
	return nil
}

// reserve is what may wait beyond the limit of messages without a key: those are
// declarations and ends of replies, which nobody repeats.
const reserve = 16 << 20

// writeNowFrom is the size from which on a message is written at once by who
// sends it; smaller ones go together in batches, unless they are express.
const writeNowFrom = 16 << 10

// full says whether the lane has no room. A message larger than the queue is
// taken when nothing else waits.
func (t *Transport) full(l *lane, m *Message) bool {
	if l.count == 0 {
		return false
	}
	return l.bytes > t.p.QueueBatches[m.Priority&7]*t.s.batch || t.bytes+m.cost() > t.p.QueueBytes
}

// congested says whether only the newest message of each key should wait.
func (t *Transport) congested(l *lane, prio uint8) bool {
	if l.count == 0 {
		return false
	}
	return l.bytes > t.p.QueueBatches[prio&7]*t.s.batch || t.conn.CongestedFor() > t.p.WaitBeforeDrop
}

// await waits for room, with the mutex held before and after.
func (t *Transport) await(ctx context.Context, l *lane, m *Message) error {
	if m.Congestion == BlockFirst {
		if l.first {
			t.stats.dropped.Add(1)
			return ErrDropped
		}
		l.first = true
		defer func() { l.first = false }()
	}
	timer, _ := t.timers.Get().(*time.Timer)
	if timer == nil {
		timer = time.NewTimer(t.p.WaitBeforeClose)
	} else {
		timer.Reset(t.p.WaitBeforeClose)
	}
	defer func() {
		timer.Stop()
		t.timers.Put(timer)
	}()
	for t.full(l, m) && t.err == nil && !t.closing {
		t.mu.Unlock()
		var err error
		select {
		case <-l.space:
		case <-t.done:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-timer.C:
			err = fmt.Errorf("%w: waited %v", ErrBlocked, t.p.WaitBeforeClose)
			if stuck := t.conn.StuckFor(); stuck >= t.p.WaitBeforeClose {
				t.fail(fmt.Errorf("%w for %v", ErrUnresponsive, stuck.Round(time.Millisecond)))
			}
		}
		t.mu.Lock()
		if err != nil {
			return err
		}
	}
	if !t.full(l, m) {
		l.wake() // there may be room for the next one too
	}
	return nil
}
