// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package go4vl

import (
	"context"
	"fmt"
	"time"

	"github.com/vladimirvivien/go4vl/device"
	"github.com/vladimirvivien/go4vl/v4l2"
	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
)

const openFlags = unix.O_RDWR | unix.O_NONBLOCK | unix.O_CLOEXEC

// stream is one start of a device and its end, which go4vl does not bring about
// by itself in every case: where its context is cancelled, or its goroutine met
// an error, its Stop does nothing, buffers stay mapped (and with them the device
// in use) and the next start ends the program by sending on a closed channel.
type stream struct {
	dev    *device.Device
	handed bool
	path   string

	cancel context.CancelFunc
	frames <-chan *device.Frame // nil until it was started
	errs   <-chan error
}

func (t *stream) name() string { return t.path }

// gone implements condition: every device answers this request until it is gone.
func (t *stream) gone() bool {
	_, err := v4l2.GetCapability(t.dev.Fd())
	return err != nil || !there(t.path, t.dev.Fd())
}

// reserve makes the driver's buffers: another program's are known before anything
// is declared, and so is the clock of the stamps. A start makes them anew.
func (t *stream) reserve() error {
	// go4vl keeps the channels of a stream that was not stopped, closed.
	if t.dev.GetError() != nil {
		return fmt.Errorf("%w: the last stream of %s ended without Stop, or is still read by another part of the program", ErrUsedUp, t.path)
	}
	if _, err := v4l2.InitBuffers(t.dev); err != nil {
		return explain("buffers", t, err)
	}
	return nil
}

// start begins to stream.
func (t *stream) start() error {
	before := t.dev.Buffers()
	// Of its own: Stop has something to do only before it is cancelled.
	ctx, cancel := context.WithCancel(context.Background())
	err := t.dev.Start(ctx)
	if err == nil {
		if t.frames, err = frames(t.dev); err != nil {
			cancel()
			_ = t.dev.Stop()
			return fmt.Errorf("%w: %s: %w", ErrUsedUp, t.path, err)
		}
		t.cancel, t.errs = cancel, t.dev.GetError()
		return nil
	}
	cancel()
	why := explain("start", t, err)
	switch now := t.dev.Buffers(); {
	case len(now) == 0:
		_ = t.dev.Stop() // it believes that it streams; this says that it has no buffers
	case !same(now, before):
		t.release()
	default: // it believes that it streams, with the buffers of the stream before
		return fmt.Errorf("%w: %w", ErrUsedUp, why)
	}
	return why
}

// frames is go4vl's GetFrames, which panics where the program has called GetOutput.
func frames(d *device.Device) (c <-chan *device.Frame, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the program reads its frames in another way: %v", p)
		}
	}()
	return d.GetFrames(), nil
}

// clock is the domain of the driver's stamps, of which its buffers tell.
func (t *stream) clock() frame.Clock {
	b, err := v4l2.GetBuffer(t.dev, 0)
	if err == nil && b.Flags&v4l2.BufFlagTimestampMask != v4l2.BufFlagTimestampMonotonic {
		return frame.ClockArrival
	}
	return frame.ClockMonotonic
}

// same reports whether two lists of buffers are one: go4vl keeps that of the
// stream before.
func same(a, b [][]byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// end takes the stream down: nothing of it is mapped, and the device is free for
// others. A goroutine of go4vl's may wait with select(2) for a tenth of a second more.
func (t *stream) end() {
	if t.frames == nil { // it was not started
		_, _ = v4l2.ResetBuffers(t.dev)
		return
	}
	stopped := false
	if t.handed {
		err := t.stop()
		stopped = err != nil || t.dev.GetError() == nil
	}
	t.cancel()
	for f := range t.frames { // closed by the goroutine that fills it, when it ends
		f.Release()
	}
	if !stopped {
		t.release()
		return
	}
	_, _ = v4l2.ResetBuffers(t.dev)
}

// stop is go4vl's Stop, which waits for one more frame: half a second, then it
// takes away what its goroutine is using. Where none comes in good time the goroutine
// is ended by an end of the stream; not before, as Stop does nothing after it.
func (t *stream) stop() error {
	const patience = 100 * time.Millisecond
	done := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(done)
		_ = v4l2.StreamOff(t.dev)
	})
	err := t.dev.Stop()
	if !timer.Stop() {
		<-done
	}
	return err
}

// release gives back what go4vl has left of a stream that is over.
func (t *stream) release() {
	_ = v4l2.StreamOff(t.dev)
	_ = v4l2.UnmapMemoryBuffers(t.dev)
	_, _ = v4l2.ResetBuffers(t.dev)
}
