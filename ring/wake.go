// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/internal/linux"
)

var wakeByte = []byte{1}

// wakeGroup is a group with the number of its readers that wait.
type wakeGroup struct {
	group *group
	n     int
}

// unlockAndWake releases mu and wakes the readers that wait, if wake says that
// something was granted. The order is what makes a lost wake-up impossible: the
// exchanges are done, the waiting flags are taken down, then the counter moves,
// then come the system calls. A reader that armed in between has the old count
// and does not fall asleep on it; with the counter first, its flag could be
// taken down for a wake-up that it slept through (package check, mutant
// ClearAfterCount). A flag is taken down with the wake-up, so that a stopped
// reader costs one.
func (r *Ring) unlockAndWake(wake bool) {
	if !wake || r.unmapped {
		r.mu.Unlock()
		return
	}
	locked := false
	for _, rd := range r.readers {
		if rd.closed {
			continue
		}
		waiting := area(rd.page.Data).u32(pageWaiting)
		if waiting.Load() == 0 || waiting.Swap(0) == 0 {
			continue
		}
		if !locked {
			locked = true
			r.wakeMu.Lock()
			r.wakePipes, r.wakeGroups = r.wakePipes[:0], r.wakeGroups[:0]
		}
		switch {
		case rd.pipe >= 0:
			r.wakePipes = append(r.wakePipes, rd)
		case rd.group.flagged == 0:
			r.wakeGroups = append(r.wakeGroups, wakeGroup{rd.group, 1})
			rd.group.flagged = len(r.wakeGroups)
		default:
			r.wakeGroups[rd.group.flagged-1].n++
		}
	}
	for _, g := range r.groups {
		g.counter().Add(1)
		g.flagged = 0
	}
	if !locked {
		r.mu.Unlock()
		return
	}
	r.stats.FutexWakes += uint64(len(r.wakeGroups))
	r.stats.PipeWakes += uint64(len(r.wakePipes))
	r.mu.Unlock()

	for _, w := range r.wakeGroups {
		// Not more than have said that they wait: however many others queue up
		// on the word, this call stays short.
		linux.FutexWake((*uint32)(addressOf(w.group.counter())), w.n)
	}
	var broken []*Reader
	for _, rd := range r.wakePipes {
		// A full pipe means that the reader has wake-ups enough; a broken one
		// that it closed its end and can never be woken again.
		if _, err := unix.Write(rd.pipe, wakeByte); errors.Is(err, unix.EPIPE) {
			broken = append(broken, rd)
		}
	}
	r.wakeMu.Unlock()

	for _, rd := range broken {
		r.mu.Lock()
		r.end(rd, ErrWakeClosed)
		r.mu.Unlock()
	}
}
