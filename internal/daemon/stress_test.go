// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"sync"
	"testing"

	"github.com/seed-3c7e7623/camd/capture/pattern"
	"github.com/seed-3c7e7623/camd/client"
	"github.com/seed-3c7e7623/camd/frame"
	"github.com/seed-3c7e7623/camd/negotiate"
)

// reads takes frames of one subscription, keeps one in ten through the changes
// of format that follow, and looks at each when it comes and when it goes.
func reads(t *testing.T, s *client.Subscription, frames int) {
	var kept *client.Retained
	number := func(f client.Frame) bool {
		err := pattern.VerifyNumber(f.Geometry(), f.Data(), f.Meta().DriverSequence)
		if err != nil {
			t.Errorf("frame %d: %v", f.Meta().Sequence, err)
		}
		return err == nil
	}
	last, from := uint64(0), frame.Session{}
	n := 0
	for f, err := range s.Frames(bounded(t)) {
		if err != nil {
			t.Error(err)
			break
		}
		if f.Session() == from && f.Meta().Sequence <= last && f.Meta().Flags&frame.Discontinuity == 0 {
			t.Errorf("frame %d after %d", f.Meta().Sequence, last)
		}
		last, from = f.Meta().Sequence, f.Session()
		if !number(f) {
			break
		}
		if n++; n == frames {
			break
		}
		if n%10 == 0 {
			if kept != nil {
				number(kept.Frame)
				kept.Release()
			}
			if kept, err = f.Retain(); err != nil {
				t.Error(err)
				return
			}
		}
	}
	if kept != nil {
		number(kept.Frame)
		kept.Release()
	}
}

// TestFormatsChangeUnderReaders has new memory come many times a second.
func TestFormatsChangeUnderReaders(t *testing.T) {
	dir := runtimeDir(t)
	before := ringMappings(t)
	_, stop := boot(t, dir, "a=pattern,96x64@400,fault.resize=20ms")
	var all sync.WaitGroup
	var subs []*client.Subscription
	for i := range 6 {
		wake := negotiate.WakeFutex
		if i%2 == 1 {
			wake = negotiate.WakePipe
		}
		s := subscribe(t, dir, "a/color", client.WithWake(wake), client.WithCredit(1+i%3))
		subs = append(subs, s)
		if i%3 == 0 {
			continue // credit 1: a retained frame would be all of it
		}
		all.Add(1)
		go func() {
			defer all.Done()
			reads(t, s, 200)
		}()
	}
	all.Wait()
	for _, s := range subs {
		if n := s.Stats().Reconnects; n != 0 {
			t.Errorf("a change of format cost %d connections", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	stop()
	if n := ringMappings(t) - before; n != 0 {
		t.Errorf("%d rings are mapped after the end", n)
	}
}

// TestCloseAtAnyMoment has Close meet frames, the end of the daemon and its
// return.
func TestCloseAtAnyMoment(t *testing.T) {
	dir := runtimeDir(t)
	before := ringMappings(t)
	for i := range 20 {
		_, stop := boot(t, dir, "a=pattern,64x64@500,fault.resize=10ms")
		wake := client.WithWake([]negotiate.WakeKind{negotiate.WakeFutex, negotiate.WakePipe}[i%2])
		s := subscribe(t, dir, "a/color", wake)
		var all sync.WaitGroup
		all.Add(3)
		go func() {
			defer all.Done()
			for f, err := range s.Frames(bounded(t)) {
				if err != nil {
					if !errors.Is(err, client.ErrClosed) {
						t.Errorf("the loop ended with %v", err)
					}
					return
				}
				_ = f.Data()[0]
			}
		}()
		go func() {
			defer all.Done()
			if i%3 == 0 {
				stop()
			}
		}()
		go func() {
			defer all.Done()
			for range i {
				_, _, _ = s.Info(), s.Path(), s.Stats()
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		all.Wait()
		stop()
	}
	if n := ringMappings(t) - before; n != 0 {
		t.Errorf("%d rings are mapped after the end", n)
	}
}
