// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/backend/local"
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
	output output
	shm    *shm.Backend
	cpu    *cpu.Backend  // nil: not published over Zenoh
	cuda   *cuda.Backend // nil: no GPU is used

	generation atomic.Uint64

	mu      sync.Mutex
	format  capture.Format // as the source gives it
	out     capture.Format // as subscribers get it
	epoch   uint64
	writer  *writer
	seq     uint64 // of the last frame, published or dropped
	meta    frame.Meta
	rarer   *rarer
	carried frame.Flags // of frames that were left out, for the next one
	counts  counts
	dropped map[capture.DropReason]uint64
	rate    rate
}

// counts is what happened to the frames of a stream.
type counts struct {
	published  uint64
	decimated  uint64 // left out because of max_rate
	copied     uint64 // times that user-space code copied a frame, or part of one
	copiedByte uint64
}

func newStream(c *camera, name string) *stream {
	s := &stream{
		name: c.spec.Name + "/" + name, camera: c, output: c.output.of(name), dropped: make(map[capture.DropReason]uint64),
	}
	s.rarer = &rarer{decimator: decimator{period: int64(s.output.period())}}
	s.shm = &shm.Backend{Server: local.Server{Config: s.local(negotiate.BackendSHM)}}
	s.cpu = newCPU(c, s.name, name, s.output)
	s.cuda = newCUDA(s)
	return s
}

// local is what the backends for processes of this host have in common.
func (s *stream) local(b negotiate.Backend) local.Config {
	c := s.camera
	return local.Config{
		Backend: b, Stream: s.name, Session: c.d.session, Info: s.info,
		DefaultCredit: c.limits.credit, MaxCredit: ring.MaxCredit,
		ProbeTimeout: local.DefaultProbeTimeout, ForceAfter: c.limits.forceAfter(),
		Quarantine: &c.d.quarantine, Log: c.d.log.With("camera", c.spec.Name),
	}
}

// backends are the ways out, best first.
func (s *stream) backends() []backend.Backend {
	switch {
	case s.cuda != nil && s.cpu != nil:
		return []backend.Backend{s.cuda, s.shm, s.cpu}
	case s.cuda != nil:
		return []backend.Backend{s.cuda, s.shm}
	case s.cpu != nil:
		return []backend.Backend{s.shm, s.cpu}
	}
	return []backend.Backend{s.shm}
}

// candidates is what can be offered now.
func (s *stream) candidates() []negotiate.Candidate {
	var out []negotiate.Candidate
	for _, b := range s.backends() {
		out = append(out, b.Candidate())
	}
	return negotiate.Restrict(s.output.backends, out)
}

// open gives the stream a format. The ring stays if the format is the one it
// has and no slot of it is lost to a run that was given up.
func (s *stream) open(f capture.Format) (capture.Writer, error) {
	out, scale, err := s.output.published(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	w, err := s.openRing(f, out, scale != nil)
	if err != nil || scale == nil {
		return w, err
	}
	return newScaler(w, f, scale), nil
}

func (s *stream) openRing(f, out capture.Format, scaled bool) (*writer, error) {
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

	local := s.gpuSlots()
	if s.cpu != nil {
		local += cpu.Credit
	}
	slots, budget, tight := s.camera.limits.memory(out.Held, local)
	if need := max(out.Held, 1) + 2; slots < need {
		return nil, fmt.Errorf("%w: %s: slots=%d, this source needs at least %d", capture.ErrConfig, s.name, slots, need)
	}
	beside := int64(0)
	if scaled {
		beside = linux.PageRound(int64(f.SlotBytes())) * int64(stagingSlots(f))
	}
	epoch := s.camera.d.nextEpoch(s.name)
	r, err := s.newRing(out, epoch, slots, budget, beside)
	if err != nil {
		return nil, memoryError(s.name, first, err)
	}
	s.camera.log.Info("stream opened", "stream", s.name, "geometry", out.Geometry.String(), "interval", out.Interval,
		"epoch", epoch, "slots", slots, "bytes", r.Layout().PixelBytes)
	s.mu.Lock()
	s.epoch, s.format, s.out = epoch, f, out
	s.rarer.expect(int64(f.Interval))
	s.writer = newWriter(s, r)
	w := s.writer
	s.mu.Unlock()
	s.shm.SetRing(r) // retires the ring before
	if s.cuda != nil {
		s.cuda.SetRing(r)
	}
	if s.cpu != nil {
		s.cpu.SetRing(r, out.Color, tight)
	}
	s.camera.d.announcer.stale(s.name)
	return w, nil
}

func (s *stream) newRing(f capture.Format, epoch uint64, slots, budget int, beside int64) (*ring.Ring, error) {
	if err := room(s.name, slots, f.SlotBytes(), beside, linux.MemoryLimits()); err != nil {
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
func (s *stream) close() {
	s.shm.SetRing(nil)
	if s.cuda != nil {
		s.cuda.Close()
	}
	if s.cpu != nil {
		s.cpu.Close()
	}
}

// info implements what shm.Backend and lists ask for.
func (s *stream) info() negotiate.StreamInfo {
	h := s.camera.health()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.camera.describe(h)
	i.Name = s.name
	if s.writer != nil {
		i.Geometry, i.Color = s.out.Geometry, s.out.Color
	}
	i.IntervalNS = int64(s.out.Interval)
	i.Clock = s.out.Clock.String()
	i.Stamp, i.FrameID = s.output.stamp, s.output.frameID
	i.Epoch = s.epoch
	if s.cpu != nil {
		i.Topic, i.Domain = s.cpu.Topic(), s.cpu.Domain()
		if c := s.cpu.Candidate(); c.Reason == negotiate.ReasonPolicy {
			i.Withheld = c.Reason
		}
		if z := s.camera.d.network.current(); z != nil {
			i.Publisher = z.ZID().String()
		}
	}
	return i
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
	if !w.s.due(&st) {
		w.ring.Discard(slot.Index)
		return
	}
	w.publish(slot, st, copies(st), 0)
}

// copies is how often the source's code copied a frame.
func copies(st capture.Stamp) uint64 {
	switch {
	case st.CopiedBytes <= 0:
		return 0
	case st.Copies > 0:
		return uint64(st.Copies)
	}
	return 1
}

// publish hands the frame to readers. It was copied so often by user-space code,
// and beside what the stamp says so many bytes of it.
func (w *writer) publish(slot *capture.Slot, st capture.Stamp, copies uint64, copied int) {
	// Both clocks at once: what is read after ready is latency to the readers.
	ready, wall := linux.Now()
	if st.PublishNanos != 0 {
		wall -= ready - st.PublishNanos
		ready = st.PublishNanos
	}
	s := w.s
	s.mu.Lock()
	s.seq++
	m := &s.meta
	*m = frame.Meta{
		Sequence: s.seq, DriverSequence: st.DriverSequence,
		CaptureNanos: st.CaptureNanos, WallNanos: st.WallNanos, ReadyNanos: ready,
		Clock: s.out.Clock, Flags: st.Flags | s.carried, Bytes: frameBytes(s.out.Geometry, st.Bytes),
	}
	s.carried = 0
	if st.Clock != frame.ClockUnknown {
		m.Clock = st.Clock
	}
	if m.CaptureNanos == 0 {
		m.CaptureNanos = ready
	}
	if m.WallNanos == 0 {
		m.WallNanos = wall - (ready - m.CaptureNanos)
	}
	w.ring.PublishAt(slot.Index, m, st.PublishNanos)
	s.counts.published++
	s.counts.copied += copies
	s.counts.copiedByte += uint64(st.CopiedBytes + copied)
	s.rate.add(ready)
	s.mu.Unlock()
}

// due reports whether the frame is to be published. One that max_rate leaves
// out is no loss: it takes no number, so that subscribers see no gap.
func (s *stream) due(st *capture.Stamp) bool {
	rarer := s.decimator()
	if rarer.period == 0 {
		return true
	}
	if st.CaptureNanos == 0 {
		st.CaptureNanos = linux.Monotonic()
	}
	if rarer.pass(st) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.decimated++
	s.carried |= st.Flags & frame.Discontinuity
	return false
}

func (s *stream) decimator() *rarer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rarer
}

// skip passes over a frame that nobody gets, but not over the break before it.
func (s *stream) skip(st capture.Stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carried |= st.Flags & frame.Discontinuity
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
	if s := w.s; s.shm.Wanted() || s.cuda != nil && s.cuda.Wanted() || s.cpu != nil && s.cpu.Wanted() {
		return true
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
