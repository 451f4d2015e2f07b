// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/pace"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// Stream is the name of the only stream of a pattern.
const Stream = "color"

// The size in pixels where the spec has none.
const (
	DefaultWidth  = 1280
	DefaultHeight = 720
)

const (
	styleBars = "bars"
	styleRows = "rows"

	defaultRate = 30
	// noSlotPause keeps an unpaced source from spinning while readers hold
	// every slot.
	noSlotPause = time.Millisecond
)

// Source makes frames. It implements [capture.Source].
type Source struct {
	sizes  [2]frame.Geometry // the second one for fault.resize
	rate   float64           // frames per second; 0 = as fast as possible
	style  string
	count  uint64 // frames until the end; 0 = endless
	seed   uint64
	camera uint8
	faults faults
}

// New reads the options:
//
//	encoding=NAME          default bgra8
//	style=bars|rows        the full picture, or a grey one with numbers only
//	count=N                end of stream after N frames, missing ones included; default 0 = never
//	seed=N                 of faults and of the box's path
//	camera=N               0 to 255, in the barcode
//	fault.drop=P%          these frames never come
//	fault.duplicate=P%     these come twice
//	fault.jitter=D         come up to D later than their stamp says
//	fault.stall=EVERY/FOR  every so often nothing comes for a while
//	fault.resize=EVERY     the size halves, and is whole again, and so on
//
// Size and rate default to 1280x720@30; rate 0 is as fast as possible. What
// makes no sense is [capture.ErrConfig].
func New(spec capture.Spec) (*Source, error) {
	o := capture.NewOptions(spec)
	s := &Source{
		style:  o.Choice("style", styleBars, styleBars, styleRows),
		count:  uint64(o.Int("count", 0, 0, 1<<62)),
		seed:   uint64(o.Int("seed", 0, 0, 1<<62)),
		camera: uint8(o.Int("camera", 0, 0, 255)),
		faults: parseFaults(o),
	}
	s.rate = o.Float("rate", defaultRate, 0, 1e6)
	if spec.Rate > 0 {
		s.rate = spec.Rate
	}
	if spec.Target != "" {
		o.RefuseKey("target", "kind pattern has no target, there is %q", spec.Target)
	}
	enc, err := frame.ParseEncodingOf(o.String("encoding", string(frame.BGRA8)), encodings())
	if err != nil {
		o.RefuseKey("encoding", "option encoding: %w", err)
		enc = frame.BGRA8
	} else if !canPaint(enc) {
		o.RefuseKey("encoding", "option encoding: the pattern is not painted in %s, only in %s", enc, frame.JoinEncodings(encodings()))
		enc = frame.BGRA8
	}
	w, h := spec.Width, spec.Height
	if w == 0 && h == 0 {
		w, h = DefaultWidth, DefaultHeight
	}
	if s.sizes[0], err = frame.NewGeometry(enc, w, h); err != nil {
		o.RefuseKey("size", "size: %w", err)
	} else if s.sizes[1], err = frame.NewGeometry(enc, half(w), half(h)); err != nil {
		o.Refuse("size for fault.resize: %w", err)
	}
	if err := o.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// half is half a side, even where that is possible.
func half(n int) int {
	if n < 4 {
		return (n + 1) / 2
	}
	return n / 2 &^ 1
}

// Describe implements [capture.Source].
func (s *Source) Describe() string { return "pattern" }

// Run implements [capture.Source]. A frame's capture time is its deadline, the
// moment at which it was due to be begun (as fast as possible: at which it was
// begun); its driver sequence is its number, from 1.
func (s *Source) Run(ctx context.Context, sink capture.Sink) error {
	r := newRunner(s, sink)
	if err := r.open(0); err != nil {
		return err
	}
	r.begin() // memory took its time: no frame is late for that
	for s.count == 0 || r.number < s.count {
		if err := r.step(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: all %d frames made", capture.ErrEndOfStream, s.count)
}

// runner is one run: frames are numbered from 1, frame n is due at tick n-1.
type runner struct {
	*Source
	sink     capture.Sink
	start    int64 // CLOCK_MONOTONIC, ns
	schedule pace.Schedule
	random   *rand.Rand
	number   uint64 // of the newest frame, lost ones included
	size     int    // index into sizes of what is open
	writer   capture.Writer
	picture  *picture
}

func newRunner(s *Source, sink capture.Sink) *runner {
	r := &runner{
		Source: s,
		sink:   sink,
		random: rand.New(rand.NewPCG(s.seed, uint64(s.camera)+1)),
	}
	r.begin()
	return r
}

// begin starts the schedule now.
func (r *runner) begin() {
	r.start = linux.Monotonic()
	r.schedule = pace.Schedule{Start: r.start, Rate: r.rate}
}

func (r *runner) open(size int) error {
	f := capture.Format{Geometry: r.sizes[size], Clock: frame.ClockMonotonic, Held: 1}
	if f.Geometry.Encoding.YUV() {
		f.Color = frame.Color{Matrix: frame.BT601, Range: frame.Limited}
	}
	if r.rate > 0 {
		f.Interval = r.schedule.Interval()
	}
	w, err := r.sink.Open(Stream, f)
	if err != nil {
		return err
	}
	r.writer, r.size = w, size
	r.picture = newPicture(r.sizes[size], r.style, r.seed)
	return nil
}

// step makes the next frame, when it is due.
func (r *runner) step(ctx context.Context) error {
	due := linux.Monotonic()
	if r.rate > 0 {
		if late := r.left(r.schedule.Late(r.number, due)); late > 0 {
			r.lose(late, capture.DropLate)
			return nil
		}
		due = r.schedule.At(r.number)
	}
	if end := r.faults.stallEnd(time.Duration(due - r.start)); end > 0 {
		return r.stall(ctx, end)
	}
	r.number++
	lot := r.faults.fate(r.random)
	if err := r.wait(ctx, due+int64(lot.delay)); err != nil {
		return err
	}
	size := 0
	if r.faults.second(time.Duration(due - r.start)) {
		size = 1
	}
	if size != r.size {
		if err := r.open(size); err != nil {
			return err
		}
	}
	if lot.drop {
		r.writer.Drop(1, capture.DropFault)
		return nil
	}
	if err := r.emit(ctx, due); err != nil || !lot.duplicate {
		return err
	}
	return r.emit(ctx, due)
}

// wait returns at the deadline. It looks at ctx also if that is past, for the
// source that never waits.
func (r *runner) wait(ctx context.Context, deadline int64) error { return pace.Until(ctx, deadline) }

// emit draws the current frame into a slot and publishes it.
func (r *runner) emit(ctx context.Context, captured int64) error {
	slot, err := r.writer.Acquire()
	if errors.Is(err, capture.ErrNoSlot) {
		r.writer.Drop(1, capture.DropNoSlot)
		if r.rate == 0 {
			return r.wait(ctx, linux.Monotonic()+int64(noSlotPause))
		}
		return nil
	}
	if err != nil {
		return err
	}
	r.picture.draw(slot.Index, slot.Data, r.number, Code{
		Version:       codeVersion,
		Camera:        r.camera,
		Counter:       uint32(r.number),
		CaptureMicros: uint64(captured / 1000),
	})
	r.writer.Commit(slot, capture.Stamp{
		DriverSequence: r.number,
		CaptureNanos:   captured,
		Flags:          frame.Pattern,
	})
	return nil
}

// stall loses the frames due before end (since the start) and waits for it.
func (r *runner) stall(ctx context.Context, end time.Duration) error {
	deadline := r.start + int64(end)
	if r.rate > 0 {
		n := uint64(1)
		if next := uint64(math.Ceil(end.Seconds() * r.rate)); next > r.number {
			n = next - r.number
		}
		defer r.lose(r.left(n), capture.DropFault)
	}
	return r.wait(ctx, deadline)
}

// left bounds n by what is missing until the end of the stream.
func (r *runner) left(n uint64) uint64 {
	if r.count > 0 {
		return min(n, r.count-r.number)
	}
	return n
}

// lose skips n frames.
func (r *runner) lose(n uint64, reason capture.DropReason) {
	r.number += n
	r.writer.Drop(int(min(n, 1<<31-1)), reason)
}
