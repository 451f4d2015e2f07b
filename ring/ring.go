// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// Config is what a ring is made from.
type Config struct {
	Name       string         // for /proc maps and messages, for example "front/color"
	Session    frame.Session  // the daemon's
	Epoch      uint64         // of the stream, from 1
	Geometry   frame.Geometry // of every frame in this ring
	SlotBytes  int            // memory of a slot, where the source needs more than Geometry.Size(); else 0
	Slots      int            // all slots, 1 to MaxSlots; see SlotsFor
	MaxReaders int            // subscriptions at a time
	Budget     int            // slots that readers may reserve in all; 0 = no bound but MaxReaders
	// Elsewhere says that the pixels are not in memory of this ring but in the
	// caller's, for example on a GPU: slot i at Offset(i) of Layout().PixelBytes
	// bytes. Header, pages and leases are as ever.
	Elsewhere bool
	// Generation counts frames begun in this stream, through all epochs.
	Generation *atomic.Uint64
	// EvictAfter is how long a lease may be held while a slot is needed. 0 =
	// readers are never evicted.
	EvictAfter time.Duration
	// Now is CLOCK_MONOTONIC in nanoseconds; nil = linux.Monotonic. Tests set it.
	Now func() int64
}

// SlotsFor is the number of slots with which no reader can starve the source:
// source slots that the source holds at a time, one in flight, one retained,
// and credit+1 for each of readers.
func SlotsFor(source, readers, credit int) int {
	return max(source, 1) + 2 + readers*(credit+1)
}

type slotState struct {
	generation uint64
	leases     int  // readers that hold or are offered this frame
	writing    bool // acquired by the source
}

// Ring is the writer's side of one epoch. Its methods may be called from any
// goroutine; none of them waits for a reader.
type Ring struct {
	cfg    Config
	layout Layout
	size   int // bytes of a frame
	room   int // bytes of a slot
	hdr    *linux.Memory
	pixels *linux.Memory // nil when they are elsewhere
	now    func() int64

	mu     sync.Mutex
	slots  []slotState
	free   []int // stack: the most recently freed slot is taken next
	newest Word  // the retained frame, 0 before the first
	// lastBreak is the sequence of the newest Discontinuity. Every later frame
	// carries it, since a reader may never see the marked one.
	lastBreak uint64
	writing   int
	readers   []*Reader
	locals    []*Local
	groups    []*group // of readers that share a futex
	reserved  int      // slots reserved by readers
	// localLeases are those of locals, also of closed ones.
	localLeases int
	pins        int // of the pixels' mapping
	retired     bool
	unmapped    bool
	stats       Stats

	// wakeMu is taken before mu is released by whoever has readers to wake, so
	// that pipes and the header stay open while the system calls run outside mu.
	wakeMu     sync.Mutex
	wakePipes  []*Reader
	wakeGroups []wakeGroup
}

// New makes the memory of a ring: every page is there and sealed when it
// returns. It fails with ErrConfig or linux.ErrNoMemory.
func New(cfg Config) (*Ring, error) {
	if err := cfg.Geometry.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if cfg.Slots < 3 || cfg.Slots > MaxSlots {
		return nil, fmt.Errorf("%w: %d slots, want 3 to %d", ErrConfig, cfg.Slots, MaxSlots)
	}
	if cfg.SlotBytes < 0 || cfg.SlotBytes > frame.MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes a slot, at most %d are supported", ErrConfig, cfg.SlotBytes, frame.MaxBytes)
	}
	if cfg.Generation == nil || cfg.MaxReaders < 1 || cfg.Epoch == 0 {
		return nil, fmt.Errorf("%w: no generation counter, no readers or epoch 0", ErrConfig)
	}
	r := &Ring{
		cfg:    cfg,
		size:   cfg.Geometry.Size(),
		room:   max(cfg.Geometry.Size(), cfg.SlotBytes),
		layout: newLayout(cfg.Slots, max(cfg.Geometry.Size(), cfg.SlotBytes), cfg.Epoch),
		now:    cfg.Now,
		slots:  make([]slotState, cfg.Slots),
		free:   make([]int, 0, cfg.Slots),
	}
	if r.now == nil {
		r.now = linux.Monotonic
	}
	var err error
	if r.hdr, err = linux.NewMemory("camd-ring-header", r.layout.HeaderBytes, true); err != nil {
		return nil, err
	}
	if !cfg.Elsewhere {
		if r.pixels, err = linux.NewMemory("camd-ring-pixels", r.layout.PixelBytes, true); err != nil {
			return nil, errors.Join(err, r.hdr.Close())
		}
	}
	for i := cfg.Slots - 1; i >= 0; i-- {
		r.free = append(r.free, i)
	}
	r.writeHeader()
	return r, nil
}

func (r *Ring) writeHeader() {
	h := area(r.hdr.Data)
	h.put32(hdrVersion, Version)
	h.put32(hdrRecords, recordStart)
	copy(h[hdrSession:], r.cfg.Session[:])
	h.put64(hdrEpoch, r.cfg.Epoch)
	h.put32(hdrSlots, uint32(r.layout.Slots))
	h.put32(hdrRecord, recordBytes)
	h.put64(hdrStride, uint64(r.layout.StrideBytes))
	h.put64(hdrPixels, uint64(r.layout.PixelBytes))
	rand.Read(h[hdrProbe : hdrProbe+probeBytes]) // never fails (crypto/rand)
	for i := range r.slots {
		rec := h.record(i)
		rec.put32(recPlanes, uint32(r.cfg.Geometry.PlaneCount()))
		for p := range r.cfg.Geometry.PlaneCount() {
			plane := r.cfg.Geometry.Plane(p)
			rec.put32(recPlane+8*p, uint32(plane.Offset))
			rec.put32(recPlane+8*p+4, uint32(plane.Step))
		}
	}
	h.u64(hdrMagic).Store(magic)
}

// Layout is the shape to tell readers.
func (r *Ring) Layout() Layout { return r.layout }

// Geometry is that of every frame in the ring.
func (r *Ring) Geometry() frame.Geometry { return r.cfg.Geometry }

// Epoch is the ring's epoch.
func (r *Ring) Epoch() uint64 { return r.cfg.Epoch }

// Probe is the 32 bytes in the header by which a reader proves that it mapped it.
func (r *Ring) Probe() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unmapped {
		return nil
	}
	return append([]byte(nil), r.hdr.Data[hdrProbe:hdrProbe+probeBytes]...)
}

// Files are duplicates of the descriptors of header and pixels, which the
// caller closes: sending them can take time, and nothing here may wait for that.
// pixels is -1 when they are elsewhere.
func (r *Ring) Files() (header, pixels int, err error) {
	r.wakeMu.Lock()
	defer r.wakeMu.Unlock()
	if r.hdr.FD < 0 {
		return -1, -1, ErrRetired
	}
	if header, err = duplicate(r.hdr.FD); err != nil {
		return -1, -1, err
	}
	if r.pixels == nil {
		return header, -1, nil
	}
	if pixels, err = duplicate(r.pixels.FD); err != nil {
		_ = unix.Close(header)
		return -1, -1, err
	}
	return header, pixels, nil
}

func duplicate(fd int) (int, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("duplicating a descriptor: %w", err)
	}
	return n, nil
}

// Offset is where a slot begins in the pixel memory, in bytes.
func (r *Ring) Offset(slot int) int64 { return int64(slot) * r.layout.StrideBytes }

// Data is the memory of a slot, Geometry().Size() bytes with capacity for
// Config.SlotBytes; nil when the pixels are elsewhere.
func (r *Ring) Data(slot int) []byte {
	if r.pixels == nil {
		return nil
	}
	start := r.Offset(slot)
	return r.pixels.Data[start : start+int64(r.size) : start+int64(r.room)]
}

// Acquire takes a free slot for the source and gives it a new generation. With
// none free it drains the readers; with still none it evicts the reader that
// held one longest beyond EvictAfter and returns ErrNoSlot.
func (r *Ring) Acquire() (slot int, err error) {
	r.mu.Lock()
	if r.retired {
		r.mu.Unlock()
		return -1, ErrRetired
	}
	wake := false
	for _, rd := range r.readers {
		if r.drain(rd) {
			wake = r.offer(rd, 0) || wake
		}
	}
	if n := len(r.free); n > 0 {
		slot = r.free[n-1]
		r.free = r.free[:n-1]
		s := &r.slots[slot]
		s.writing = true
		s.generation = r.cfg.Generation.Add(1)
		r.writing++
		area(r.hdr.Data).record(slot).u64(recGeneration).Store(s.generation)
	} else {
		slot, err = -1, ErrNoSlot
		r.stats.NoSlot++
		r.evictOldest()
	}
	r.unlockAndWake(wake)
	return slot, err
}

// Discard gives an acquired slot back unpublished.
func (r *Ring) Discard(slot int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.slots[slot].writing {
		return
	}
	r.endWriting(slot)
	r.push(slot)
}

// Publish makes the acquired slot the newest frame and hands it to every
// reader. PublishNanos and BreakSequence of m are set here; a frame out of another
// ring brings the BreakSequence from there, as the one with the break may have been
// left out. Publish of a slot in a retired ring gives it back.
func (r *Ring) Publish(slot int, m *frame.Meta) { r.PublishAt(slot, m, 0) }

// PublishAt is Publish with a time (CLOCK_MONOTONIC, ns) at which the frame was
// handed over together with others, 0 for now.
func (r *Ring) PublishAt(slot int, m *frame.Meta, nanos int64) {
	r.mu.Lock()
	s := &r.slots[slot]
	if !s.writing {
		r.mu.Unlock()
		return
	}
	r.endWriting(slot)
	if r.retired {
		r.push(slot)
		r.mu.Unlock()
		return
	}
	now := r.now()
	if nanos == 0 {
		nanos = now
	}
	m.PublishNanos = nanos
	if m.Flags&frame.Discontinuity != 0 {
		r.lastBreak = m.Sequence
	}
	r.lastBreak = max(r.lastBreak, m.BreakSequence)
	m.BreakSequence = r.lastBreak
	area(r.hdr.Data).record(slot).putMeta(m, r.cfg.Epoch)
	old := r.newest
	r.newest = makeWord(s.generation, slot)
	if old != 0 && r.slots[old.Slot()].leases == 0 {
		r.push(old.Slot())
	}
	wake := false
	for _, rd := range r.readers {
		wake = r.offer(rd, now) || wake
	}
	for _, l := range r.locals {
		l.tell()
	}
	r.stats.Published++
	r.unlockAndWake(wake)
}

// Forget gives up the retained frame, for a stream that publishes on demand:
// who joins later would get it however old it is.
func (r *Ring) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.newest
	r.newest = 0
	if old != 0 && r.slots[old.Slot()].leases == 0 {
		r.push(old.Slot())
	}
}

// push returns a slot to the free stack. It must have no lease, no writer and
// not be the retained frame.
func (r *Ring) push(slot int) { r.free = append(r.free, slot) }

func (r *Ring) endWriting(slot int) {
	r.slots[slot].writing = false
	r.writing--
	if r.idle() {
		r.unmap()
	}
}

// unlease ends one lease on a slot.
func (r *Ring) unlease(slot int) {
	s := &r.slots[slot]
	s.leases--
	if s.leases == 0 && !s.writing && r.newest.Slot() != slot {
		r.push(slot)
	}
}

// Retire ends the epoch: waiting words are withdrawn, readers are told through
// the header, and the memory goes away in this process as soon as the source
// holds no slot, no Local a lease and nobody a pin. Readers' own mappings live on.
// It may be called twice.
func (r *Ring) Retire() {
	r.mu.Lock()
	if r.retired {
		r.mu.Unlock()
		return
	}
	r.retired = true
	h := area(r.hdr.Data)
	for _, rd := range r.readers {
		rd.started = false
		r.withdraw(rd)
	}
	h.u32(hdrRetired).Store(1)
	r.unlockAndWake(true)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle() {
		r.unmap()
	}
}

// unmap closes what this process has of the ring. mu is held.
func (r *Ring) unmap() {
	if r.unmapped {
		return
	}
	r.unmapped = true
	r.wakeMu.Lock()
	defer r.wakeMu.Unlock()
	_ = r.hdr.Close()
	if r.pixels != nil {
		_ = r.pixels.Close()
	}
	for _, rd := range r.readers {
		rd.close()
	}
	r.readers = nil
}
