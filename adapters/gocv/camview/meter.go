// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"time"

	"github.com/seed-3c7e7623/camd/frame"
)

// How long figures are collected before they are shown.
const (
	firstFigures = 300 * time.Millisecond
	everyFigures = time.Second
)

// span is the mean and the most of some times in nanoseconds.
type span struct {
	n        int
	sum, max int64
}

func (s *span) add(from, to int64) {
	if from == 0 { // not known
		return
	}
	s.n++
	s.sum += to - from
	s.max = max(s.max, to-from)
}

func (s span) mean() float64 { return float64(s.sum) / float64(max(s.n, 1)) }

// figures are those of the newest second that is over.
type figures struct {
	known         bool
	published     float64 // frames a second, with those that were missed
	shown         float64
	readyShown    span // from ready until the window had drawn it
	publishShown  span
	captureToHeld span
}

// meter counts frames as they are taken and as they are shown.
type meter struct {
	mu      sync.Mutex
	since   int64 // CLOCK_MONOTONIC: when the figures that are collected began
	now     figures
	latest  figures
	taken   int
	painted int
	missed  uint64 // when that second began

	heldNanos int64  // when the newest frame was taken, 0 = none was
	unshown   uint64 // taken, and replaced by a newer one before the window had time
	dropped   uint64
	session   frame.Session
	last      frame.Meta
}

// take counts a frame in hand. Frames that the device counts and the daemon does
// not never came out of the device.
func (m *meter) take(session frame.Session, meta frame.Meta, heldNanos int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken++
	m.heldNanos = heldNanos
	m.now.captureToHeld.add(meta.CaptureNanos, heldNanos)
	goesOn := session == m.session && meta.BreakSequence <= m.last.Sequence && meta.Flags&frame.Discontinuity == 0
	if goesOn && m.last.DriverSequence != 0 && meta.DriverSequence > m.last.DriverSequence {
		device, daemon := meta.DriverSequence-m.last.DriverSequence, meta.Sequence-m.last.Sequence
		if device > daemon {
			m.dropped += device - daemon
		}
	}
	m.session, m.last = session, meta
}

// show counts a picture that the window has drawn.
func (m *meter) show(meta frame.Meta, nowNanos int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.painted++
	m.now.readyShown.add(meta.ReadyNanos, nowNanos)
	m.now.publishShown.add(meta.PublishNanos, nowNanos)
}

func (m *meter) replaced() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unshown++
}

// begin forgets what came before there was a window.
func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unshown = 0
}

// counts are what only grows: dropped by the device, and not shown.
func (m *meter) counts() (dropped, unshown uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dropped, m.unshown
}

// held is when the newest frame was taken; 0 = none was.
func (m *meter) held() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heldNanos
}

// figures are what there is to show. missed is the subscription's count.
func (m *meter) figures(nowNanos int64, missed uint64) figures {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.since == 0 {
		m.since, m.missed = nowNanos, missed
	}
	every := everyFigures
	if !m.latest.known {
		every = firstFigures
	}
	took := time.Duration(nowNanos - m.since)
	if took < every {
		return m.latest
	}
	m.now.known = true
	m.now.published = float64(uint64(m.taken)+missed-m.missed) / took.Seconds()
	m.now.shown = float64(m.painted) / took.Seconds()
	m.latest, m.now = m.now, figures{}
	m.since, m.missed, m.taken, m.painted = nowNanos, missed, 0, 0
	return m.latest
}
