// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl

import (
	"context"
	"errors"
	"time"

	"github.com/vladimirvivien/go4vl/device"
	"github.com/vladimirvivien/go4vl/v4l2"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// output is where frames go.
type output interface {
	// deliver takes a frame's bytes and publishes them. They are the caller's
	// again when it returns.
	deliver(data []byte, st capture.Stamp) error
	Drop(n int, reason capture.DropReason)
	close()
}

// loop turns what go4vl delivers into frames. Nothing in it waits but for that,
// and nothing allocates: go4vl drops the newest frame when nobody takes them.
type loop struct {
	frames <-chan *device.Frame
	errs   <-chan error
	device condition
	out    output
	clock  frame.Clock // of the stream

	sequence counter
	said     losses
	last     error // that ended go4vl's goroutine
}

// errSilent: the goroutine of go4vl's is over, and its error did not fit into its
// channel, which holds one.
var errSilent = errors.New("go4vl ended the stream without saying why")

func (l *loop) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			l.settle()
			return ctx.Err()
		case f, ok := <-l.frames:
			if !ok {
				return l.ended()
			}
			l.hear()
			err := l.take(f)
			f.Release()
			if err != nil {
				return err
			}
		case err, ok := <-l.errs:
			if !ok {
				l.errs = nil // the frames that were taken before it come still
				continue
			}
			l.note(err)
		}
	}
}

// hear takes what was said before the frame at hand.
func (l *loop) hear() {
	for {
		select {
		case err, ok := <-l.errs:
			if !ok {
				l.errs = nil
				return
			}
			l.note(err)
		default:
			return
		}
	}
}

// note takes one error: of a frame, or that which ended the stream.
func (l *loop) note(err error) {
	if !l.said.note(err) {
		l.last = shorten(err)
	}
}

// ended is why there are no frames any more.
func (l *loop) ended() error {
	l.hear()
	l.settle()
	if l.last == nil {
		l.last = errSilent
	}
	return explain("stream", l.device, l.last)
}

// settle counts the frames that were said to be lost and after which none came
// to show the gap.
func (l *loop) settle() {
	n := l.said.damaged + l.said.late
	l.said.share(n, l.out.Drop)
}

// take counts what was lost before a frame and delivers it.
func (l *loop) take(f *device.Frame) error {
	l.said.share(l.sequence.next(f.Sequence), l.out.Drop)
	st := capture.Stamp{DriverSequence: l.sequence.value, CopiedBytes: len(f.Data), Copies: 1}
	st.CaptureNanos, st.Clock = stamp(f, linux.Monotonic(), l.clock)
	return l.out.deliver(f.Data, st)
}

// stamp is the driver's time of a frame, or its arrival where that cannot be.
// go4vl makes the driver's CLOCK_MONOTONIC a time since 1970. The domain is 0
// where it is the stream's.
func stamp(f *device.Frame, now int64, stream frame.Clock) (int64, frame.Clock) {
	at, own := f.Timestamp.UnixNano(), frame.ClockArrival
	if f.Flags&v4l2.BufFlagTimestampMask == v4l2.BufFlagTimestampMonotonic && at > 0 && at <= now {
		own = frame.ClockMonotonic
	} else {
		at = now
	}
	if own == stream {
		own = frame.ClockUnknown
	}
	return at, own
}

// counter follows the driver's 32-bit sequence numbers, which wrap, repeat and
// step back.
type counter struct {
	value   uint64
	last    uint32
	started bool
}

// next takes the number of a frame and returns how many were lost before it.
func (c *counter) next(n uint32) int {
	if !c.started {
		c.started, c.last, c.value = true, n, uint64(n)
		return 0
	}
	step := int64(int32(n - c.last))
	c.last = n
	c.value = uint64(max(0, int64(c.value)+step))
	return int(max(0, step-1))
}

// nominal is the interval of a fraction of a second; 0 = the driver does not say.
func nominal(f v4l2.Fract) time.Duration {
	if f.Numerator == 0 || f.Denominator == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) * float64(f.Numerator) / float64(f.Denominator))
}
