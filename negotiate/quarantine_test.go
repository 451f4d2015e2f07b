// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package negotiate

import (
	"sync"
	"testing"
)

func TestQuarantine(t *testing.T) {
	var q Quarantine
	if q.Holds(7, 1000) {
		t.Error("a new quarantine holds somebody")
	}
	first, second := q.Add(7, 1000), q.Add(7, 1000)
	for _, c := range []struct {
		pid, uid int
		want     bool
	}{{7, 1000, true}, {8, 1000, false}, {7, 1001, false}, {0, 1000, false}} {
		if got := q.Holds(c.pid, c.uid); got != c.want {
			t.Errorf("process %d of user %d: held %v, want %v", c.pid, c.uid, got, c.want)
		}
	}
	first()
	first() // counts once
	if !q.Holds(7, 1000) {
		t.Error("cleared while a second reader is charged")
	}
	second()
	if q.Holds(7, 1000) {
		t.Error("held after both are cleared")
	}
}

func TestQuarantineOfUnseenProcess(t *testing.T) {
	var q Quarantine
	q.Add(0, 1000)()
	clear := q.Add(0, 1000)
	defer clear()
	if q.Holds(0, 1000) {
		t.Error("all processes of another namespace are held for one")
	}
}

func TestQuarantineFromManyGoroutines(t *testing.T) {
	var q Quarantine
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				clear := q.Add(7, 1000)
				if !q.Holds(7, 1000) {
					t.Error("not held while charged")
				}
				clear()
			}
		})
	}
	wg.Wait()
	if q.Holds(7, 1000) || len(q.held) != 0 {
		t.Errorf("left: %v", q.held)
	}
}
