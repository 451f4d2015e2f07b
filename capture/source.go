// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"context"
	"errors"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
)

// Conditions that a source reports by wrapping them.
var (
	// ErrDeviceNotFound: the device or file is not there (yet). Retried.
	ErrDeviceNotFound = errors.New("device not found")
	// ErrDeviceGone: the device was there and went away. Retried.
	ErrDeviceGone = errors.New("device gone")
	// ErrFormatRefused: the device cannot deliver what was asked. Not retried.
	ErrFormatRefused = errors.New("format refused")
	// ErrConfig: the camera's options make no sense. Not retried.
	ErrConfig = errors.New("invalid camera options")
	// ErrUnsupported: this host lacks what the kind needs, a program or a
	// library. Not retried.
	ErrUnsupported = errors.New("not supported on this host")
	// ErrEndOfStream: a recording that does not loop came to its end. Not retried.
	ErrEndOfStream = errors.New("end of stream")
	// ErrNoSlot: every slot is in use; the frame at hand is to be dropped.
	ErrNoSlot = errors.New("no free slot")
)

// Source is one camera of one kind.
type Source interface {
	// Run captures frames into sink until ctx is done (then it returns nil or
	// ctx.Err()) or the source fails. It must return within a second after ctx
	// is done, also while the device is stalled. The supervisor calls it again
	// after a failure; Run must not keep state that a failed run spoils. A run
	// that does not return in time is abandoned, and the next one may begin
	// beside it.
	Run(ctx context.Context, sink Sink) error
	// Describe is a short text for people: kind and target, for example
	// "pattern" or "replay walk.avi".
	Describe() string
}

// Format is what a source says about a stream before its first frame.
type Format struct {
	Geometry frame.Geometry
	Interval time.Duration // nominal time from frame to frame; 0 = not known
	Clock    frame.Clock   // domain of the capture stamps
	Color    frame.Color   // of Y'CbCr; what is not known is left out
	Held     int           // slots that the source holds at a time (driver queue); 0 = 1
	// MinSlotBytes is the least capacity of Slot.Data, for drivers that ask for
	// more memory than the frame has bytes; 0 = Geometry.Size().
	MinSlotBytes int
}

// SlotBytes is the memory that a slot of this format needs.
func (f Format) SlotBytes() int { return max(f.Geometry.Size(), f.MinSlotBytes) }

// Sink is where a source puts its frames.
type Sink interface {
	// Open declares a stream (for example "color", see CheckStream) or gives it a
	// new format.
	// A source calls it before the first frame of each run and whenever the
	// format changes. A changed format makes new memory: slots of the previous
	// Writer must be committed or discarded first and the Writer not used again.
	// An unchanged one keeps the memory, so that subscribers see no change.
	Open(stream string, f Format) (Writer, error)
}

// Writer hands out memory for the frames of one stream. It is used by one
// goroutine at a time.
type Writer interface {
	// Acquire returns a free slot, or ErrNoSlot at once: it never waits.
	Acquire() (*Slot, error)
	// Commit publishes the slot. The slot must not be touched afterwards.
	// Commit never waits for readers.
	Commit(s *Slot, st Stamp)
	// Discard gives the slot back unpublished.
	Discard(s *Slot)
	// Drop counts n frames that the source had but could not deliver (no slot,
	// damaged). They become a gap in the sequence.
	Drop(n int, reason DropReason)
}

// Slot is memory for one frame.
type Slot struct {
	// Index is stable: the same index always has the same address within one
	// Writer, 0 <= Index < 254. Sources keep per-slot state under it.
	Index int
	// Data has Format.Geometry.Size() bytes, and capacity for
	// Format.SlotBytes(), which readers may see but do not look at. Its contents
	// are what the source left there when the slot last passed through, zero at
	// first.
	Data []byte
}

// Stamp is what a source knows about a frame when it commits it.
type Stamp struct {
	DriverSequence uint64
	CaptureNanos   int64 // CLOCK_MONOTONIC; 0 = now
	WallNanos      int64 // CLOCK_REALTIME of the same instant; 0 = derived
	// PublishNanos is when a picture that goes out on several streams was handed
	// over, CLOCK_MONOTONIC: the same in the stamps of all, by which they are
	// known to be one. 0 = when it is committed.
	PublishNanos int64
	// Clock is the domain of CaptureNanos where this frame differs from
	// Format.Clock; 0 = it does not.
	Clock frame.Clock
	// Bytes is how many bytes of the slot are the frame, for compressed
	// encodings; 0 = Geometry.Size().
	Bytes int
	// CopiedBytes counts bytes of this frame that user-space code copied on
	// their way into the slot (host_copies); 0 where the device or the kernel
	// wrote them in place.
	CopiedBytes int
	// Copies is how often user-space code copied the frame; 0 = once if CopiedBytes
	// says that it did, else never.
	Copies int
	Flags  frame.Flags
}

// DropReason is why frames were lost before they were published.
type DropReason string

// The reasons of lost frames.
const (
	DropNoSlot  DropReason = "no_slot" // readers and driver hold every slot
	DropDevice  DropReason = "device"  // the device skipped them (gap in its sequence)
	DropDamaged DropReason = "damaged" // incomplete or corrupt; of JPEG with the reason, "damaged_truncated"
	DropFault   DropReason = "fault"   // asked for with fault.*
	DropLate    DropReason = "late"    // pacing: the source was behind by whole frames
)
