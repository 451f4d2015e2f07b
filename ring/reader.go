// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

type lease struct {
	word  Word
	since int64 // CLOCK_MONOTONIC at which it was granted, or later known to be taken
}

// Reader is the writer's private truth about one subscription to one epoch.
// Its fields belong to the ring's mutex.
type Reader struct {
	id     int
	ring   *Ring
	credit int
	page   *linux.Memory
	group  *group
	pipe   int // write end of the wake-up pipe, -1 = futex

	started bool
	held    []lease // capacity credit+2, the most that a grant books: never grows
	waiting Word    // last granted word that is not known to be taken
	lastGen uint64  // generation of the last grant
	err     error   // why it was ended
	done    chan struct{}
	stats   ReaderStats
	tail    uint32 // returned words read; private, so that a reader cannot move it
	closed  bool
}

// AddReader makes the page of a new reader that may hold credit frames. pipe is
// the non-blocking write end of its wake-up pipe, which the ring closes, or -1
// for a reader that waits on the futex. Grants begin with Start. It fails with
// ErrFull, ErrRetired or linux.ErrNoMemory.
func (r *Ring) AddReader(credit, pipe int) (*Reader, error) { return r.AddReaderOf(0, credit, pipe) }

// Room is ErrFull or ErrRetired when a reader with this credit would be refused
// now.
func (r *Ring) Room(credit int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.admits(credit)
}

// admits is Room with mu held.
func (r *Ring) admits(credit int) error {
	switch {
	case r.retired:
		return ErrRetired
	case len(r.readers) >= r.cfg.MaxReaders:
		return fmt.Errorf("%w: %d of %d subscribers", ErrFull, len(r.readers), r.cfg.MaxReaders)
	case r.cfg.Budget > 0 && r.reserved+credit+1 > r.cfg.Budget:
		return fmt.Errorf("%w: %d of %d slots are reserved, %d more were asked for", ErrFull, r.reserved, r.cfg.Budget, credit+1)
	}
	return nil
}

// AddReaderOf is AddReader for a reader that shares its futex with no reader of
// another group, for example of another user.
func (r *Ring) AddReaderOf(key, credit, pipe int) (*Reader, error) {
	if credit < 1 || credit > MaxCredit {
		return nil, fmt.Errorf("%w: credit %d, want 1 to %d", ErrConfig, credit, MaxCredit)
	}
	// The page is made first: the mutex is not held over system calls that can take long.
	page, err := linux.NewMemory("camd-ring-reader", r.layout.PageBytes, false)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fail := func(err error) (*Reader, error) {
		_ = page.Close()
		return nil, err
	}
	if err := r.admits(credit); err != nil {
		return fail(err)
	}
	g, err := r.join(key)
	if err != nil {
		return fail(err)
	}
	rd := &Reader{
		id: r.freeID(), ring: r, credit: credit, page: page, group: g, pipe: pipe,
		held: make([]lease, 0, credit+2), done: make(chan struct{}),
	}
	r.reserved += credit + 1
	r.readers = append(r.readers, rd)
	return rd, nil
}

// freeID is the lowest index that no reader has: it stays below MaxReaders for
// as long as the ring lives. mu is held.
func (r *Ring) freeID() int {
	for id := 0; ; id++ {
		if !slices.ContainsFunc(r.readers, func(rd *Reader) bool { return rd.id == id }) {
			return id
		}
	}
}

// ID is the reader's index for messages, below the ring's MaxReaders. It is
// used again after Remove.
func (rd *Reader) ID() int { return rd.id }

// Credit is how many frames the reader may hold.
func (rd *Reader) Credit() int { return rd.credit }

// Done is closed when the ring ends the reader by itself; Err then says why.
func (rd *Reader) Done() <-chan struct{} { return rd.done }

// Err is ErrMisbehaved or ErrHeldTooLong with details after Done, else nil.
func (rd *Reader) Err() error {
	rd.ring.mu.Lock()
	defer rd.ring.mu.Unlock()
	return rd.err
}

// PageFile is a duplicate of the page's descriptor, which the caller closes.
func (rd *Reader) PageFile() (int, error) {
	rd.ring.wakeMu.Lock()
	defer rd.ring.wakeMu.Unlock()
	if rd.closed {
		return -1, ErrRetired
	}
	return duplicate(rd.page.FD)
}

// WakeFile is a duplicate of the descriptor of the wake-up memory, which the
// caller closes.
func (rd *Reader) WakeFile() (int, error) {
	rd.ring.wakeMu.Lock()
	defer rd.ring.wakeMu.Unlock()
	if rd.closed {
		return -1, ErrRetired
	}
	return duplicate(rd.group.memory.FD)
}

// Start begins to grant frames, first the retained one.
func (rd *Reader) Start() {
	r := rd.ring
	r.mu.Lock()
	rd.started = !rd.closed && rd.err == nil && !r.retired
	r.unlockAndWake(r.offer(rd, 0))
}

// Kick drains what the reader returned and grants the newest frame if it has
// not had it.
func (rd *Reader) Kick() {
	r := rd.ring
	r.mu.Lock()
	r.stats.Kicks++
	r.drain(rd)
	r.unlockAndWake(r.offer(rd, 0))
}

// Remove ends the reader, whether or not the ring had ended it before, and
// returns all that it held. It may be called twice.
func (rd *Reader) Remove() {
	r := rd.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.readers, rd)
	if i < 0 {
		return
	}
	r.withdraw(rd) // its client may be alive and would take a frame without a lease
	r.readers = slices.Delete(r.readers, i, i+1)
	r.reserved -= rd.credit + 1
	for _, l := range rd.held {
		r.unlease(l.word.Slot())
	}
	rd.held = rd.held[:0]
	rd.started = false
	r.wakeMu.Lock()
	rd.close()
	r.wakeMu.Unlock()
}

// close gives back page and pipe. mu and wakeMu are held.
func (rd *Reader) close() {
	if rd.closed {
		return
	}
	rd.closed = true
	rd.started = false
	_ = rd.page.Close()
	rd.ring.leave(rd.group)
	if rd.pipe >= 0 {
		_ = unix.Close(rd.pipe)
		rd.pipe = -1
	}
}

// offer grants the newest frame if the reader has not had it, and reports
// whether there is something to wake it for. now is the time, 0 to have it read
// when needed. mu is held.
func (r *Ring) offer(rd *Reader, now int64) bool {
	if !rd.started || r.newest == 0 || r.newest.Generation() <= rd.lastGen {
		return false
	}
	if r.grant(rd, now) {
		return true
	}
	if !rd.started {
		return false
	}
	// Skipped for want of credit. The flag asks for a message after the next
	// release; a release that came before the flag was up is found by draining
	// once more.
	area(rd.page.Data).u32(pageKick).Store(1)
	if r.drain(rd) && rd.started && r.grant(rd, now) {
		return true
	}
	rd.stats.Skipped++
	return false
}

// grant books the newest frame for the reader and puts it into the mailbox, or
// reports that credit is used up. mu is held.
func (r *Ring) grant(rd *Reader, now int64) bool {
	if now == 0 {
		now = r.now()
	}
	w := r.newest
	mail := area(rd.page.Data).u64(pageMailbox)
	// Credit bounds what is taken; the waiting word is extra. When none waits,
	// the mailbox is known to be empty and has room for one, so that a reader
	// that keeps to its credit is never skipped.
	switch {
	case len(rd.held) <= rd.credit:
		rd.book(w, now)
		old := Word(mail.Swap(uint64(w)))
		before := rd.waiting
		rd.waiting = w
		switch {
		case old != 0 && old == before:
			rd.stats.Overwritten++
			rd.drop(old)
		case old != 0:
			r.end(rd, fmt.Errorf("%w: mailbox had word %#x, expected %#x or 0", ErrMisbehaved, uint64(old), uint64(before)))
			return false
		case before != 0:
			rd.sawTaken(before, now)
		}
	case rd.waiting != 0:
		rd.book(w, now)
		if !mail.CompareAndSwap(uint64(rd.waiting), uint64(w)) {
			// The reader took it in the meantime: now it is at its bound.
			rd.drop(w)
			rd.sawTaken(rd.waiting, now)
			rd.waiting = 0
			return false
		}
		rd.stats.Overwritten++
		rd.drop(rd.waiting)
		rd.waiting = w
	default:
		return false
	}
	rd.lastGen = w.Generation()
	rd.stats.Granted++
	return true
}

// sawTaken starts the clock of a lease that turned out to be taken: at the
// latest moment that is possible, so that nobody is evicted for time in which a
// frame only waited.
func (rd *Reader) sawTaken(w Word, now int64) {
	for i := range rd.held {
		if rd.held[i].word == w {
			rd.held[i].since = now
		}
	}
}

// look finds out whether the waiting word was taken since the last grant. mu is
// held.
func (rd *Reader) look(now int64) {
	if rd.closed || rd.waiting == 0 || Word(area(rd.page.Data).u64(pageMailbox).Load()) == rd.waiting {
		return
	}
	rd.sawTaken(rd.waiting, now)
	rd.waiting = 0
}

// book and drop begin and end a lease in the private state.
func (rd *Reader) book(w Word, now int64) {
	rd.held = append(rd.held, lease{w, now})
	rd.ring.slots[w.Slot()].leases++
}

func (rd *Reader) drop(w Word) bool {
	for i := range rd.held {
		if rd.held[i].word == w {
			rd.held = slices.Delete(rd.held, i, i+1)
			rd.ring.unlease(w.Slot())
			return true
		}
	}
	return false
}

// drain takes in the words that the reader returned, at most as many as its
// page holds, and reports whether there were any. mu is held.
func (r *Ring) drain(rd *Reader) bool {
	if rd.closed || rd.err != nil {
		return false
	}
	p := area(rd.page.Data)
	head := p.u32(pageHead).Load()
	tail := rd.tail
	n := head - tail
	if n == 0 {
		return false
	}
	if n > uint32(cap(rd.held)) {
		r.end(rd, fmt.Errorf("%w: returned %d words while it can hold %d", ErrMisbehaved, n, cap(rd.held)))
		return false
	}
	for ; tail != head; tail++ {
		w := Word(p.u64(pageReturns + int(tail&returnMask)*8).Load())
		if w == 0 || !rd.drop(w) {
			r.end(rd, fmt.Errorf("%w: returned word %#x, which it does not hold", ErrMisbehaved, uint64(w)))
			return false
		}
		if w == rd.waiting {
			rd.waiting = 0 // taken and returned since the last look
		}
		rd.stats.Released++
	}
	rd.tail = tail
	p.u32(pageTail).Store(tail)
	return true
}

// withdraw takes back a word that still waits. mu is held.
func (r *Ring) withdraw(rd *Reader) {
	if rd.closed || rd.waiting == 0 {
		return
	}
	if area(rd.page.Data).u64(pageMailbox).CompareAndSwap(uint64(rd.waiting), 0) {
		rd.drop(rd.waiting)
	}
	rd.waiting = 0
}

// end stops grants to a reader and says so in its page. What it holds stays
// booked until Remove. mu is held.
func (r *Ring) end(rd *Reader, err error) {
	if rd.err != nil || rd.closed {
		return
	}
	rd.err = err
	rd.started = false
	r.withdraw(rd)
	area(rd.page.Data).u32(pageEvicted).Store(1)
	r.stats.Ended++
	close(rd.done)
}

// evictOldest ends the reader with the oldest lease beyond EvictAfter. mu is held.
func (r *Ring) evictOldest() {
	if r.cfg.EvictAfter <= 0 {
		return
	}
	now := r.now()
	var worst *Reader
	worstAge := int64(r.cfg.EvictAfter)
	for _, rd := range r.readers {
		if rd.err != nil {
			continue
		}
		if age := rd.oldest(now); age > worstAge {
			worst, worstAge = rd, age
		}
	}
	if worst != nil {
		r.end(worst, fmt.Errorf("%w: %v, allowed are %v", ErrHeldTooLong, time.Duration(worstAge).Round(time.Millisecond), r.cfg.EvictAfter))
	}
}

// oldest is the age in nanoseconds of the oldest lease that was taken, 0
// without one. mu is held.
func (rd *Reader) oldest(now int64) int64 {
	rd.look(now)
	var age int64
	for _, l := range rd.held {
		if l.word != rd.waiting {
			age = max(age, now-l.since)
		}
	}
	return age
}
