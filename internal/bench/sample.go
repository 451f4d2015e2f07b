// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"sync/atomic"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// Sample is one received frame. All *Nanos are CLOCK_MONOTONIC in nanoseconds;
// 0 stands for "not known".
type Sample struct {
	Sequence       uint64
	DriverSequence uint64
	CaptureNanos   int64
	ReadyNanos     int64 // complete in the publisher's memory
	PublishNanos   int64 // hand-over began
	UsableNanos    int64 // the program can read the pixels
	ReadNanos      int64 // it has read every byte; 0 = it does not
	Backend        negotiate.Backend
	Pixel          [pixelBytes]byte // bytes of the centre pixel
	PixelLen       int              // how many of them are valid

	wallNanos int64 // of the capture, CLOCK_REALTIME
}

// pixelBytes is the most that a pixel, or the group that shares chroma, takes.
const pixelBytes = 8

// Live shows the samples of a phase to another goroutine while it measures.
type Live struct {
	samples atomic.Pointer[[]Sample]
	count   atomic.Int64
}

// Samples are those that are complete. They do not change any more.
func (l *Live) Samples() []Sample {
	n := l.count.Load() // before the slice: begin stores the count last
	all := l.samples.Load()
	if all == nil {
		return nil
	}
	return (*all)[:min(int(n), len(*all))]
}

// begin makes the samples of a phase visible, and touches their memory so that
// no page of it is missing when it is needed.
func (l *Live) begin(samples []Sample) {
	l.count.Store(0)
	for i := range samples {
		samples[i] = Sample{}
	}
	l.samples.Store(&samples)
}

// centre copies the bytes of the pixel at width/2, height/2, of the first plane
// where there are two. Compressed frames have none.
func (s *Sample) centre(g frame.Geometry, f Frame) error {
	n := g.Encoding.BytesPerPixel()
	if g.Compressed() || n < 1 || n > pixelBytes {
		return nil
	}
	at := g.Height/2*g.Step + g.Width/2*n
	if at+n > f.Meta().Bytes {
		return nil
	}
	if there, ok := f.(elsewhere); ok {
		s.PixelLen = n
		return there.readThere(s.Pixel[:n], at)
	}
	s.PixelLen = copy(s.Pixel[:n], f.Data()[at:])
	return nil
}

// touchAll reads every byte of a frame where it is.
func touchAll(f Frame) error {
	if there, ok := f.(elsewhere); ok {
		return there.touchThere()
	}
	touch(f.Data())
	return nil
}

// sink keeps the compiler from leaving out a touch whose result nobody needs.
var sink atomic.Uint64

// touch reads every byte, as fast as a plain loop can.
func touch(data []byte) {
	var a, b, c, d uint64
	words := wordsOf(data)
	i := 0
	for ; i+4 <= len(words); i += 4 {
		w := words[i : i+4 : i+4]
		a += w[0]
		b += w[1]
		c += w[2]
		d += w[3]
	}
	for ; i < len(words); i++ {
		a += words[i]
	}
	for _, x := range data[len(words)*8:] {
		a += uint64(x)
	}
	sink.Store(a + b + c + d)
}
