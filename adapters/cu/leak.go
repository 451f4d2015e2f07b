// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package cuframe

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync"

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
}

var leaks struct {
	mu   sync.Mutex
	list []*mark
}

// collected notes a Frame that was garbage collected. Its gpu.Frame may still be
// in somebody's hands and be released later; it is not released here, because the
// pointer may be, too.
func (m *mark) collected() {
	if m.frame.Released() {
		return
	}
	slog.Warn("frame on the GPU was dropped without Release", "stream", m.stream, "sequence", m.sequence, "where", m.where())
	leaks.mu.Lock()
	defer leaks.mu.Unlock()
	leaks.list = append(leaks.list, m)
}

// Leaks lists the frames that are leaked at this time, for tests: after
// runtime.GC, since a collected Frame is how one is found.
func Leaks() []Leak {
	leaks.mu.Lock()
	defer leaks.mu.Unlock()
	var all []Leak
	kept := leaks.list[:0]
	for _, m := range leaks.list {
		if !m.frame.Released() {
			kept = append(kept, m)
			all = append(all, Leak{m.stream, m.sequence, m.where()})
		}
	}
	clear(leaks.list[len(kept):])
	leaks.list = kept
	return all
}

// where is the place in the program from which OnDevice was called.
func (m *mark) where() string {
	at, _ := runtime.CallersFrames(m.pc[:]).Next()
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// add notes a frame that is held.
func (c *Context) add(m *mark) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.sweep()
	c.frames[m] = struct{}{}
	return nil
}

func (c *Context) drop(m *mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.frames, m)
}

// sweep forgets the frames that were released by their gpu.Frame. mu is held.
// There are no more of them than credits, and some of the last turns.
func (c *Context) sweep() {
	for m := range c.frames {
		if m.frame.Released() {
			delete(c.frames, m)
		}
	}
}
