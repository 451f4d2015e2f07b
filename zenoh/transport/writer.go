// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// writer is the state of the goroutine that writes.
type writer struct {
	t       *Transport
	vec     link.Vec
	scratch []byte     // heads, lengths and small messages of a write
	sent    []*Message // small messages of the batch that have a payload elsewhere; the transport's mutex guards it
	written []*Message // the same of the batch before
	lane    *lane
	prio    uint8
	more    func() bool // something more urgent waits
	under   work        // what is being written

	room      int       // of each fragment that is being written
	from      time.Time // when that began
	perSecond float64   // bytes, of a slow link; 0: not known to be slow
}

// The most that one write takes of a large message. An urgent one passes at
// the next batch anyway.
const (
	maxUnits = 256
	// copyBelow is the size of a payload up to which copying it into the batch
	// is cheaper than a slice of its own.
	copyBelow = 4 << 10
)

func newWriter(t *Transport) *writer {
	w := &writer{t: t, scratch: make([]byte, 0, 2*65536)}
	w.more = func() bool { return t.ready.Load()&(1<<w.prio-1) != 0 }
	return w
}

// write is the goroutine that writes what senders do not write themselves.
func (t *Transport) write() {
	defer t.ended.Done()
	w := t.writer
	hold := time.NewTimer(time.Hour)
	defer hold.Stop()
	for {
		<-t.token
		s, wait := w.step(true)
		t.token <- struct{}{}
		if s != idle {
			continue
		}
		var held <-chan time.Time
		if wait > 0 {
			hold.Reset(wait)
			held = hold.C
		}
		select {
		case <-t.wakeup:
		case <-held:
		case <-t.done:
			<-t.token
			w.abandon()
			return
		}
	}
}

// writeNow writes in the sender's goroutine, as long as nobody else does and
// the kernel takes it: no other goroutine has to wake up for it.
func (t *Transport) writeNow() {
	select {
	case <-t.token:
	default:
		t.wake()
		return
	}
	s := wrote
	for s == wrote {
		s, _ = t.writer.step(false)
	}
	t.token <- struct{}{}
	if s == refused || t.ready.Load() != 0 {
		t.wake()
	}
}

// step says what a step of writing came to.
type step uint8

const (
	idle    step = iota // nothing to do
	wrote               // something was written; there may be more
	refused             // the kernel has no room
)

// step writes once. Who calls it holds the token. wait is how long a batch may
// still be held.
func (w *writer) step(mayWait bool) (s step, wait time.Duration) {
	t := w.t
	var units int
	var done bool
	var err error
	if w.under == doNothing {
		if w.under, wait = w.plan(); w.under == doNothing {
			return idle, wait
		}
		units, done, err = t.conn.WriteVec(&w.vec, w.more, mayWait)
	} else {
		units, done, err = t.conn.Resume(mayWait)
	}
	if !done {
		return refused, 0
	}
	k := w.under
	w.under = doNothing
	w.after(k, units)
	if err != nil {
		t.fail(fmt.Errorf("%w: writing: %w", ErrClosed, err))
	}
	return wrote, 0
}

type work uint8

const (
	doNothing work = iota
	doBatch        // one batch of small messages, or a keep-alive
	doTrain        // fragments of the lane's train
	doGoodbye
)

// plan fills vec with what to write next; wait is how long a batch that is not
// full may still be held.
func (w *writer) plan() (k work, wait time.Duration) {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	w.vec.Reset() // under the mutex, like all that fills it: see Detach
	w.scratch = w.scratch[:0]
	if t.err != nil {
		return doNothing, 0
	}
	if len(t.flushes) > 0 {
		t.endFlushes()
	}
	ready := t.ready.Load()
	if ready == 0 {
		if t.closing {
			t.parting = true
			w.batchOf((&wire.Close{Reason: wire.Generic}).Append(nil))
			return doGoodbye, 0
		}
		if t.keepAlive.Swap(false) {
			w.batchOf([]byte{wire.IDKeepAlive})
			return doBatch, 0
		}
		return doNothing, 0
	}
	w.prio = uint8(bits.TrailingZeros32(ready))
	w.lane = &t.lanes[w.prio]
	if wait := w.hold(); wait > 0 {
		return doNothing, wait
	}
	if w.lane.train == nil && !w.fits(w.lane.head) {
		w.lane.train = w.lane.pop()
		t.bytes -= w.lane.train.cost()
	}
	if w.lane.train != nil {
		w.train()
		return doTrain, 0
	}
	w.batch()
	return doBatch, 0
}

// hold is how long the lane's batch may wait for more.
func (w *writer) hold() time.Duration {
	t, l := w.t, w.lane
	if t.p.FlushPeriod <= 0 || t.express || t.closing || len(t.flushes) > 0 || l.train != nil || l.bytes >= t.s.batch {
		t.express = false
		return 0
	}
	return t.p.FlushPeriod - time.Since(l.head.at)
}

// headRoom is what a batch has beside messages: its length and a frame's head.
const headRoom = 2 + wire.MaxFrameHead

func (w *writer) fits(m *Message) bool { return headRoom+m.size() <= w.t.s.batch }

func (w *writer) batchOf(b []byte) {
	w.scratch = binary.LittleEndian.AppendUint16(w.scratch, uint16(len(b)))
	w.scratch = append(w.scratch, b...)
	w.vec.Add(w.scratch)
	w.vec.End()
}

func (w *writer) frame(f wire.Frame) wire.Frame {
	i := 0
	if f.Reliable {
		i = 1
	}
	f.Priority = w.prio
	f.SN = w.lane.sn[i]
	w.lane.sn[i] = (f.SN + 1) & w.t.s.mask
	return f
}

// batch puts as many messages of the lane in one frame as fit.
func (w *writer) batch() {
	t, l := w.t, w.lane
	reliable := l.head.Reliable
	f := w.frame(wire.Frame{Reliable: reliable})
	w.scratch = append(w.scratch, 0, 0)
	w.scratch = f.Append(w.scratch)
	size, from := len(w.scratch), 0
	for l.head != nil && l.head.Reliable == reliable && size+l.head.size() <= t.s.batch {
		m := l.pop()
		t.bytes -= m.cost()
		size += m.size()
		w.scratch = append(w.scratch, m.Head...)
		express := m.Express || !t.p.Batching
		if len(m.Payload) > copyBelow {
			w.vec.Add(w.scratch[from:len(w.scratch):len(w.scratch)])
			from = len(w.scratch)
			w.vec.Add(m.Payload)
			w.sent = append(w.sent, m)
		} else {
			w.scratch = append(w.scratch, m.Payload...)
			if m.Release != nil || m.Done != nil || m.Buffer != nil {
				w.sent = append(w.sent, m)
			} else {
				m.reset()
				t.recycleLocked(m)
			}
		}
		t.stats.messagesOut.Add(1)
		if express {
			break
		}
	}
	w.vec.Add(w.scratch[from:])
	w.vec.End()
	binary.LittleEndian.PutUint16(w.scratch, uint16(size-2))
	w.settle()
}

// settle tells others what became of the lane.
func (w *writer) settle() {
	t, l := w.t, w.lane
	if l.empty() {
		t.ready.Store(t.ready.Load() &^ (1 << w.prio))
	}
	l.wake()
}

// after gives back what was written.
func (w *writer) after(k work, units int) {
	t := w.t
	t.sentSince.Store(true)
	t.stats.writes.Add(1)
	t.stats.batchesOut.Add(uint64(units))
	t.mu.Lock()
	t.stats.bytesOut.Add(uint64(w.vec.Bytes(units)))
	written := w.sent
	w.sent = w.written[:0]
	t.mu.Unlock()
	w.written = written
	switch k {
	case doTrain:
		w.afterTrain(units)
	case doBatch:
		for i, m := range written {
			m.done(units > 0)
			t.recycle(m)
			written[i] = nil
		}
	case doGoodbye:
		_ = t.conn.CloseWrite()
		t.fail(errDone)
	}
}

// abandon gives back what will not be written any more.
func (w *writer) abandon() {
	t := w.t
	var lost *Message
	t.mu.Lock()
	for _, m := range w.sent {
		m.newer, lost = lost, m
	}
	w.sent = nil
	for i := range t.lanes {
		if m := t.lanes[i].train; m != nil {
			m.newer, lost = lost, m
			t.lanes[i].train = nil
		}
	}
	t.mu.Unlock()
	t.free(lost)
}
