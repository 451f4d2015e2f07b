// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-3c7e7623/camd/capture"
	"github.com/seed-3c7e7623/camd/capture/capturetest"
)

// hung is how long anything may take before a test calls it hung.
const hung = time.Minute

func newSource(t testing.TB, f *fakeDriver, text string) *Source {
	t.Helper()
	spec, err := capture.ParseSpec("cam=v4l2:/dev/null" + text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	s.open, s.root = f.open, t.TempDir()
	s.Log = slog.New(slog.DiscardHandler)
	return s
}

// session is a run of a source over a fake driver.
type session struct {
	t      *testing.T
	f      *fakeDriver
	sink   *capturetest.Sink
	frames chan capturetest.Frame // a copy of each
	done   chan error
	cancel context.CancelFunc
	number uint32
	deny   atomic.Bool
	once   sync.Once
	err    error
}

func start(t *testing.T, f *fakeDriver, s *Source, slots int) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	r := &session{t: t, f: f, sink: f.sink(slots), frames: make(chan capturetest.Frame, 100), done: make(chan error, 1), cancel: cancel}
	r.sink.OnFrame = func(fr capturetest.Frame) {
		fr.Data = bytes.Clone(fr.Data)
		r.frames <- fr
	}
	go func() { r.done <- s.Run(ctx, denier{r.sink, &r.deny}) }()
	t.Cleanup(func() { _ = r.end() })
	return r
}

// end stops the run and returns its error; nil for a stop that was asked for.
func (r *session) end() error {
	r.t.Helper()
	r.once.Do(func() {
		r.cancel()
		if err := <-r.done; !errors.Is(err, context.Canceled) {
			r.err = err
		}
		r.finish()
	})
	return r.err
}

// wait returns the error with which the run ends by itself.
func (r *session) wait() error {
	r.t.Helper()
	r.once.Do(func() {
		r.err = <-r.done
		r.cancel()
		r.finish()
	})
	return r.err
}

func (r *session) finish() {
	st := r.sink.Stats()
	if st.Held != 0 || len(st.Misuse) != 0 {
		r.t.Errorf("%d slots left, misuse %q", st.Held, st.Misuse)
	}
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if r.f.opened > 0 && !r.f.closed {
		r.t.Error("the device was not closed")
	}
	if r.f.granted != 0 {
		r.t.Errorf("%d buffers were not freed", r.f.granted)
	}
}

// fill makes the driver fill a buffer as soon as it has one.
func (r *session) fill(p filling) {
	r.t.Helper()
	deadline := time.Now().Add(hung)
	for !r.f.produce(p) {
		select {
		case err := <-r.done:
			r.done <- err // for end
			r.t.Fatalf("the run ended: %v", err)
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(deadline) {
			r.t.Fatal("the driver was given no buffer")
		}
	}
}

// frame makes one good frame, the next one in order, and returns what arrives.
func (r *session) frame(value byte) capturetest.Frame {
	r.t.Helper()
	r.fill(filling{sequence: r.number, value: value})
	r.number++
	return r.next()
}

func (r *session) next() capturetest.Frame {
	r.t.Helper()
	select {
	case f := <-r.frames:
		return f
	case err := <-r.done:
		r.done <- err // for end
		r.t.Fatalf("no frame, the run ended: %v", err)
	case <-time.After(hung):
		r.t.Fatal("no frame")
	}
	return capturetest.Frame{}
}

func all(b []byte, value byte) bool {
	return !slices.ContainsFunc(b, func(x byte) bool { return x != value })
}

// denier has no slots when it is told so, as when readers hold all of them.
type denier struct {
	capture.Sink
	deny *atomic.Bool
}

func (d denier) Open(stream string, f capture.Format) (capture.Writer, error) {
	w, err := d.Sink.Open(stream, f)
	return denyingWriter{w, d.deny}, err
}

type denyingWriter struct {
	capture.Writer
	deny *atomic.Bool
}

func (w denyingWriter) Acquire() (*capture.Slot, error) {
	if w.deny.Load() {
		return nil, capture.ErrNoSlot
	}
	return w.Writer.Acquire()
}
