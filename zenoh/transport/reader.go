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

// reader is the state of the goroutine that reads.
type reader struct {
	t     *Transport
	h     Handler
	msg   wire.Message
	r     wire.Reader
	lanes [8][2]inLane
	held  int // bytes of incomplete messages
}

// inLane is one priority and reliability of what arrives.
type inLane struct {
	last uint64 // number
	buf  *Buffer
	hint int  // size of the message before
	skip bool // until a new message starts
}

// firstRead is how much is read ahead at the start; it grows when it is full.
const firstRead = 2 + 65535

// Run reads and hands messages to h until the connection ends, and says why;
// nil after [Transport.Close].
func (t *Transport) Run(ctx context.Context, h Handler) error {
	stop := context.AfterFunc(ctx, func() { t.fail(fmt.Errorf("%w: %w", ErrClosed, context.Cause(ctx))) })
	defer stop()
	r := &reader{t: t, h: h}
	for i := range r.lanes {
		for j := range r.lanes[i] {
			r.lanes[i][j].last = (t.s.remoteSN - 1) & t.s.mask
		}
	}
	t.fail(r.run())
	t.ended.Wait()
	for i := range r.lanes {
		for j := range r.lanes[i] {
			r.clear(&r.lanes[i][j])
		}
	}
	if err := t.Err(); !errors.Is(err, errDone) {
		return err
	}
	return nil
}

func (r *reader) run() error {
	t := r.t
	buf := make([]byte, firstRead)
	from, to := 0, 0
	for {
		for to-from >= 2 {
			n := int(binary.LittleEndian.Uint16(buf[from:]))
			if n+2 > t.s.batch {
				return fmt.Errorf("%w: batch of %d bytes, agreed were %d", ErrProtocol, n+2, t.s.batch)
			}
			if to-from < 2+n {
				break
			}
			t.stats.batchesIn.Add(1)
			if err := r.batch(buf[from+2 : from+2+n : from+2+n]); err != nil {
				return err
			}
			from += 2 + n
		}
		if from == to {
			from, to = 0, 0
		} else if len(buf)-from < firstRead {
			to = copy(buf, buf[from:to])
			from = 0
		}
		if err := t.conn.SetReadDeadline(time.Now().Add(t.s.remoteLease)); err != nil {
			return fmt.Errorf("%w: %w", ErrClosed, err)
		}
		n, err := t.conn.Read(buf[to:])
		t.stats.reads.Add(1)
		t.stats.bytesIn.Add(uint64(n))
		full := from == 0 && to+n == len(buf)
		to += n
		switch {
		case err == nil:
		case link.IsTimeout(err):
			return fmt.Errorf("%w: nothing for %v", ErrExpired, t.s.remoteLease)
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w by the other side", ErrClosed)
		default:
			return fmt.Errorf("%w: reading: %w", ErrClosed, err)
		}
		if full && len(buf) < t.p.ReadBytes {
			larger := make([]byte, min(4*len(buf), t.p.ReadBytes))
			copy(larger, buf)
			buf = larger
		}
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
