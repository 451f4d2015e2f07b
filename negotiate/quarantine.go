// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import "sync"

// Quarantine remembers which processes were evicted and still hold memory: they
// cannot subscribe again until it clears. The zero value is empty.
type Quarantine struct {
	mu   sync.Mutex
	held map[quarantined]int
}

type quarantined struct{ pid, uid int }

// Add charges one evicted reader to a process. The returned function clears it.
// A process whose number is not visible (0) is not charged: it could not be
// told from others.
func (q *Quarantine) Add(pid, uid int) (clear func()) {
	if pid <= 0 {
		return func() {}
	}
	key := quarantined{pid, uid}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held == nil {
		q.held = make(map[quarantined]int)
	}
	q.held[key]++
	var once sync.Once
	return func() {
		once.Do(func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			if q.held[key]--; q.held[key] <= 0 {
				delete(q.held, key)
			}
		})
	}
}

// Holds reports whether the process is charged with an evicted reader.
func (q *Quarantine) Holds(pid, uid int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held[quarantined{pid, uid}] > 0
}
