// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// waitSlice bounds one sleep on the futex. Cancelling wakes the sleeper; a
// wake-up that came just before it fell asleep costs at most this long.
const waitSlice = 100 * time.Millisecond

// sleep waits on an epoch that attempt returned and takes the frame if it came.
// An empty Frame without an error means: look at everything again.
func (s *Subscription) sleep(e *epoch) (Frame, error) {
	count := e.view.Arm()
	s.mu.Lock()
	if s.cur != e || s.closed || e.view.Retired() {
		retired := s.cur == e && !s.closed
		e.view.Disarm()
		s.unuse(e)
		s.unlock()
		if retired {
			return Frame{}, s.awaitReplacement(e)
		}
		return Frame{}, nil
	}
	// The second look: a frame that came before the flag was up woke nobody.
	f, err := s.take(e)
	pipe := s.pipe
	s.mu.Unlock()
	if f.h == nil && err == nil {
		if pipe != nil {
			err = s.readPipe(pipe)
		} else {
			e.view.Wait(count, waitSlice)
		}
	}
	e.view.Disarm()
	s.mu.Lock()
	s.unuse(e)
	s.unlock()
	return f, err
}

// awaitReplacement waits a little for what follows a retired epoch: another
// one, or the end of the connection. The futex of the old one never moves again.
func (s *Subscription) awaitReplacement(e *epoch) error {
	t := time.NewTimer(waitSlice)
	defer t.Stop()
	select {
	case <-s.changed:
	case <-t.C:
	}
	return nil
}

// readPipe waits for a wake-up byte. interrupt makes it return early by a
// deadline in the past, which is taken back here.
func (s *Subscription) readPipe(pipe *os.File) error {
	_, err := pipe.Read(s.pipeBytes[:])
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		_ = pipe.SetReadDeadline(time.Time{})
		return nil
	}
	// The write end is gone or the file is closed: the connection ends as well,
	// and its goroutine says so.
	s.mu.Lock()
	same := s.pipe == pipe
	s.mu.Unlock()
	if same {
		t := time.NewTimer(waitSlice)
		defer t.Stop()
		select {
		case <-s.changed:
		case <-t.C:
		}
	}
	return nil
}

// watch has ctx interrupt a sleeping Next. It is registered once for each
// context, so that a loop with one context allocates nothing. Contexts are told
// apart by their channel: not every one can be compared.
func (s *Subscription) watch(ctx context.Context) {
	if ctx.Done() == s.watched {
		return
	}
	if s.unwatch != nil {
		s.unwatch()
		s.unwatch = nil
	}
	s.watched = ctx.Done()
	if ctx.Done() != nil {
		s.unwatch = context.AfterFunc(ctx, s.interrupt)
	}
}

// interrupt wakes a Next that sleeps, so that it looks at everything again.
func (s *Subscription) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pipe != nil {
		_ = s.pipe.SetReadDeadline(time.Unix(1, 0))
	}
	if s.cur != nil {
		s.cur.view.WakeAll()
	}
}

func (s *Subscription) event(kind EventKind, err error, format string, args ...any) {
	if s.opts.events != nil {
		s.opts.events(Event{Kind: kind, Err: err, Text: fmt.Sprintf(format, args...)})
	}
}
