// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

func TestReleaseOnce(t *testing.T) {
	f := newFake(t, well)
	s := f.subscribed(WithCredit(1))
	a := want(t, s, f.publish())
	if a.Color() != fakeColor {
		t.Errorf("colour %v, want %v", a.Color(), fakeColor)
	}
	a.Release()
	if a.Color() != (frame.Color{}) || a.Data() != nil || a.Meta() != (frame.Meta{}) || a.Epoch() != 0 || a.HeldNanos() != 0 ||
		a.Session() != (frame.Session{}) || a.Geometry() != (frame.Geometry{}) || !errors.Is(a.Valid(), ErrReleased) {
		t.Error("a released frame still says something")
	}
	if _, err := a.Retain(); !errors.Is(err, ErrReleased) {
		t.Errorf("Retain after Release: %v", err)
	}
	b := want(t, s, f.publish())
	a.Release() // of a handle that holds another frame now
	whole(t, b, b.Meta().Sequence)
	if b.Valid() != nil {
		t.Error("a second Release of one frame released another")
	}
	b.Release()
	Frame{}.Release()
	if _, err := (Frame{}).Retain(); !errors.Is(err, ErrReleased) {
		t.Errorf("Retain of no frame: %v", err)
	}
}

func TestRetainTwice(t *testing.T) {
	f := newFake(t, well)
	s := f.subscribed(WithCredit(1))
	seq := f.publish()
	a := want(t, s, seq)
	first, err := a.Retain()
	if err != nil {
		t.Fatal(err)
	}
	second, err := first.Retain()
	if err != nil {
		t.Fatal(err)
	}
	a.Release() // the end of the loop's turn
	a.Release()
	first.Release()
	first.Release()
	whole(t, second.Frame, seq)
	f.publish()
	usedUp(t, s)
	second.Release()
	want(t, s, f.publish()).Release()
}

// usedUp checks that a Next would wait for a release, though a frame is there.
func usedUp(t *testing.T, s *Subscription) {
	t.Helper()
	fr, _, wait, err := s.attempt()
	if fr.h != nil || wait != waitRelease || err != nil {
		t.Errorf("with all credit used up Next gets %v, %v, %v", fr, wait, err)
	}
}

func TestLoopReleases(t *testing.T) {
	f := newFake(t, well)
	s := f.subscribed(WithCredit(2))
	var kept *Retained
	n := 0
	f.publish()
	for fr, err := range s.Frames(bounded(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			kept, err = fr.Retain()
			if err != nil {
				t.Fatal(err)
			}
		}
		if n++; n == 20 {
			break
		}
		f.publish()
	}
	whole(t, kept.Frame, 1)
	kept.Release()
	// A body that panics gives its frame back, too.
	func() {
		defer func() { _ = recover() }()
		f.publish()
		for range s.Frames(bounded(t)) {
			panic("in a test")
		}
	}()
	if err := s.Close(); err != nil {
		t.Errorf("frames are still held: %v", err)
	}
	for _, err := range s.Frames(bounded(t)) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("a loop after Close: %v", err)
		}
	}
}

// waker is a subscription whose Next sleeps, one for each kind of wake-up.
func eachWake(t *testing.T, test func(t *testing.T, wake Option)) {
	for _, w := range []negotiate.WakeKind{negotiate.WakeFutex, negotiate.WakePipe} {
		t.Run(string(w), func(t *testing.T) { test(t, WithWake(w)) })
	}
}

// asleep waits until a Next has raised its flag in the reader's page.
func asleep(s *Subscription) {
	for {
		s.mu.Lock()
		sleeps := s.cur != nil && s.cur.users > s.cur.held
		s.mu.Unlock()
		if sleeps {
			return
		}
		runtime.Gosched()
	}
}

func TestWhatEndsAWait(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Option) {
		cases := map[string]struct {
			end  func(f *fake, s *Subscription, cancel func())
			want error
		}{
			"a frame":  {func(f *fake, _ *Subscription, _ func()) { f.publish() }, nil},
			"context":  {func(_ *fake, _ *Subscription, cancel func()) { cancel() }, context.Canceled},
			"Close":    {func(_ *fake, s *Subscription, _ func()) { _ = s.Close() }, ErrClosed},
			"reconfig": {func(f *fake, _ *Subscription, _ func()) { f.newRing(nil); f.hangUp(); f.publish() }, nil},
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				f := newFake(t, well)
				s := f.subscribed(wake, eager)
				ctx, cancel := context.WithCancel(bounded(t))
				defer cancel()
				type result struct {
					f   Frame
					err error
				}
				done := make(chan result)
				go func() {
					f, err := s.Next(ctx)
					done <- result{f, err}
				}()
				asleep(s)
				c.end(f, s, cancel)
				r := <-done
				if !errors.Is(r.err, c.want) {
					t.Errorf("Next: %v, want %v", r.err, c.want)
				}
				r.f.Release()
			})
		}
	})
}

func TestCreditRunsOut(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Option) {
		f := newFake(t, well)
		s := f.subscribed(wake, WithCredit(2))
		a := want(t, s, f.publish())
		b := want(t, s, f.publish())
		got := make(chan Frame)
		go func() {
			fr, err := s.Next(bounded(t))
			if err != nil {
				t.Error(err)
			}
			got <- fr
		}()
		var last uint64
		for range 20 {
			last = f.publish()
		}
		whole(t, a, 1)
		whole(t, b, 2)
		a.Release()
		fr := <-got
		if n := fr.Meta().Sequence; n != last {
			t.Errorf("got frame %d after the release, want the newest, %d", n, last)
		}
		fr.Release()
		b.Release()
		if m := s.Stats(); m.Taken != 3 || m.Missed != 19 {
			t.Errorf("stats %+v, want 3 taken and 19 missed", m)
		}
	})
}

// A daemon that grants more than was asked for gains nothing.
func TestMoreCreditThanAskedFor(t *testing.T) {
	f := newFake(t, func(c *call) error {
		if err := c.offer(nil); err != nil {
			return err
		}
		if _, err := c.probed(); err != nil {
			return err
		}
		c.hello.Credit = 16
		if err := c.start(); err != nil {
			return err
		}
		return c.serve()
	})
	f.newRing(nil)
	s := f.subscribed(WithCredit(2))
	a, b := want(t, s, f.publish()), want(t, s, f.publish())
	f.publish()
	usedUp(t, s)
	a.Release()
	b.Release()
}

// sliceContext is a context that == cannot compare.
type sliceContext struct {
	context.Context
	_ []int
}

func TestContextThatCannotBeCompared(t *testing.T) {
	f := newFake(t, well)
	s := f.subscribed()
	ctx := sliceContext{Context: bounded(t)}
	for range 3 {
		f.publish()
		fr, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		fr.Release()
	}
}

func TestCloseWithHeldFrames(t *testing.T) {
	f := newFake(t, well)
	before := used(t)
	s := f.subscribed()
	seq := f.publish()
	a := want(t, s, seq)
	if err := s.Close(); !errors.Is(err, ErrLeaked) {
		t.Errorf("Close: %v, want %v", err, ErrLeaked)
	}
	if err := s.Close(); !errors.Is(err, ErrLeaked) {
		t.Errorf("second Close: %v, want %v", err, ErrLeaked)
	}
	whole(t, a, seq)
	if _, err := s.Next(bounded(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
	a.Release()
	if err := s.Close(); err != nil {
		t.Errorf("Close when all is released: %v", err)
	}
	nothingLeft(t, f, before)
}

// A frame that another goroutine gives back in time is not leaked.
func TestCloseWaitsForFrames(t *testing.T) {
	f := newFake(t, well)
	s := f.subscribed()
	a := want(t, s, f.publish())
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for {
		s.mu.Lock()
		began := s.closed
		s.mu.Unlock()
		if began {
			break
		}
		runtime.Gosched()
	}
	a.Release()
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestForgottenRetainedIsReported(t *testing.T) {
	f := newFake(t, well)
	log := &lines{}
	s := f.subscribed(WithCredit(1), WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	func() {
		a := want(t, s, f.publish())
		if _, err := a.Retain(); err != nil {
			t.Error(err)
		}
		a.Release()
	}()
	for s.Stats().Leaked == 0 {
		runtime.GC()
		runtime.Gosched()
	}
	want(t, s, f.publish()).Release() // its credit is back
	if !log.contains("never released") {
		t.Error("the log does not say so")
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	f := newFake(t, well)
	s := f.subscribed()
	ctx := bounded(t)
	if n := testing.AllocsPerRun(500, func() {
		f.publish()
		fr, err := s.Next(ctx)
		if err != nil {
			t.Error(err)
		}
		fr.Release()
	}); n > 1 { // the one is publish's
		t.Errorf("%v allocations a frame", n)
	}
}

func TestStaleFrameIsTheEndOfAConnection(t *testing.T) {
	forged := make(chan struct{})
	f := newFake(t, func(c *call) error {
		if err := c.join(); err != nil {
			return err
		}
		if c.number == 1 { // a word of a frame that is long gone
			fd, err := c.reader.PageFile()
			if err != nil {
				return err
			}
			defer closeFiles(fd)
			if _, err := unix.Pwrite(fd, []byte{1, 99, 0, 0, 0, 0, 0, 0}, 0); err != nil {
				return err
			}
			close(forged)
		}
		return c.serve()
	})
	s := f.subscribed(eager)
	<-forged
	done := make(chan Frame)
	go func() {
		fr, err := s.Next(bounded(t))
		if err != nil {
			t.Errorf("Next: %v", err)
		}
		done <- fr
	}()
	for s.Stats().Reconnects == 0 {
		runtime.Gosched()
	}
	f.publish()
	fr := <-done
	if fr.Meta().Flags&frame.Discontinuity == 0 {
		t.Error("the next frame is not marked as a discontinuity")
	}
	fr.Release()
}
