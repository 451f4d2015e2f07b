// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package proctest has what tests of whole programs need: what a process wrote,
// and waiting for what it does. Only tests may import it.
package proctest

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// Text collects what a process writes; it can be read meanwhile.
type Text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *Text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *Text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

// Tail is the last part of a text, enough for the log of a test that failed.
func Tail(s string) string {
	const most = 4000
	if len(s) > most {
		return "...\n" + s[len(s)-most:]
	}
	return s
}

// Eventually waits until ok, which is asked again and again, and else fails with
// the state that it reported last. hung is when a condition is called so: it
// bounds nothing that is measured.
func Eventually(t testing.TB, hung time.Duration, what string, ok func() (done bool, state string)) {
	t.Helper()
	deadline := time.NewTimer(hung)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, state := ok()
		if done {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("not within %v: %s; last seen: %s", hung, what, state)
		case <-tick.C:
		}
	}
}
