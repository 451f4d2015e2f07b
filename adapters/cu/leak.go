// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/client/gpu"
)

// Leak is a frame whose Frame was garbage collected and that nobody has released.
// It takes one of the subscription's credits, and keeps Close from succeeding.
type Leak struct {
	Stream   string // its name
	Sequence uint64
	Where    string // file and line of OnDevice
}

// mark is what is known of a frame that may not be released when its Frame is
// gone.
type mark struct {
	frame    gpu.Frame
	stream   string
	sequence uint64
	pc       [1]uintptr // where OnDevice was called
	cleanup  runtime.Cleanup
	dropped  atomic.Bool // the Frame was garbage collected, and the frame not released
	told     atomic.Bool // of that
}

var leaks struct {
	mu   sync.Mutex
	list []*mark
}

// collected notes a Frame that was garbage collected. That is no mistake yet: its
// gpu.Frame may be in somebody's hands, a loop's first of all, and be released
// later. It is not released here, because the pointer may be, too.
func (m *mark) collected() {
	leaks.mu.Lock()
	defer leaks.mu.Unlock()
	prune()
	if !m.frame.Released() {
		m.dropped.Store(true)
		leaks.list = append(leaks.list, m)
	}
}

// prune forgets what was released after all. The lock is held.
func prune() {
	leaks.list = slices.DeleteFunc(leaks.list, func(m *mark) bool { return m.frame.Released() })
}

// Leaks lists the frames that are leaked at this time, for tests: after
// runtime.GC, since a collected Frame is how one is found, and not within the turn
// of a loop, whose end releases.
func Leaks() []Leak {
	leaks.mu.Lock()
	defer leaks.mu.Unlock()
	prune()
	var all []Leak
	for _, m := range leaks.list {
		all = append(all, Leak{m.stream, m.sequence, m.where()})
	}
	return all
}

// where is the place in the program from which OnDevice was called.
func (m *mark) where() string {
	at, _ := runtime.CallersFrames(m.pc[:]).Next()
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// add notes a frame that is held.
func (c *Context) add(m *mark) error {
	c.sweep()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.frames[m] = struct{}{}
	return nil
}

func (c *Context) drop(m *mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.frames, m)
}

// sweep forgets the frames that were released by their gpu.Frame, and tells of
// those that are dropped, once: a turn of a loop would be over by now. There are no
// more of them than credits, and some of the last turns. Frames are asked without
// the lock, for one that is being uploaded or read back answers only then.
func (c *Context) sweep() {
	c.mu.Lock()
	all := slices.Collect(maps.Keys(c.frames))
	c.mu.Unlock()
	for _, m := range all {
		if m.frame.Released() {
			c.drop(m)
		} else if m.dropped.Load() && m.told.CompareAndSwap(false, true) {
			slog.Error("frame on the GPU was dropped without Release", "stream", m.stream, "sequence", m.sequence, "where", m.where())
		}
	}
}
