// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/backend/shm"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
	"github.com/seed-3c7e7623/camd/ring"
)

// stream is one stream of a camera: what is the same through all its epochs.
type stream struct {
	name   string // "camera/stream"
	camera *camera
	shm    *shm.Backend

	generation atomic.Uint64

	mu      sync.Mutex
	format  capture.Format
	epoch   uint64
	writer  *writer
	seq     uint64 // of the last frame, published or dropped
	meta    frame.Meta
	counts  counts
	dropped map[capture.DropReason]uint64
	rate    rate
}

// counts is what happened to the frames of a stream.
type counts struct {
	published  uint64
	copied     uint64 // frames with bytes that user-space code copied
	copiedByte uint64
}

func newStream(c *camera, name string) *stream {
	s := &stream{
		name: c.spec.Name + "/" + name, camera: c, dropped: make(map[capture.DropReason]uint64),
	}
	s.shm = &shm.Backend{
		Stream: s.name, Session: c.d.session, Info: s.info,
		DefaultCredit: c.limits.credit, MaxCredit: ring.MaxCredit,
		ProbeTimeout: shm.DefaultProbeTimeout, ForceAfter: shm.DefaultForceAfter,
		Quarantine: &c.d.quarantine, Log: c.d.log.With("camera", c.spec.Name),
	}
	return s
}

// backends are the ways out, best first.
func (s *stream) backends() []backend.Backend { return []backend.Backend{s.shm} }

// candidates is what can be offered now.
func (s *stream) candidates() []negotiate.Candidate {
	var out []negotiate.Candidate
	for _, b := range s.backends() {
		out = append(out, b.Candidate())
	}
	return out
}

// open gives the stream a format. The ring stays if the format is the one it
// has and no slot of it is lost to a run that was given up.
func (s *stream) open(f capture.Format) (capture.Writer, error) {
	s.mu.Lock()
	same := s.writer != nil && s.format == f && s.writer.ring.Usage().Writing == 0
	if same {
		s.writer = newWriter(s, s.writer.ring)
		w := s.writer
		s.mu.Unlock()
		return w, nil
	}
	first := s.writer == nil
	s.mu.Unlock()

	slots, budget := s.camera.limits.memory(f.Held)
	if need := max(f.Held, 1) + 2; slots < need {
		return nil, fmt.Errorf("%w: %s: slots=%d, this source needs at least %d", capture.ErrConfig, s.name, slots, need)
	}
	epoch := s.camera.d.nextEpoch(s.name)
	r, err := s.newRing(f, epoch, slots, budget)
	if err != nil {
		return nil, memoryError(s.name, first, err)
	}
	s.camera.log.Info("stream opened", "stream", s.name, "geometry", f.Geometry.String(), "interval", f.Interval,
		"epoch", epoch, "slots", slots, "bytes", r.Layout().PixelBytes)
	s.mu.Lock()
	s.epoch, s.format = epoch, f
	s.writer = newWriter(s, r)
	w := s.writer
	s.mu.Unlock()
	s.shm.SetRing(r) // retires the ring before
	return w, nil
}

func (s *stream) newRing(f capture.Format, epoch uint64, slots, budget int) (*ring.Ring, error) {
	if err := room(s.name, slots, f.SlotBytes(), linux.MemoryLimits()); err != nil {
		return nil, err
	}
	l := s.camera.limits
	return ring.New(ring.Config{
		Name: s.name, Session: s.camera.d.session, Epoch: epoch, Geometry: f.Geometry,
		Slots: slots, SlotBytes: f.MinSlotBytes, MaxReaders: l.subscribers, Budget: budget,
		Generation: &s.generation, EvictAfter: l.evictAfter,
	})
}

// close ends the stream's memory in this process.
func (s *stream) close() { s.shm.SetRing(nil) }

// info implements what shm.Backend and lists ask for.
func (s *stream) info() negotiate.StreamInfo {
	h := s.camera.health()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.camera.describe(h)
	i.Name = s.name
	if s.writer != nil {
		i.Geometry = s.format.Geometry
	}
	i.IntervalNS = int64(s.format.Interval)
	i.Clock = s.format.Clock.String()
	i.Epoch = s.epoch
	return i
}

// rate follows the frame rate by an average over about a second.
type rate struct {
	last int64   // CLOCK_MONOTONIC of the newest frame
	mean float64 // interval, ns
}

func (r *rate) add(now int64) {
	if r.last != 0 {
		d := float64(now - r.last)
		if r.mean == 0 {
			r.mean = d
		} else {
			r.mean += (d - r.mean) * min(1, d/float64(time.Second)+0.02)
		}
	}
	r.last = now
}

// perSecond is 0 when no frame came for the last two seconds and ten intervals.
func (r *rate) perSecond(now int64) float64 {
	if r.mean == 0 || float64(now-r.last) > max(10*r.mean, float64(2*time.Second)) {
		return 0
	}
	return float64(time.Second) / r.mean
}

// writer is the capture.Writer of one epoch, for one run of the source.
type writer struct {
	s     *stream
	ring  *ring.Ring
	slots []capture.Slot // by index, so that Acquire allocates nothing
}

func newWriter(s *stream, r *ring.Ring) *writer {
	w := &writer{s: s, ring: r, slots: make([]capture.Slot, r.Layout().Slots)}
	for i := range w.slots {
		w.slots[i] = capture.Slot{Index: i, Data: r.Data(i)}
	}
	return w
}

// Acquire implements capture.Writer.
func (w *writer) Acquire() (*capture.Slot, error) {
	i, err := w.ring.Acquire()
	if err != nil {
		if errors.Is(err, ring.ErrNoSlot) {
			return nil, capture.ErrNoSlot
		}
		return nil, err
	}
	return &w.slots[i], nil
}

// Discard implements capture.Writer.
func (w *writer) Discard(s *capture.Slot) { w.ring.Discard(s.Index) }

// Commit implements capture.Writer: the frame is complete, its clock starts.
func (w *writer) Commit(slot *capture.Slot, st capture.Stamp) {
	// Both clocks at once: what is read after ready is latency to the readers.
	ready, wall := linux.Now()
	s := w.s
	s.mu.Lock()
	s.seq++
	m := &s.meta
	*m = frame.Meta{
		Sequence: s.seq, DriverSequence: st.DriverSequence,
		CaptureNanos: st.CaptureNanos, WallNanos: st.WallNanos, ReadyNanos: ready,
		Clock: s.format.Clock, Flags: st.Flags, Bytes: frameBytes(s.format.Geometry, st.Bytes),
	}
	if st.Clock != frame.ClockUnknown {
		m.Clock = st.Clock
	}
	if m.CaptureNanos == 0 {
		m.CaptureNanos = ready
	}
	if m.WallNanos == 0 {
		m.WallNanos = wall - (ready - m.CaptureNanos)
	}
	w.ring.Publish(slot.Index, m)
	s.counts.published++
	if st.CopiedBytes > 0 {
		s.counts.copied++
		s.counts.copiedByte += uint64(st.CopiedBytes)
	}
	s.rate.add(ready)
	s.mu.Unlock()
}

// frameBytes is how much of a slot is the frame: what the source says of a
// compressed one, the geometry's size of every other.
func frameBytes(g frame.Geometry, said int) int {
	if g.Compressed() && said > 0 {
		return min(said, g.Size())
	}
	return g.Size()
}

// Wanted implements capture.Demander.
func (w *writer) Wanted() bool {
	for _, b := range w.s.backends() {
		if b.Wanted() {
			return true
		}
	}
	w.ring.Forget()
	return false
}

// Drop implements capture.Writer.
func (w *writer) Drop(n int, reason capture.DropReason) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq += uint64(n)
	s.dropped[reason] += uint64(n)
}

// StreamStatus is a stream in the status document.
type StreamStatus struct {
	negotiate.StreamInfo
	RateHz    float64                       `json:"rate_hz"`
	Sequence  uint64                        `json:"sequence"`
	Published uint64                        `json:"published"`
	Dropped   map[capture.DropReason]uint64 `json:"dropped,omitempty"`
	// HostCopies is user-space copies per frame on the way into the ring.
	HostCopies  float64              `json:"host_copies"`
	AgeMS       int64                `json:"age_ms"` // of the newest frame; -1 before the first
	Ring        *RingStatus          `json:"ring,omitempty"`
	Subscribers []backend.Subscriber `json:"subscribers_detail"`
}

// RingStatus is the memory of a stream in the status document.
type RingStatus struct {
	Slots      int    `json:"slots"`
	Free       int    `json:"free"`
	Leased     int    `json:"leased"`
	Bytes      int64  `json:"bytes"`
	FutexWakes uint64 `json:"futex_wakes"`
	PipeWakes  uint64 `json:"pipe_wakes"`
	Kicks      uint64 `json:"kicks"`
	Ended      uint64 `json:"ended"`
}

func (s *stream) status() StreamStatus {
	out := StreamStatus{StreamInfo: s.info(), AgeMS: -1, Subscribers: []backend.Subscriber{}}
	for _, b := range s.backends() {
		out.Subscribers = append(out.Subscribers, b.Subscribers()...)
	}
	out.Subscribed = len(out.Subscribers)
	now := linux.Monotonic()
	s.mu.Lock()
	defer s.mu.Unlock()
	out.RateHz = s.rate.perSecond(now)
	out.Sequence, out.Published = s.seq, s.counts.published
	out.Dropped = maps.Clone(s.dropped)
	if s.counts.published > 0 {
		out.HostCopies = float64(s.counts.copied) / float64(s.counts.published)
		out.AgeMS = (now - s.rate.last) / int64(time.Millisecond)
	}
	if w := s.writer; w != nil {
		u, st := w.ring.Usage(), w.ring.Stats()
		out.Ring = &RingStatus{
			Slots: u.Slots, Free: u.Free, Leased: u.Leased, Bytes: w.ring.Layout().PixelBytes,
			FutexWakes: st.FutexWakes, PipeWakes: st.PipeWakes, Kicks: st.Kicks, Ended: st.Ended,
		}
	}
	return out
}
