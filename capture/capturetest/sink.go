// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package capturetest has a sink in plain memory, for tests of sources.
package capturetest

import (
	"fmt"
	"sync"

	"github.com/seed-3c7e7623/camd/capture"
)

// Frame is what a source committed. Data is the slot's memory, valid during
// Sink.OnFrame only.
type Frame struct {
	Stream string
	Format capture.Format
	Index  int
	Data   []byte
	Stamp  capture.Stamp
}

// Sink hands out Slots slots a stream and reports every commit. It fails the
// calls that break the rules of [capture.Sink] by counting them in Misuse.
type Sink struct {
	Slots   int         // per stream; 0 = 4
	OnFrame func(Frame) // called within Commit, may be nil
	// Alloc makes the memory of one slot; nil = on the heap.
	Alloc func(bytes int) []byte

	mu      sync.Mutex
	writers map[string]*writer
	stats   Stats
}

// Stats is what a sink has counted.
type Stats struct {
	Opens   int
	Frames  int
	Dropped map[capture.DropReason]int
	Held    int // slots acquired and not given back
	Misuse  []string
}

// Stats returns a copy of the counts.
func (s *Sink) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Dropped = make(map[capture.DropReason]int)
	for k, v := range s.stats.Dropped {
		st.Dropped[k] = v
	}
	st.Misuse = append([]string(nil), s.stats.Misuse...)
	return st
}

// Open implements [capture.Sink].
func (s *Sink) Open(stream string, f capture.Format) (capture.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Opens++
	if s.writers == nil {
		s.writers = make(map[string]*writer)
	}
	if old := s.writers[stream]; old != nil {
		if old.format.Geometry == f.Geometry && old.format.SlotBytes() == f.SlotBytes() {
			old.format = f
			return old, nil
		}
		if old.held > 0 {
			s.misuse("%s: new format while %d slots are held", stream, old.held)
		}
		old.dead = true
	}
	if err := f.Geometry.Validate(); err != nil {
		return nil, err
	}
	n := s.Slots
	if n == 0 {
		n = 4
	}
	w := &writer{s: s, stream: stream, format: f}
	alloc := s.Alloc
	if alloc == nil {
		alloc = func(bytes int) []byte { return make([]byte, bytes) }
	}
	for i := range n {
		w.slots = append(w.slots, &capture.Slot{Index: i, Data: alloc(f.SlotBytes())[:f.Geometry.Size()]})
	}
	w.out = make([]bool, n)
	s.writers[stream] = w
	return w, nil
}

func (s *Sink) misuse(format string, args ...any) {
	s.stats.Misuse = append(s.stats.Misuse, fmt.Sprintf(format, args...))
}

type writer struct {
	s      *Sink
	stream string
	format capture.Format
	slots  []*capture.Slot
	out    []bool
	next   int
	held   int
	dead   bool
}

// Acquire implements [capture.Writer].
func (w *writer) Acquire() (*capture.Slot, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.check("Acquire")
	for i := range w.slots {
		k := (w.next + i) % len(w.slots)
		if !w.out[k] {
			w.out[k] = true
			w.next = k + 1
			w.held++
			w.s.stats.Held++
			return w.slots[k], nil
		}
	}
	return nil, capture.ErrNoSlot
}

func (w *writer) check(call string) {
	if w.dead {
		w.s.misuse("%s: %s on a writer that was replaced", w.stream, call)
	}
}

func (w *writer) back(s *capture.Slot, call string) {
	w.check(call)
	if s.Index >= len(w.slots) || w.slots[s.Index] != s || !w.out[s.Index] {
		w.s.misuse("%s: %s of slot %d, which is not held", w.stream, call, s.Index)
		return
	}
	w.out[s.Index] = false
	w.held--
	w.s.stats.Held--
}

// Commit implements [capture.Writer].
func (w *writer) Commit(s *capture.Slot, st capture.Stamp) {
	if w.s.OnFrame != nil {
		w.s.OnFrame(Frame{Stream: w.stream, Format: w.format, Index: s.Index, Data: s.Data, Stamp: st})
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.back(s, "Commit")
	w.s.stats.Frames++
}

// Discard implements [capture.Writer].
func (w *writer) Discard(s *capture.Slot) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.back(s, "Discard")
}

// Drop implements [capture.Writer].
func (w *writer) Drop(n int, reason capture.DropReason) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.check("Drop")
	if w.s.stats.Dropped == nil {
		w.s.stats.Dropped = make(map[capture.DropReason]int)
	}
	w.s.stats.Dropped[reason] += n
}
