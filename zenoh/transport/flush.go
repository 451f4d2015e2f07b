// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"slices"
)

// flush is somebody who waits for what was queued before.
type flush struct {
	before [8]uint64 // places of each lane that must have left
	done   chan struct{}
}

// Flush waits until everything that was queued before has been given to the
// kernel, or a newer sample of its key in its place. What others send meanwhile
// is not waited for, unless it is more urgent.
func (t *Transport) Flush(ctx context.Context) error {
	t.mu.Lock()
	if t.err != nil {
		defer t.mu.Unlock()
		return t.err
	}
	f := flush{done: make(chan struct{})}
	for i := range t.lanes {
		f.before[i] = t.lanes[i].places
	}
	t.flushes = append(t.flushes, f)
	t.mu.Unlock()
	t.wake()
	select {
	case <-f.done:
		return t.Err()
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		t.flushes = slices.DeleteFunc(t.flushes, func(o flush) bool { return o.done == f.done })
		return context.Cause(ctx)
	}
}

// endFlushes ends those whose messages have been written, with the mutex held
// and nothing being written.
func (t *Transport) endFlushes() {
	t.flushes = slices.DeleteFunc(t.flushes, func(f flush) bool {
		for i := range t.lanes {
			if t.lanes[i].next() < f.before[i] {
				return false
			}
		}
		close(f.done)
		return true
	})
}
