// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// errRunOver refuses calls of a run that was given up.
var errRunOver = errors.New("this run of the source is over")

// maxSlots bounds Slot.Index, see [Slot].
const maxSlots = 254

// guard stands between the runs of one source and the sink. Its mutex makes
// every call into the sink one at a time, so that a run that was given up and
// comes back late cannot meet the run that replaced it.
type guard struct {
	mu      sync.Mutex
	sink    Sink
	closed  bool                    // the supervisor has returned; the sink is not ours any more
	current *run                    // the only one that may use the sink
	strays  []*run                  // abandoned, not yet returned
	streams map[string]*guardStream // by name, over all runs

	frames    atomic.Uint64
	lastFrame atomic.Int64 // CLOCK_MONOTONIC of the newest commit
}

// guardStream is what outlives the runs of one stream.
type guardStream struct {
	format    Format
	memory    int  // counts the changes of format, each of which makes new memory
	delivered bool // a frame was committed at some time
}

// run is one call of Source.Run, and the sink that it sees.
type run struct {
	g       *guard
	writers []*runWriter

	frames   atomic.Uint64
	arrival  atomic.Int64  // CLOCK_MONOTONIC of the newest sign of life, at first the start of the run
	began    atomic.Int64  // CLOCK_MONOTONIC of the first commit, 0 before
	interval atomic.Int64  // longest nominal frame interval of its streams, ns
	waiting  atomic.Bool   // the supervisor wants to hear of the next frame
	arrived  chan struct{} // capacity 1
}

func newGuard(sink Sink) *guard {
	return &guard{sink: sink, streams: make(map[string]*guardStream)}
}

// begin makes a new run the current one.
func (g *guard) begin() *run {
	r := &run{g: g, arrived: make(chan struct{}, 1)}
	r.arrival.Store(linux.Monotonic())
	r.waiting.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current = r
	return r
}

// abandon takes the sink away from r. What slots it holds stay with it, as it
// may still write into them.
func (g *guard) abandon(r *run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current == r {
		g.current = nil
	}
	g.strays = append(g.strays, r)
}

// finish gives back the slots that r forgot, once Source.Run has returned. It
// returns how many these were.
func (g *guard) finish(r *run) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current == r {
		g.current = nil
	}
	g.strays = slices.DeleteFunc(g.strays, func(o *run) bool { return o == r })
	n := 0
	for _, w := range r.writers {
		n += w.count
		w.giveBackAll()
	}
	return n
}

// close ends all use of the sink.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.current = nil
}

// Open implements [Sink].
func (r *run) Open(stream string, f Format) (Writer, error) {
	g := r.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current != r {
		return nil, errRunOver
	}
	if err := f.Geometry.Validate(); err != nil {
		return nil, fmt.Errorf("stream %s: %w", stream, err)
	}
	st := g.streams[stream]
	changed := st != nil && st.format != f
	if changed {
		if n := g.straySlots(stream, st.memory); n > 0 {
			return nil, fmt.Errorf("stream %s: new format %v while an abandoned run holds %d slots", stream, f.Geometry, n)
		}
	}
	again := false // a later Open of the same run
	if i := slices.IndexFunc(r.writers, func(w *runWriter) bool { return w.name == stream }); i >= 0 {
		old := r.writers[i]
		old.giveBackAll() // before the sink replaces its memory
		old.over = true
		again = old.delivered
		r.writers = slices.Delete(r.writers, i, i+1)
	}
	w, err := g.sink.Open(stream, f)
	if err != nil {
		return nil, err
	}
	if st == nil {
		st = &guardStream{}
		g.streams[stream] = st
	}
	if changed {
		st.memory++
	}
	st.format = f
	if i := int64(f.Interval); i > r.interval.Load() {
		r.interval.Store(i)
	}
	rw := &runWriter{r: r, name: stream, stream: st, memory: st.memory, w: w, delivered: again && !changed}
	r.writers = append(r.writers, rw)
	return rw, nil
}

// straySlots counts the slots of a stream's memory that abandoned runs hold.
func (g *guard) straySlots(stream string, memory int) int {
	n := 0
	for _, r := range g.strays {
		for _, w := range r.writers {
			if w.name == stream && w.memory == memory {
				n += w.count
			}
		}
	}
	return n
}

// runWriter is a Writer as one run sees it.
type runWriter struct {
	r         *run
	name      string
	stream    *guardStream
	memory    int // see guardStream
	w         Writer
	over      bool // replaced by a later Open of the same run
	delivered bool // this run has published a frame of this format
	held      [maxSlots]*Slot
	data      [maxSlots][]byte // of each slot as the sink gave it
	count     int
}

// live reports whether the run may publish. The guard's mutex is held.
func (w *runWriter) live() bool { return w.r.g.current == w.r && !w.over }

// Acquire implements [Writer].
func (w *runWriter) Acquire() (*Slot, error) {
	g := w.r.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if !w.live() {
		return nil, errRunOver
	}
	s, err := w.w.Acquire()
	if err != nil {
		return nil, err
	}
	if s.Index < 0 || s.Index >= maxSlots {
		w.w.Discard(s)
		return nil, fmt.Errorf("slot %d: at most %d are supported", s.Index, maxSlots)
	}
	w.held[s.Index], w.data[s.Index] = s, s.Data
	w.count++
	return s, nil
}

// release takes s off the books. It reports false for a slot that is not held.
func (w *runWriter) release(s *Slot) bool {
	if s == nil || s.Index < 0 || s.Index >= maxSlots || w.held[s.Index] != s {
		return false
	}
	w.takeBack(s.Index)
	w.count--
	return true
}

// takeBack makes slot i the sink's again, with the index and the memory that it
// had, whatever the source made of them.
func (w *runWriter) takeBack(i int) *Slot {
	s := w.held[i]
	s.Index, s.Data = i, w.data[i]
	w.held[i], w.data[i] = nil, nil
	return s
}

// Commit implements [Writer].
func (w *runWriter) Commit(s *Slot, st Stamp) {
	g, r := w.r.g, w.r
	g.mu.Lock()
	if !w.release(s) {
		g.mu.Unlock()
		return
	}
	if !w.live() {
		w.giveBack(s)
		g.mu.Unlock()
		return
	}
	if !w.delivered {
		w.delivered = true
		if w.stream.delivered {
			st.Flags |= frame.Discontinuity
		}
		w.stream.delivered = true
	}
	w.w.Commit(s, st)
	now := linux.Monotonic()
	g.lastFrame.Store(now)
	g.frames.Add(1)
	g.mu.Unlock()
	if r.frames.Add(1) == 1 {
		r.began.Store(now)
	}
	r.sign(now)
}

// Wanted implements [Demander]. Being asked is a sign of life: the source has a
// frame that nobody wants.
func (w *runWriter) Wanted() bool {
	g := w.r.g
	g.mu.Lock()
	live := w.live()
	wanted := live && Wanted(w.w)
	g.mu.Unlock()
	if live && !wanted {
		w.r.sign(linux.Monotonic())
	}
	return wanted
}

// sign notes a sign of life.
func (r *run) sign(now int64) {
	r.arrival.Store(now)
	if r.waiting.Load() {
		select {
		case r.arrived <- struct{}{}:
		default:
		}
	}
}

// Discard implements [Writer].
func (w *runWriter) Discard(s *Slot) {
	g := w.r.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.release(s) {
		w.giveBack(s)
	}
}

// Drop implements [Writer].
func (w *runWriter) Drop(n int, reason DropReason) {
	g := w.r.g
	g.mu.Lock()
	live := w.live()
	if live && n > 0 {
		w.w.Drop(n, reason)
	}
	g.mu.Unlock()
	// A frame that found no slot has arrived: the source is well, its readers
	// are not.
	if live && reason == DropNoSlot {
		w.r.sign(linux.Monotonic())
	}
}

// giveBack discards s in the sink, unless its memory is no longer the stream's.
func (w *runWriter) giveBack(s *Slot) {
	if g := w.r.g; !g.closed && w.stream.memory == w.memory {
		w.w.Discard(s)
	}
}

func (w *runWriter) giveBackAll() {
	for i := range w.held {
		if w.held[i] != nil {
			w.giveBack(w.takeBack(i))
		}
	}
	w.count = 0
}

// idle is how long ago the newest sign of life was.
func (r *run) idle() time.Duration {
	return time.Duration(linux.Monotonic() - r.arrival.Load())
}
