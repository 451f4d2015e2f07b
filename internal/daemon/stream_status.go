// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"maps"
	"slices"
	"time"

	"github.com/seed-3c7e7623/camd/backend"
	"github.com/seed-3c7e7623/camd/backend/cpu"
	"github.com/seed-3c7e7623/camd/backend/cuda"
	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/internal/linux"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// StreamStatus is a stream in the status document.
type StreamStatus struct {
	negotiate.StreamInfo
	RateHz    float64                       `json:"rate_hz"`
	Sequence  uint64                        `json:"sequence"`
	Published uint64                        `json:"published"`
	Dropped   map[capture.DropReason]uint64 `json:"dropped,omitempty"`
	// Decimated counts the frames that max_rate left out, which are no loss.
	Decimated uint64 `json:"decimated,omitempty"`
	// HostCopies is user-space copies per frame on the way into the ring.
	HostCopies float64            `json:"host_copies"`
	AgeMS      int64              `json:"age_ms"` // of the newest frame; -1 before the first
	Ring       *RingStatus        `json:"ring,omitempty"`
	DeviceRing *cuda.StreamStatus `json:"device_ring,omitempty"` // in memory of the GPU
	Topics     []cpu.TopicStatus  `json:"topics,omitempty"`      // of ROS 2, over Zenoh
	// Withheld is what zenoh.access keeps from others on the network: announce,
	// answer, accept. Topics that are not published are among Topics.
	Withheld    []string             `json:"withheld,omitempty"`
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

// subscribers are those of this host and those on the network that say that they
// are there.
func (s *stream) subscribers() []backend.Subscriber {
	out := []backend.Subscriber{}
	for _, b := range s.backends() {
		out = append(out, b.Subscribers()...)
	}
	if a := s.camera.d.announcer; a != nil {
		out = append(out, a.visitor.of(s.name)...)
	}
	return out
}

// subscribed counts subscribers. Of those over Zenoh that do not say that they
// are there, such as nodes of ROS, is only known whether there are some: with no
// others they count as one.
func (s *stream) subscribed() int {
	all := s.subscribers()
	n := len(all)
	if s.cpu != nil && s.cpu.Wanted() && !slices.ContainsFunc(all, func(x backend.Subscriber) bool { return x.Backend == negotiate.BackendCPU }) {
		n++
	}
	return n
}

func (s *stream) status() StreamStatus {
	out := StreamStatus{StreamInfo: s.info(), AgeMS: -1, Subscribers: s.subscribers()}
	out.Subscribed = s.subscribed()
	if s.cpu != nil {
		out.Topics = s.cpu.Topics()
	}
	if s.cuda != nil {
		out.DeviceRing = s.cuda.Status()
	}
	if a := s.camera.d.announcer; a != nil {
		out.Withheld = a.access.refused(s.name)
	}
	now := linux.Monotonic()
	s.mu.Lock()
	defer s.mu.Unlock()
	out.RateHz = s.rate.perSecond(now)
	out.Sequence, out.Published = s.seq, s.counts.published
	out.Dropped, out.Decimated = maps.Clone(s.dropped), s.counts.decimated
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
