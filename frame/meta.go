// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"encoding/hex"
	"strings"
)

// Session identifies one run of a daemon: 128 random bits. Together with epoch
// and sequence it names a frame.
type Session [16]byte

// String is the session in hexadecimal.
func (s Session) String() string { return hex.EncodeToString(s[:]) }

// Clock is the clock that a capture stamp was read from.
type Clock uint32

// The clock domains of capture stamps.
const (
	ClockUnknown   Clock = iota // not known: treat the stamp as arrival time
	ClockMonotonic              // CLOCK_MONOTONIC of this host, at the device driver
	ClockArrival                // CLOCK_MONOTONIC of this host, when the data arrived in user space
	ClockReplay                 // a recording's own time base, moved to this host's monotonic clock
	ClockDevice                 // the device's clock, converted to the host's
)

var clockNames = [...]string{"unknown", "monotonic", "arrival", "replay", "device"}

// String is the name of the domain.
func (c Clock) String() string {
	if int(c) < len(clockNames) {
		return clockNames[c]
	}
	return "unknown"
}

// Flags say what is special about a frame.
type Flags uint32

const (
	// Discontinuity marks the first frame after any break in continuity:
	// restart, replug, seek or loop of a recording, change of path or format.
	Discontinuity Flags = 1 << iota
	// Replayed marks frames of a recording.
	Replayed
	// Pattern marks frames of the test pattern, which carry a barcode.
	Pattern
	// Kept marks frames that were published before the subscription: a ROS 2
	// publisher with the durability transient local kept them for who comes late.
	// They can be of any age.
	Kept
)

var flagNames = [...]string{"discontinuity", "replayed", "pattern", "kept"}

// String lists the flags that are set, joined by "|"; "" for none.
func (f Flags) String() string {
	var b strings.Builder
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			if b.Len() > 0 {
				b.WriteByte('|')
			}
			b.WriteString(name)
		}
	}
	return b.String()
}

// Meta is what travels with the pixels of every frame. All *Nanos fields are
// nanoseconds; 0 stands for "not known".
type Meta struct {
	Sequence       uint64 // the daemon's count; gaps are frames that nobody can get
	DriverSequence uint64 // the device's or file's own count
	BreakSequence  uint64 // of the newest frame, up to this one, that is a Discontinuity; 0 = none
	CaptureNanos   int64  // capture time, CLOCK_MONOTONIC
	WallNanos      int64  // the same instant, CLOCK_REALTIME
	ReadyNanos     int64  // CLOCK_MONOTONIC when the frame was complete in the ring
	PublishNanos   int64  // CLOCK_MONOTONIC when hand-over to readers began
	Clock          Clock  // domain of CaptureNanos
	Flags          Flags
	Bytes          int // bytes of the frame that are valid
}
