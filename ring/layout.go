// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// Version of the memory layout below. All integers are in host byte order:
// both sides run on the same machine.
const Version = 1

// Bounds of a ring.
const (
	MaxSlots  = 254 // a word has 8 bits for slot+1
	MaxCredit = 16  // frames that one reader may hold at a time
)

// Offsets in the header. Words that different sides touch at different times
// have a cache line each.
const (
	hdrMagic    = 0   // u64
	hdrVersion  = 8   // u32
	hdrRecords  = 12  // u32: offset of the slot records
	hdrSession  = 16  // 16 bytes
	hdrEpoch    = 32  // u64
	hdrSlots    = 40  // u32
	hdrRecord   = 44  // u32: bytes of a slot record
	hdrStride   = 48  // u64: bytes from slot to slot in the pixel memory
	hdrPixels   = 56  // u64: bytes of the pixel memory
	hdrProbe    = 64  // 32 random bytes that prove a mapping
	hdrRetired  = 192 // u32: 1 when no more frames will come
	recordStart = 256

	probeBytes = 32
)

// Offsets in a slot record.
const (
	recGeneration = 0   // u64, atomic
	recSequence   = 8   // u64
	recDriverSeq  = 16  // u64
	recCapture    = 24  // i64
	recWall       = 32  // i64
	recReady      = 40  // i64
	recPublish    = 48  // i64
	recBytes      = 56  // u64
	recFlags      = 64  // u32
	recClock      = 68  // u32
	recPlanes     = 72  // u32: number of planes
	recPlane      = 80  // 4 x {u32 offset, u32 step}
	recEpoch      = 112 // u64
	recBreak      = 120 // u64
	recordBytes   = 128
)

// Offsets in a reader's page.
const (
	pageMailbox  = 0   // u64: the word on offer, 0 = none
	pageWaiting  = 64  // u32: the reader is about to sleep
	pageKick     = 128 // u32: the writer wants a message after the next release
	pageEvicted  = 192 // u32: the subscription was ended by the writer
	pageHead     = 256 // u32: returned words written, by the reader
	pageTail     = 320 // u32: returned words read, by the writer
	pageReturns  = 512 // returnSlots x u64
	returnSlots  = 64
	returnMask   = returnSlots - 1
	pageMinBytes = pageReturns + returnSlots*8
)

var magic = binary.LittleEndian.Uint64([]byte("CAMDRING"))

// Word names a frame in a slot: generation<<8 | slot+1. Generations count
// through all epochs of a stream, so that a word never means two frames. 0 is
// no frame.
type Word uint64

func makeWord(generation uint64, slot int) Word { return Word(generation<<8 | uint64(slot+1)) }

// Generation is the count of frames begun in this stream up to this one.
func (w Word) Generation() uint64 { return uint64(w) >> 8 }

// Slot is the index of the slot, -1 for the zero word.
func (w Word) Slot() int { return int(w&0xff) - 1 }

// Layout is the shape of a ring as it is told to readers.
type Layout struct {
	Slots       int
	HeaderBytes int64
	StrideBytes int64
	PixelBytes  int64
	PageBytes   int64
	Epoch       uint64
}

func newLayout(slots, slotBytes int, epoch uint64) Layout {
	stride := linux.PageRound(int64(slotBytes))
	return Layout{
		Slots:       slots,
		HeaderBytes: linux.PageRound(recordStart + int64(slots)*recordBytes),
		StrideBytes: stride,
		PixelBytes:  stride * int64(slots),
		PageBytes:   linux.PageRound(pageMinBytes),
		Epoch:       epoch,
	}
}

// Validate checks a layout that came from another process.
func (l Layout) Validate() error {
	switch {
	case l.Slots < 1 || l.Slots > MaxSlots:
		return fmt.Errorf("%w: %d slots, want 1 to %d", ErrLayout, l.Slots, MaxSlots)
	case l.StrideBytes < 1 || l.StrideBytes > linux.PageRound(frame.MaxBytes):
		return fmt.Errorf("%w: stride of %d bytes", ErrLayout, l.StrideBytes)
	case l.PixelBytes != l.StrideBytes*int64(l.Slots):
		return fmt.Errorf("%w: %d pixel bytes for %d slots of %d bytes", ErrLayout, l.PixelBytes, l.Slots, l.StrideBytes)
	case l.HeaderBytes < recordStart+int64(l.Slots)*recordBytes || l.HeaderBytes > 1<<20:
		return fmt.Errorf("%w: header of %d bytes for %d slots", ErrLayout, l.HeaderBytes, l.Slots)
	case l.PageBytes < pageMinBytes || l.PageBytes > 1<<20:
		return fmt.Errorf("%w: page of %d bytes, want at least %d", ErrLayout, l.PageBytes, pageMinBytes)
	}
	return nil
}

// area is mapped shared memory with typed access. Offsets are constants of this
// file or checked by the caller; a wrong one panics, never strays.
type area []byte

func (a area) u32(off int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&a[off : off+4 : off+4][0]))
}

func (a area) u64(off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&a[off : off+8 : off+8][0]))
}

func (a area) record(slot int) area {
	start := recordStart + slot*recordBytes
	return a[start : start+recordBytes : start+recordBytes]
}

func (a area) put64(off int, v uint64) { binary.NativeEndian.PutUint64(a[off:off+8], v) }
func (a area) put32(off int, v uint32) { binary.NativeEndian.PutUint32(a[off:off+4], v) }
func (a area) get64(off int) uint64    { return binary.NativeEndian.Uint64(a[off : off+8]) }
func (a area) get32(off int) uint32    { return binary.NativeEndian.Uint32(a[off : off+4]) }

// putMeta writes all but the generation of a slot record.
func (a area) putMeta(m *frame.Meta, epoch uint64) {
	a.put64(recSequence, m.Sequence)
	a.put64(recDriverSeq, m.DriverSequence)
	a.put64(recCapture, uint64(m.CaptureNanos))
	a.put64(recWall, uint64(m.WallNanos))
	a.put64(recReady, uint64(m.ReadyNanos))
	a.put64(recPublish, uint64(m.PublishNanos))
	a.put64(recBytes, uint64(m.Bytes))
	a.put32(recFlags, uint32(m.Flags))
	a.put32(recClock, uint32(m.Clock))
	a.put64(recEpoch, epoch)
	a.put64(recBreak, m.BreakSequence)
}

// meta reads what putMeta wrote. The caller clamps Bytes.
func (a area) meta() (m frame.Meta, bytes uint64) {
	bytes = a.get64(recBytes)
	return frame.Meta{
		Sequence:       a.get64(recSequence),
		DriverSequence: a.get64(recDriverSeq),
		BreakSequence:  a.get64(recBreak),
		CaptureNanos:   int64(a.get64(recCapture)),
		WallNanos:      int64(a.get64(recWall)),
		ReadyNanos:     int64(a.get64(recReady)),
		PublishNanos:   int64(a.get64(recPublish)),
		Flags:          frame.Flags(a.get32(recFlags)),
		Clock:          frame.Clock(a.get32(recClock)),
	}, bytes
}
