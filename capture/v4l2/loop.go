// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/internal/linux"
)

// errSourceChanged: the signal at an input has another size or rate now.
var errSourceChanged = errors.New("the signal changed")

// loop turns the driver's events into frames. Nothing in it allocates.
type loop struct {
	d       *Device
	q       *queue
	t       transfer
	w       dropper
	log     *slog.Logger
	stopped int           // descriptor that is readable once the loop shall end
	patient time.Duration // without a frame for so long: say what it may be
	clock   frame.Clock   // of the stream

	fds      [2]unix.PollFd
	sequence counter
	silent   bool // it was said that no frames come
	errors   int  // times in a row that the driver signalled nothing but an error
}

// dropper counts lost frames: a [capture.Writer], or two streams.
type dropper interface {
	Drop(n int, reason capture.DropReason)
}

// mostErrors is how often poll may report an error that no request can name.
const mostErrors = 100

func (l *loop) run(ctx context.Context) error {
	for {
		if err := l.step(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// step waits for the driver once and takes every frame that is ready. It
// returns nil when the loop shall end, too.
func (l *loop) step() error {
	timeout := -1
	if !l.silent {
		timeout = int(l.patient.Milliseconds())
	}
	l.fds[0] = unix.PollFd{Events: unix.POLLIN | unix.POLLPRI}
	l.fds[1] = unix.PollFd{Fd: int32(l.stopped), Events: unix.POLLIN}
	if err := l.d.k.poll(&l.fds, timeout); err != nil {
		return fmt.Errorf("poll: %w", err)
	}
	if l.fds[1].Revents != 0 {
		return nil
	}
	events := l.fds[0].Revents
	if events&unix.POLLPRI != 0 && l.d.sourceChanged() {
		return errSourceChanged
	}
	if events&^unix.POLLPRI == 0 {
		if events == 0 {
			l.stall()
		}
		return nil
	}
	n, err := l.drain()
	switch {
	case err != nil:
		return err
	case n > 0:
		l.errors, l.silent = 0, false
	case events&(unix.POLLHUP|unix.POLLNVAL) != 0:
		return explain("poll", l.d.Path, unix.ENODEV)
	case events&unix.POLLERR != 0:
		if l.errors++; l.errors >= mostErrors {
			return explain("poll", l.d.Path, unix.EIO)
		}
	}
	return nil
}

// stall says once that nothing comes. Whether to begin anew is the
// supervisor's to decide.
func (l *loop) stall() {
	if l.silent {
		return
	}
	l.silent = true
	hint := "is a trigger or a signal missing?"
	if l.d.Info.Driver == "uvcvideo" {
		hint = "some controllers start a camera that the USB bus cannot carry and deliver nothing: " + bandwidthAdvice
	}
	l.log.Warn("no frames from the driver", "device", l.d.Path, "for", l.patient, "hint", hint)
}

// drain takes the filled buffers and returns how many there were; at most one
// row of them, so that a driver that is always ready cannot hide the end.
func (l *loop) drain() (int, error) {
	for n := range mostBuffers {
		i, ok, err := l.q.dequeue()
		if err != nil || !ok {
			return n, err
		}
		if lost := l.sequence.next(l.q.buf.Sequence); lost > 0 {
			l.w.Drop(lost, capture.DropDevice)
		}
		if !l.q.complete() {
			l.w.Drop(1, capture.DropDamaged)
			if err := l.t.again(i); err != nil {
				return n, err
			}
			continue
		}
		st := capture.Stamp{DriverSequence: l.sequence.value}
		st.CaptureNanos, st.Clock = stamp(&l.q.buf, linux.Monotonic(), l.clock)
		if err := l.t.deliver(i, st); err != nil {
			return n, err
		}
	}
	return mostBuffers, nil
}

// stamp is the capture time that the driver gives, or the arrival where it
// gives none that can be: some count on another clock, and some stamp the end
// of a frame before it is there. The domain is 0 where it is the stream's.
func stamp(b *buffer, now int64, stream frame.Clock) (int64, frame.Clock) {
	at := b.Seconds*int64(time.Second) + b.Micros*int64(time.Microsecond)
	own := frame.ClockArrival
	if b.Flags&bufFlagTimestampMask == bufFlagMonotonic && b.Seconds >= 0 && at > 0 && at <= now {
		own = frame.ClockMonotonic
	} else {
		at = now
	}
	if own == stream {
		own = frame.ClockUnknown
	}
	return at, own
}

// counter follows a driver's 32-bit sequence numbers, which wrap, repeat and
// step back.
type counter struct {
	value   uint64
	last    uint32
	started bool
}

// next takes the number of a frame and returns how many were lost before it.
func (c *counter) next(n uint32) (lost int) {
	if !c.started {
		c.started, c.last, c.value = true, n, uint64(n)
		return 0
	}
	d := int32(n - c.last)
	c.last = n
	if d < 0 && c.value < uint64(-int64(d)) {
		c.value = 0
	} else {
		c.value += uint64(int64(d))
	}
	return max(int(d)-1, 0)
}
