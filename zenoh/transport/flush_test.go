// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// Flush waits for what was sent before it and not for what others send
// meanwhile.
func TestFlushWaitsForWhatWasBefore(t *testing.T) {
	x := connect(t, nil)
	const size = 1 << 20
	send := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if err := x.send(t, "", numbered(i, size), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	waits := func() (n int) {
		x.t.mu.Lock()
		defer x.t.mu.Unlock()
		return len(x.t.flushes)
	}
	send(0, 3)
	flushed := make(chan error, 1)
	go func() { flushed <- x.t.Flush(ctx(t)) }()
	for waits() == 0 {
		runtime.Gosched()
	}
	send(3, 6)
	gone, cancel := context.WithCancel(ctx(t))
	cancel()
	if err := x.t.Flush(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the cancellation", err)
	}
	if n := waits(); n != 1 {
		t.Errorf("%d wait, want the first alone", n)
	}
	for i, p := range x.pushes(t, 3) {
		if n := number(t, p.Data.Payload); n != i {
			t.Errorf("sample %d instead of %d", n, i)
		}
	}
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	if x.t.ready.Load() == 0 {
		t.Error("nothing waits any more: the test tests nothing")
	}
	x.pushes(t, 3)
	if err := x.t.Flush(ctx(t)); err != nil {
		t.Errorf("with nothing to send: %v", err)
	}
}

// What is counted as written is what the other side reads.
func TestBytesOut(t *testing.T) {
	x := connect(t, nil)
	for _, size := range []int{10, 100, 30 << 10, 3 << 20} {
		if err := x.send(t, "a", numbered(0, size), nil); err != nil {
			t.Fatal(err)
		}
	}
	read, batches := uint64(0), uint64(0)
	for left := 4; left > 0; batches++ {
		g, err := x.node.Next()
		if err != nil {
			t.Fatal(err)
		}
		read += 2 + uint64(x.node.Size())
		left -= len(g.Messages)
	}
	if err := x.t.Flush(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if s := x.t.Stats(); s.BytesOut != read || s.BatchesOut != batches || s.MessagesOut != 4 {
		t.Errorf("counted %d bytes, %d batches, %d messages; the node read %d, %d and 4", s.BytesOut, s.BatchesOut, s.MessagesOut, read, batches)
	}
}
