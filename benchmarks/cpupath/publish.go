// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// sender hands frames over. errNoRoom: this one found no room.
type sender func(number uint64, fill bool) error

// apart is the least time between two frames. Of two that are handed to camd at
// once the first would give way before anybody could take it.
const apart = 500 * time.Microsecond

var errNoRoom = errors.New("no slot")

// Bounds of a wait for subscribers: for the next one back to back, and for the
// last ones of a block.
const (
	windowWait = 100 * time.Millisecond
	lastWait   = time.Second
)

// publisher sends blocks and reads what its subscribers say of them.
type publisher struct {
	send    sender
	records []chan record // of each subscriber
	number  uint64        // of the newest frame
	counts  func() topic  // nil: there are none
}

// newPublisher reads records from these descriptors.
func newPublisher(send sender, descriptors []int) *publisher {
	p := &publisher{send: send}
	for _, fd := range descriptors {
		c := make(chan record, 1<<16)
		p.records = append(p.records, c)
		go readRecords(os.NewFile(uintptr(fd), "records"), c)
	}
	return p
}

func readRecords(from io.ReadCloser, to chan<- record) {
	defer close(to)
	defer from.Close()
	in := bufio.NewReaderSize(from, 64<<10)
	b := make([]byte, recordBytes)
	for {
		if _, err := io.ReadFull(in, b); err != nil {
			return
		}
		to <- parseRecord(b)
	}
}

// block sends one block.
func (p *publisher) block(ctx context.Context, o order) (report, error) {
	first := p.number + 1
	r := report{Readers: make([]reader, len(p.records))}
	newest := make([]uint64, len(p.records))
	var before topic
	if p.counts != nil {
		before = p.counts()
	}
	for i := range p.records {
		for p.take(i, first, &r.Readers[i], &newest[i], nil) {
		}
	}
	start, last := linux.Monotonic(), int64(0)
	schedule := pace.Schedule{Start: start, Rate: max(o.Rate, 1e-3)}
	for tick := uint64(0); ; tick++ {
		if o.Rate > 0 {
			late := schedule.Late(tick, linux.Monotonic())
			r.Late += late
			tick += late
			if err := pace.Until(ctx, schedule.At(tick)); err != nil {
				return r, err
			}
		}
		if o.Rate == 0 {
			if err := pace.Until(ctx, last+int64(apart)); err != nil {
				return r, err
			}
		}
		if now := linux.Monotonic(); now-start >= o.Nanos && p.number-first+1 >= uint64(o.Least) || ctx.Err() != nil {
			break
		}
		p.number++
		now := linux.Monotonic()
		if p.number == first+1 {
			r.Closest = now - last
		}
		r.Closest, last = min(r.Closest, now-last), now
		switch err := p.send(p.number, o.Fill); {
		case errors.Is(err, errNoRoom):
			r.NoSlot++
		case err != nil:
			return r, err
		}
		for i := range p.records {
			for p.take(i, first, &r.Readers[i], &newest[i], nil) {
			}
		}
		if o.Rate == 0 {
			timer := time.NewTimer(windowWait)
			for p.number-max(newest[0], first-1) >= uint64(o.Window) && p.take(0, first, &r.Readers[0], &newest[0], timer.C) {
			}
			timer.Stop()
		}
	}
	timer := time.NewTimer(lastWait)
	defer timer.Stop()
	for i := range p.records {
		for newest[i] < p.number && p.take(i, first, &r.Readers[i], &newest[i], timer.C) {
		}
	}
	r.Sent = p.number - first + 1
	if p.counts != nil {
		r.Topic = p.counts().since(before)
	}
	return r, ctx.Err()
}

// take books a record of a subscriber: one that is there, or comes before the
// timer is over.
func (p *publisher) take(i int, first uint64, r *reader, newest *uint64, timer <-chan time.Time) bool {
	var x record
	ok := false
	if timer == nil {
		select {
		case x, ok = <-p.records[i]:
		default:
		}
	} else {
		select {
		case x, ok = <-p.records[i]:
		case <-timer:
		}
	}
	if !ok {
		return false
	}
	*newest = max(*newest, x.number)
	if x.number < first {
		return true // of the block before
	}
	r.Received++
	if r.Received == 1 {
		r.First = x.usable
	}
	r.Last = x.usable
	r.Times = append(r.Times, x.usable-x.ready)
	return true
}

// serve takes orders until stdin ends. do runs one with all publishers.
func serve(ctx context.Context, do func(context.Context, order) ([]report, error)) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r, err := do(ctx, o)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// alone runs an order with one publisher.
func (p *publisher) alone(ctx context.Context, o order) ([]report, error) {
	r, err := p.block(ctx, o)
	return []report{r}, err
}

// filler writes every byte of a frame, as a camera would.
type filler []byte

func newFiller() filler {
	f := make(filler, 64<<10)
	for i := range f {
		f[i] = byte(i*7 + 1)
	}
	return f
}

func (f filler) fill(to []byte) {
	for len(to) > 0 {
		to = to[copy(to, f):]
	}
}
