// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
)

// ErrConfig reports a configuration that the model cannot hold.
var ErrConfig = errors.New("configuration out of range")

// Endless is the number of joins that never runs out.
const Endless = 255

// Config says which system is explored.
type Config struct {
	// Readers is the number of subscribers, 1 or 2; 0 means 2.
	Readers int
	// Frames is how many times the daemon tries to publish; 0 is without end.
	Frames int
	// Credit is how many frames a reader may hold, 1 or 2.
	Credit int
	// Slots is the number of slots, up to 8; 0 takes SlotsNeeded.
	Slots int
	// Kills lets a reader die at every step.
	Kills bool
	// Joins is how often a reader may subscribe while the daemon runs, or
	// Endless. When it is not 0, the last reader is absent at first.
	Joins int
	// Greedy readers take from the mailbox although they hold their full
	// credit, which the daemon cannot prevent.
	Greedy bool
	// Eager takes the waiting word as extra also when none waits: with W = 0 a
	// reader is granted up to credit+1 leases. A reader that keeps to its
	// credit is then never left without the newest frame.
	Eager bool
	// Evict lets the daemon give up on readers when no slot is free. Frames
	// may then be dropped for want of a slot.
	Evict bool
	// OneThread lets the daemon serve its sockets only between frames, so that
	// nothing of it runs at once. The state space is much smaller then.
	OneThread bool
	// DaemonDies lets the daemon die at every step.
	DaemonDies bool
	// Mutant is the rule done wrongly; None checks the protocol.
	Mutant Mutant
	// MaxStates ends the exploration with ErrTooLarge; 0 means 24 million.
	MaxStates int
}

// SlotsNeeded is the number of slots with which no frame is ever dropped: one
// in flight, one retained, and per reader its credit and one waiting word
// (design §5 rule 5, without a driver queue).
func (c Config) SlotsNeeded() int { return 1 + 1 + c.Readers*(c.Credit+1) }

func (c Config) normal() (Config, error) {
	if c.Readers == 0 {
		c.Readers = readers
	}
	if c.Slots == 0 {
		c.Slots = c.SlotsNeeded()
		if c.Mutant == OneSlotFewer {
			c.Slots--
		}
	}
	if c.MaxStates == 0 {
		c.MaxStates = 40_000_000
	}
	switch {
	case c.Readers < 1 || c.Readers > readers:
		return c, fmt.Errorf("%w: readers %d, possible 1 to %d", ErrConfig, c.Readers, readers)
	case c.Frames < 0 || c.Frames > 255:
		return c, fmt.Errorf("%w: frames %d, possible 0 to 255", ErrConfig, c.Frames)
	case c.Credit < 1 || c.Credit > maxCredit:
		return c, fmt.Errorf("%w: credit %d, possible 1 to %d", ErrConfig, c.Credit, maxCredit)
	case c.Slots < 2 || c.Slots > maxSlots:
		return c, fmt.Errorf("%w: slots %d, possible 2 to %d", ErrConfig, c.Slots, maxSlots)
	case c.Joins < 0 || c.Joins > Endless:
		return c, fmt.Errorf("%w: joins %d, possible 0 to %d", ErrConfig, c.Joins, Endless)
	case c.Mutant >= mutants:
		return c, fmt.Errorf("%w: mutant %d is not known", ErrConfig, c.Mutant)
	}
	return c, nil
}
