// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package zenoh

import (
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/zenoh/wire"
)

// clock makes timestamps that never repeat and never go back, also when the
// wall clock does: a hybrid logical clock with four bits of counter (uhlc).
type clock struct {
	id   ZID
	now  func() time.Time
	mu   sync.Mutex
	last uint64
}

const (
	counterMask = 1<<4 - 1
	// maxAhead is how far a stamp from outside may be ahead of our clock
	// before it is not followed.
	maxAhead = 500 * time.Millisecond
)

func (c *clock) stamp() Timestamp {
	now := wire.NTP64(c.now()) &^ counterMask
	c.mu.Lock()
	defer c.mu.Unlock()
	if now > c.last&^counterMask {
		c.last = now
	} else {
		c.last++
	}
	return Timestamp{NTP64: c.last, ID: c.id}
}

// follow makes later stamps larger than t, unless t is too far ahead.
func (c *clock) follow(t Timestamp) {
	if t.NTP64 > wire.NTP64(c.now().Add(maxAhead)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, t.NTP64)
}
