// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"fmt"
	"slices"
	"time"
)

// Local is a reader in the writer's own process. It shares the ring's mutex, so
// that it needs no page and no mailbox: Take books a lease on the newest frame
// at that moment. The writer never waits for it, and as its word can be trusted
// it is never evicted; who makes the ring adds credit slots to it for each Local
// (see SlotsFor), so that these leases take none from the source. The memory of
// the ring stays until the last of them is released.
type Local struct {
	ring   *Ring
	credit int
	wake   chan<- struct{}

	// The ring's mutex guards the rest.
	wanted  bool
	held    []lease
	lastGen uint64
	seen    uint64 // frames of the ring up to the last one taken
	skipped bool   // a frame was refused for want of credit
	closed  bool
	stats   ReaderStats
}

// AddLocal makes a reader that may hold credit frames. From Want on a token is
// put into wake, unless it is full, when there may be something to Take.
// It fails with ErrRetired or ErrConfig.
func (r *Ring) AddLocal(credit int, wake chan<- struct{}) (*Local, error) {
	if credit < 1 || credit > MaxCredit {
		return nil, fmt.Errorf("%w: credit %d, want 1 to %d", ErrConfig, credit, MaxCredit)
	}
	l := &Local{ring: r, credit: credit, wake: wake, held: make([]lease, 0, credit)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.retired {
		return nil, ErrRetired
	}
	r.locals = append(r.locals, l)
	return l, nil
}

// Want says whether frames are wanted. Who begins to want gets the retained
// frame first, like a reader that joins.
func (l *Local) Want(wanted bool) {
	r := l.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	if wanted && !l.wanted {
		l.lastGen = 0
		if l.seen = r.stats.Published; r.newest != 0 {
			l.seen--
		}
		defer l.tell()
	}
	l.wanted = wanted
}

// Fresh says whether there is a frame that was not taken before.
func (l *Local) Fresh() bool {
	r := l.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	return !l.closed && l.wanted && !r.retired && r.newest != 0 && r.newest.Generation() > l.lastGen
}

// Take leases the newest frame, if there is one that was not taken before and
// credit for it. Data has no room behind it.
func (l *Local) Take(out *Lease) bool {
	r := l.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.newest
	if l.closed || !l.wanted || r.retired || w == 0 || w.Generation() <= l.lastGen {
		return false
	}
	if len(l.held) >= l.credit {
		l.skipped = true
		l.stats.Skipped++
		return false
	}
	slot := w.Slot()
	l.held = append(l.held, lease{w, r.now()})
	r.slots[slot].leases++
	r.localLeases++
	l.lastGen = w.Generation()
	l.stats.Granted++
	l.stats.Overwritten += r.stats.Published - l.seen - 1
	l.seen = r.stats.Published
	meta, bytes := area(r.hdr.Data).record(slot).meta()
	meta.Bytes = int(min(bytes, uint64(r.room)))
	*out = Lease{Word: w, Meta: meta, Offset: r.Offset(slot)}
	if r.pixels != nil {
		out.Data = r.Data(slot)[:meta.Bytes:meta.Bytes]
	}
	return true
}

// Release gives a lease back. It may be called from any goroutine, also after
// Close and after the ring was retired.
func (l *Local) Release(w Word) {
	r := l.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(l.held, func(h lease) bool { return h.word == w })
	if i < 0 {
		return
	}
	l.held = slices.Delete(l.held, i, i+1)
	l.stats.Released++
	r.localLeases--
	r.unlease(w.Slot())
	if l.skipped {
		l.skipped = false
		l.tell()
	}
	if r.idle() {
		r.unmap()
	}
}

// Oldest is the age of the oldest lease, 0 without one.
func (l *Local) Oldest() time.Duration {
	l.ring.mu.Lock()
	defer l.ring.mu.Unlock()
	if len(l.held) == 0 {
		return 0
	}
	return time.Duration(l.ring.now() - l.held[0].since)
}

// Held is how many leases there are.
func (l *Local) Held() int {
	l.ring.mu.Lock()
	defer l.ring.mu.Unlock()
	return len(l.held)
}

// Stats counts what happened to the reader's frames.
func (l *Local) Stats() ReaderStats {
	l.ring.mu.Lock()
	defer l.ring.mu.Unlock()
	return l.stats
}

// Close ends the reader. Leases stay until they are released.
func (l *Local) Close() {
	r := l.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	l.closed, l.wanted = true, false
	if i := slices.Index(r.locals, l); i >= 0 {
		r.locals = slices.Delete(r.locals, i, i+1)
	}
}

// tell puts a token into wake. The ring's mutex is held.
func (l *Local) tell() {
	if !l.wanted {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// idle reports whether a retired ring is used by nobody in this process. mu is
// held.
func (r *Ring) idle() bool {
	return r.retired && r.writing == 0 && r.localLeases == 0 && r.pins == 0
}
