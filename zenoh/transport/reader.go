// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/link"
	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// source is what is read from.
type source interface {
	Read(b []byte) (int, error)
	CanReadVec() bool
	ReadVec(bufs [][]byte) (int, error)
	SetReadDeadline(t time.Time) error
}

// reader is the state of the goroutine that reads.
type reader struct {
	t     *Transport
	in    source
	h     Handler
	msg   wire.Message
	r     wire.Reader
	lanes [8][2]inLane
	held  int // bytes of incomplete messages
	room  int // what was taken from the pool for them

	buf      []byte
	from, to int // of buf: what was read and is not taken yet
	batchLen int // of the batch that is being taken apart, with its length
	ahead    scatter
}

// inLane is one priority and reliability of what arrives.
type inLane struct {
	last uint64 // number
	buf  *Buffer
	size int  // of the message before
	most int  // about the most that messages lately had
	skip bool // until a new message starts
	// taken is what the message has of the budget.
	taken int
}

// firstRead is how much is read ahead at the start; it grows when it is full.
const firstRead = 2 + 65535

func newReader(t *Transport, in source, h Handler) *reader {
	r := &reader{t: t, in: in, h: h, buf: make([]byte, firstRead)}
	for i := range r.lanes {
		for j := range r.lanes[i] {
			r.lanes[i][j].last = (t.s.remoteSN - 1) & t.s.mask
		}
	}
	return r
}

// Run reads and hands messages to h until the connection ends, and says why;
// nil after [Transport.Close].
func (t *Transport) Run(ctx context.Context, h Handler) error {
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		t.fail(fmt.Errorf("%w: %w", ErrClosed, context.Cause(ctx)))
	})
	defer func() {
		if !stop() {
			<-cut // it gives back what waits
		}
	}()
	r := newReader(t, t.conn, h)
	t.fail(r.run())
	t.ended.Wait()
	r.end()
	if err := t.Err(); !errors.Is(err, errDone) {
		return err
	}
	return nil
}

// end gives back what is incomplete.
func (r *reader) end() {
	for i := range r.lanes {
		for j := range r.lanes[i] {
			r.clear(&r.lanes[i][j])
		}
	}
}

func (r *reader) run() error {
	t := r.t
	for {
		if err := r.batches(); err != nil {
			return err
		}
		if err := r.in.SetReadDeadline(time.Now().Add(t.s.remoteLease)); err != nil {
			return fmt.Errorf("%w: %w", ErrClosed, err)
		}
		var err error
		if r.foresee() {
			err = r.readInPlace()
		} else {
			err = r.readAhead()
		}
		switch {
		case err == nil:
		case link.IsTimeout(err):
			return fmt.Errorf("%w: nothing for %v", ErrExpired, t.s.remoteLease)
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w by the other side", ErrClosed)
		default:
			return fmt.Errorf("%w: reading: %w", ErrClosed, err)
		}
	}
}

// batches takes the whole batches in buf.
func (r *reader) batches() error {
	t := r.t
	for r.to-r.from >= 2 {
		n := int(binary.LittleEndian.Uint16(r.buf[r.from:])) + 2
		if n > t.s.batch {
			return fmt.Errorf("%w: batch of %d bytes, agreed were %d", ErrProtocol, n, t.s.batch)
		}
		if r.to-r.from < n {
			break
		}
		t.stats.batchesIn.Add(1)
		r.batchLen, r.ahead.lane = n, nil
		b := r.buf[r.from+2 : r.from+n : r.from+n]
		r.from += n
		if err := r.batch(b); err != nil {
			return err
		}
	}
	return nil
}

// readAhead reads into buf.
func (r *reader) readAhead() error {
	if r.from == r.to {
		r.from, r.to = 0, 0
	} else if min(len(r.buf), r.t.p.ReadBytes)-r.from < firstRead {
		r.to = copy(r.buf, r.buf[r.from:r.to])
		r.from = 0
	}
	end := min(len(r.buf), r.t.p.ReadBytes)
	if r.ahead.again {
		end = min(end, r.from+firstRead)
	}
	n, err := r.in.Read(r.buf[r.to:end])
	r.count(n)
	full := r.from == 0 && r.to+n == end
	r.to += n
	if full {
		r.grow(min(4*end, r.t.p.ReadBytes))
	}
	return err
}

func (r *reader) count(n int) {
	r.t.stats.reads.Add(1)
	r.t.stats.bytesIn.Add(uint64(n))
}

// grow gives buf room for n bytes.
func (r *reader) grow(n int) {
	if n > len(r.buf) {
		larger := make([]byte, n)
		copy(larger, r.buf[:r.to])
		r.buf = larger
	}
}

// batch takes one batch apart.
func (r *reader) batch(b []byte) error {
	r.r.Reset(b)
	for r.r.Len() > 0 {
		h, _ := r.r.Peek()
		switch wire.ID(h) {
		case wire.IDKeepAlive:
			if err := wire.DecodeKeepAlive(&r.r); err != nil {
				return fmt.Errorf("%w: KEEP_ALIVE: %w", ErrProtocol, err)
			}
		case wire.IDClose:
			var c wire.Close
			if err := c.Decode(&r.r); err != nil {
				return fmt.Errorf("%w: CLOSE: %w", ErrProtocol, err)
			}
			return fmt.Errorf("%w by the other side: %v", ErrClosed, c.Reason)
		case wire.IDFrame, wire.IDFragment:
			if err := r.frame(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%w: message %#x", ErrProtocol, h)
		}
	}
	return nil
}

func (r *reader) frame() error {
	var f wire.Frame
	if err := f.Decode(&r.r); err != nil {
		return fmt.Errorf("%w: frame: %w", ErrProtocol, err)
	}
	if f.Priority != 5 && !r.t.s.qos {
		return fmt.Errorf("%w: priority %d without agreement", ErrProtocol, f.Priority)
	}
	mask := r.t.s.mask
	if f.SN > mask {
		return fmt.Errorf("%w: number %d of at most %d", ErrProtocol, f.SN, mask)
	}
	l := &r.lanes[f.Priority][0]
	if f.Reliable {
		l = &r.lanes[f.Priority][1]
	}
	gap := (f.SN - l.last) & mask
	fresh := gap > 0 && gap <= mask/2
	if fresh {
		l.last = f.SN
	} else {
		r.t.stats.stale.Add(1)
	}
	r.ahead.again = r.ahead.again && f.Fragment
	if f.Fragment {
		b := r.r.Rest()
		if fresh {
			r.fragment(l, f, gap, b)
		}
		return nil
	}
	for r.r.Len() > 0 {
		if h, _ := r.r.Peek(); !wire.IsNetwork(h) {
			return nil
		}
		if err := r.msg.Decode(&r.r); err != nil {
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		if fresh {
			r.t.stats.messagesIn.Add(1)
			r.h.HandleMessage(&r.msg, Arrival{f.Priority, f.Reliable}, nil)
		}
	}
	return nil
}
