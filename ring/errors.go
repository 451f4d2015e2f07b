// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import "errors"

var (
	// ErrNoSlot: the source and the readers hold every slot.
	ErrNoSlot = errors.New("no free slot")
	// ErrFull: the ring has no room for another reader.
	ErrFull = errors.New("ring full")
	// ErrRetired: the ring was replaced or closed.
	ErrRetired = errors.New("ring retired")
	// ErrLayout: shared memory does not have the announced layout.
	ErrLayout = errors.New("ring layout mismatch")
	// ErrStale: the slot was reused while the lease was thought to be held.
	ErrStale = errors.New("frame overwritten while held")
	// ErrConfig: the ring that was asked for cannot exist.
	ErrConfig = errors.New("invalid ring configuration")
	// ErrMisbehaved: a reader wrote something into its page that it cannot have meant.
	ErrMisbehaved = errors.New("reader broke the slot protocol")
	// ErrWakeClosed: a reader closed its end of the wake-up pipe. A process that
	// is being killed does that, a moment before its socket ends.
	ErrWakeClosed = errors.New("reader closed its wake-up pipe")
	// ErrHeldTooLong: a reader sat on a slot while it was needed.
	ErrHeldTooLong = errors.New("reader held a frame too long while slots were needed")
)
