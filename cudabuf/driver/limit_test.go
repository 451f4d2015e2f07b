// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"testing"
	"time"
)

// A function that does not come back keeps nobody but the thread.
func TestDoWithin(t *testing.T) {
	th := &Thread{
		name: "test", turn: make(chan struct{}, 1), timers: make(chan *time.Timer, 1), jobs: make(chan func() error), done: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go func() {
		defer close(th.ended)
		th.serve()
	}()
	const long, short = time.Hour, time.Millisecond
	want := errors.New("said by the function")
	for range 2 {
		if err := th.DoWithin(long, func() error { return want }); err != want {
			t.Fatalf("got %v", err)
		}
	}
	hangs := make(chan struct{})
	if err := th.DoWithin(short, func() error { <-hangs; return want }); !errors.Is(err, ErrTimeout) {
		t.Errorf("of a function that hangs: %v", err)
	}
	for _, f := range []func(func() error) error{th.Do, func(f func() error) error { return th.DoWithin(long, f) }} {
		if err := f(func() error { t.Error("runs"); return nil }); !errors.Is(err, ErrTimeout) {
			t.Errorf("after that: %v", err)
		}
	}
	if err := th.Close(); !errors.Is(err, ErrTimeout) {
		t.Errorf("closing: %v", err)
	}
	close(hangs)
	<-th.ended
}
